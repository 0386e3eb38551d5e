"""Presets and devices → tables that can be filtered, each row a link to Plan."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlencode

import streamlit as st

from calculator.catalog import presets
from calculator.devices import Device, devices
from calculator.errors import CalculatorError
from calculator.footprint import footprint
from calculator.model import ModelSpec
from calculator.rates import first_bytes_per_token, lasting_bytes_per_token
from calculator.request import Request
from calculator.scenario import LINK_VERSION
from calculator.tensors import Constant
from calculator.units import format_bytes, format_gib, format_tokens
from ui import markup
from ui.markup import esc, table, title
from ui.theme import KIND_ROLES

MODEL_HEAD = (
    "model", "layers", "kinds", "KV heads", "head dim", "B a token", "fixed, B", "context",
    "parameters", "source", "checked",
)  # fmt: skip
DEVICE_HEAD = ("device", "form", "memory", "visible to programs", "bandwidth", "basis", "checked")


MARK = "†"
LEGEND = (
    f"{MARK} The published configuration was not read: the figures are from tables and code of "
    "other projects, or from an edited copy. The mark says which; Plan does too, under Where each "
    "number comes from."
)


def show_heading() -> None:
    text = f"{len(presets())} models and {len(devices())} devices, each with where it is from."
    markup.show(f'<h1 class="sentence top">{esc(text)}</h1>')


def show_models(options: dict[str, str]) -> None:
    every = presets()
    markup.show(
        title(
            "Models", "ideal, auto type; B a token: → once windows are full; fixed: at 8,192 tokens"
        )
    )
    text = st.text_input(
        "Filter models", key="filter_models", placeholder="name, publisher or kind of layer",
        label_visibility="collapsed",
    )  # fmt: skip
    rows = [_model_row(m, options) for m in every if _matches(text, _words(m))]
    if not rows:
        markup.show('<p class="under">No preset matches.</p>')
        return
    numbers = (1, 3, 4, 5, 6, 7, 8)
    markup.show(
        f'<div class="catalogue">{table(MODEL_HEAD, rows, right=numbers, classes="named")}</div>'
        f'<p class="under">{esc(LEGEND)}</p>'
    )


def show_devices(options: dict[str, str]) -> None:
    every = devices()
    markup.show(title("Devices", "any other: type its memory, such as 64 GB"))
    text = st.text_input(
        "Filter devices", key="filter_devices", placeholder="name or vendor",
        label_visibility="collapsed",
    )  # fmt: skip
    rows = [_device_row(d, options) for d in every if _matches(text, f"{d.id} {d.name} {d.vendor}")]
    if not rows:
        markup.show('<p class="under">No device matches.</p>')
        return
    markup.show(f'<div class="catalogue">{table(DEVICE_HEAD, rows, right=(2, 3, 4))}</div>')


def _matches(text: str, words: str) -> bool:
    return all(part in words.lower() for part in text.lower().split())


def _words(model: ModelSpec) -> str:
    labels = {c.label for g in model.layer_groups for c in g.caches}
    names = f"{model.id} {model.name} {model.model_type} {model.source} {model.read_from}"
    return f"{names} {' '.join(sorted(labels))}"


def _link(label: str, options: dict[str, str], **changed: str) -> str:
    query = urlencode([*(options | changed).items(), ("v", LINK_VERSION)])
    return f'<a href="./?{esc(query)}" target="_self">{esc(label)}</a>'


def _model_row(model: ModelSpec, options: dict[str, str]) -> list[str]:
    rate, fixed = _rates(model)
    limit, count = model.max_position_embeddings, model.num_parameters
    source = esc(model.source)
    if model.source.startswith("https://"):
        source = (
            f'<a href="{source}" target="_blank" rel="noopener">{esc(_short(model.source))}</a>'
        )
    if model.read_from:
        source += f' <span class="muted" title="{esc(model.read_from)}">{MARK}</span>'
    return [
        _link(model.name, options, model=model.id),
        f"{model.num_hidden_layers:,}",
        _kinds(model),
        _each(model, "heads"),
        _each(model, "width"),
        rate,
        fixed,
        format_tokens(limit) if limit else "–",
        f"{count / 1e9:,.1f} B" if count else "–",
        source,
        esc(model.checked),
    ]


@lru_cache(maxsize=1024)
def _rates(model: ModelSpec) -> tuple[str, str]:
    """Bytes a token, at first and once windows are full, and fixed bytes at 8,192 tokens."""
    encoder = 1500 if model.has_encoder else None
    try:
        fp = footprint(model, Request(seq_len=8192, encoder_seq_len=encoder))
    except CalculatorError:
        return "–", "–"
    first, lasting = first_bytes_per_token(model), lasting_bytes_per_token(model)
    rate = f"{first:,}" if first == lasting else f"{first:,} → {lasting:,}"
    return rate, f"{fp.fixed_bytes:,}"


def _each(model: ModelSpec, field: str) -> str:
    """Heads or widths of the tensors that hold tokens; a dash where there are only states."""
    found = dict.fromkeys(
        f"{getattr(t, field):,}"
        for group in model.layer_groups
        for cache in group.caches
        for t in cache.tensors()
        if not isinstance(t.growth, Constant)
    )
    return " · ".join(found) or "–"


def _kinds(model: ModelSpec) -> str:
    """A swatch for each kind of layer, its name on hover."""
    found = {c.label: c.letter for g in model.layer_groups for c in g.caches}
    return "".join(
        f'<span class="letter k-{KIND_ROLES[letter]}" title="{esc(label)}">{letter}</span>'
        for label, letter in found.items()
    )


def _short(url: str) -> str:
    """Whose page it is: the publisher on the Hub, else the site."""
    return url.removeprefix("https://").removeprefix("huggingface.co/").split("/")[0]


def _device_row(device: Device, options: dict[str, str]) -> list[str]:
    bandwidth = device.memory_bandwidth_bytes_per_s
    return [
        _link(device.name, options, device=device.id),
        esc(device.form),
        format_gib(device.memory_bytes),
        format_gib(device.visible_bytes) if device.visible_bytes else "–",
        f"{format_bytes(bandwidth)}/s" if bandwidth else "–",
        esc(device.memory_basis),
        esc(device.checked),
    ]
