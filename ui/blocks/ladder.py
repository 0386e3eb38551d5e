"""An answer → every element type that the engine runs, with its size and verdict."""

from __future__ import annotations

from functools import lru_cache

from calculator.charts.ladder import Rung, ladder
from ui.answer import Answer
from ui.markup import esc, gib, title

WORDS = {
    "fits": '<span class="t-fits">✓ fits</span>',
    "marginal": '<span class="t-marginal">≈ marginal</span>',
    "does-not-fit": '<span class="t-not">✕ does not fit</span>',
    None: "",
}


@lru_cache(maxsize=128)
def html(shown: Answer) -> str:
    """A row a size, the current type bold, the room hatched."""
    rungs = ladder(shown.fp, shown.found)
    room = shown.found.budget.available if shown.found else None
    remark = "hatched: room for the cache" if room and room.high > 0 else ""
    several = shown.fp.parallelism.num_devices > 1
    widest = max(rung.cache_bytes_per_device for rung in rungs) * 1.15
    head = (
        '<th scope="col">type</th><th scope="col" class="r">bits</th><th></th>'
        f'<th scope="col" class="r">GiB{" a device" if several else ""}</th><th></th>'
    )
    rows = "".join(_row(rung, room, widest) for rung in rungs)
    heading = title("Every cache type this engine can run", remark)
    return (
        heading
        + f'<table class="ladder"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    )


def _row(rung: Rung, room: tuple[int, int] | None, widest: float) -> str:
    size = rung.cache_bytes_per_device
    role = "growing" if rung.current else "weights"
    bar = f'<span class="{role}" style="width:{size / widest:.2%}"></span>'
    return (
        f'<tr class="{"now" if rung.current else ""}">'
        f'<td class="names">{esc(" · ".join(rung.dtypes))}</td>'
        f'<td class="r">{rung.bits:g}</td>'
        f'<td class="track"><div aria-hidden="true">{bar}{_room(room, widest)}</div></td>'
        f'<td class="r">{gib(size)}</td><td>{WORDS[rung.verdict]}</td></tr>'
    )


def _room(room: tuple[int, int] | None, widest: float) -> str:
    if room is None or room[1] <= 0 or room[0] > widest:
        return ""
    low, high = max(0, room[0]) / widest, min(room[1], widest) / widest
    return f'<span class="room" style="left:{low:.2%};width:{max(high - low, 0.012):.2%}"></span>'
