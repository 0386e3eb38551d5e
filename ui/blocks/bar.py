"""A capacity → the memory bar of one device with its scale and key."""

from __future__ import annotations

from functools import lru_cache
from math import log10

from calculator.capacity import Capacity
from calculator.charts.bar import Bar, Segment, gib_span, memory_bar
from calculator.devices import Device
from calculator.explain import sizes
from calculator.units import GIB
from calculator.weights import published_weights
from ui.answer import Answer
from ui.markup import esc, title


@lru_cache(maxsize=128)
def html(shown: Answer) -> str:
    """The bar, its scale and its key; nothing without a device."""
    found = shown.found
    if found is None:
        return ""
    device, number = found.budget.device, found.footprint.parallelism.num_devices
    if device is None:
        return ""
    bar = memory_bar(found)
    name = f"{device.name} {device.form}".strip()
    if number > 1:
        heading = f"Memory of each of {number:,} × {name}"
    else:
        heading = f"Memory of {name}" if name.startswith("a ") else f"Memory of one {name}"
    remark = f"{sizes(device.usable_bytes)[0]} {_basis(device)}"
    label = esc(f"{heading}, {remark}: {bar.text}.")
    parts = "".join(_segment(s) for s in bar.segments if s.num_bytes)
    limit = f'<span class="limit" style="left:{_percent(bar.limit_bytes, bar)}"></span>'
    blocks = (
        title(heading.replace("of a device", "of one device"), remark),
        f'<div class="bar" role="img" aria-label="{label}">{parts}{limit}</div>',
        _scale(bar),
        f'<div class="key">{"".join(map(_key, bar.key))}</div>',
        _published(found),
    )
    return "".join(blocks)


def _basis(device: Device) -> str:
    if not device.visible_bytes:
        return device.usable_basis
    return f"visible to programs; {device.caution}" if device.caution else "visible to programs"


def _segment(segment: Segment) -> str:
    text = esc(f"{segment.label}: {gib_span(segment.low, segment.high)}")
    return (
        f'<span class="{segment.role}" style="flex:{segment.num_bytes} 0 0" title="{text}"></span>'
    )


def _percent(num_bytes: int, bar: Bar) -> str:
    return f"{num_bytes / bar.scale_bytes:.3%}"


def _scale(bar: Bar) -> str:
    """Round figures below the bar, its end, and where the share ends."""
    whole, limit = bar.scale_bytes / GIB, bar.limit_bytes / GIB
    step = _step(whole)
    ticks = []
    for i in range(int(whole / step) + 1):
        at = i * step
        if not at and limit < whole * 0.04:  # the limit is written there
            continue
        if at and (abs(at - limit) < whole * 0.075 or whole - at < whole * 0.06):
            continue
        odd = " odd" if i % 2 else ""
        ticks.append(f'<span class="tick{odd}" style="left:{at / whole:.3%}">{_figure(at)}</span>')
    has_end = whole - limit > whole * 0.05
    end = f'<span class="end" style="left:100%">{_figure(whole, 2)}</span>' if has_end else ""
    left = " left" if limit < whole * 0.15 else ""
    text = f"limit {_figure(limit, 1)}"
    mark = f'<span class="limit-text{left}" style="left:{limit / whole:.3%}">{text}</span>'
    return f'<div class="scale" aria-hidden="true">{"".join(ticks)}{mark}{end}</div>'


def _figure(value: float, decimals: int = 0) -> str:
    """Below one as many digits as it takes, never an exponent."""
    return f"{value:,.{decimals}f}" if value >= 1 else f"{value:.2g}"


def _step(whole: float) -> float:
    """1, 2 or 5 times a power of ten, so that about four figures stand below the bar."""
    power = 10 ** int(log10(max(whole / 4, 1e-3)) // 1)
    return max((power, 2 * power, 5 * power), key=lambda s: (s <= whole / 3, s))


def _key(segment: Segment) -> str:
    size, _, unit = gib_span(segment.low, segment.high).rpartition(" ")
    swatch = f'<span class="sw {"range" if segment.role == "estimate" else segment.role}"></span>'
    return (
        f'<div><div class="n">{swatch}{esc(segment.label)}</div>'
        f'<div class="of n"><b>{size}</b> <span class="muted">{unit}</span></div></div>'
    )


def _published(found: Capacity) -> str:
    """What the checkpoint itself takes, where another type of weights is asked for."""
    model, weights = found.footprint.model, found.budget.weights
    own = published_weights(model)
    if weights is None or own is None or own.num_bytes == weights.num_bytes:
        return ""
    text = f"The checkpoint is published in {own.dtype}, {sizes(own.num_bytes)[0]} of weights"
    return f'<p class="under">{esc(f"{text}: choose auto as the weights type for that.")}</p>'
