"""A footprint → a strip of its layers, one column each, and a table by kind."""

from __future__ import annotations

from functools import lru_cache

from calculator.charts.strip import LayerKind, layer_kinds, period
from calculator.model import shortest_pattern
from ui.answer import Answer
from ui.markup import esc, fold, size, table, title, told_apart
from ui.theme import KIND_ROLES

WIDEST = 64
MOST = 512
PLAIN_WORDS = (
    "Full", "Sliding", "Chunked", "Cross", "Latent", "Sparse", "Compressed", "Short", "Gated",
    "Lightning", "Shares",
)  # fmt: skip


@lru_cache(maxsize=128)
def html(shown: Answer) -> str:
    """The strip, its legend, and the table folded away."""
    fp = shown.fp
    model = fp.model
    kinds = layer_kinds(fp)
    sorted_kinds = sorted(kinds.values(), key=lambda kind: -kind.added_each)
    number = model.num_hidden_layers
    every = model.every_layer_type()
    pairs = [(kind.label, kind.layer_type) for kind in sorted_kinds]
    names = {kind: _name(kind, pairs) for kind in sorted_kinds}
    told = {name: _told(kind, names[kind]) for name, kind in kinds.items()}
    remark = "hover: bytes, and what one more token adds"
    if number > MOST:
        remark += f"; the first {MOST} are drawn"
    drawn = enumerate(every[:MOST], start=1)
    cells = "".join(_cell(i, kinds[name], told[name]) for i, name in drawn)
    label = "; ".join(_words(kind, name) for kind, name in names.items())
    wide = number if number <= WIDEST else -(-number // -(-number // WIDEST))
    narrow = period(shortest_pattern(model.layer_types))
    parts = (
        title(f"{number:,} layers", remark),
        f'<div class="strip" role="img" aria-label="{esc(f"{number} layers: {label}.")}" '
        f'style="--wide:{wide};--narrow:{min(narrow, number)}">{cells}</div>',
        f'<div class="legend">{"".join(_legend(kind, name) for kind, name in names.items())}</div>',
        fold("Table by kind of layer", _table(sorted_kinds)),
    )
    return "".join(parts)


def _name(kind: LayerKind, pairs: list[tuple[str, str]]) -> str:
    """Within a sentence: "full attention", but "Mamba-2"."""
    plain = kind.label.split()[0] in PLAIN_WORDS
    name = told_apart(kind.label, kind.layer_type, pairs)
    return name[0].lower() + name[1:] if plain else name


def _role(kind: LayerKind) -> str:
    return KIND_ROLES[kind.letter[0]] if kind.letter else "none"


def _told(kind: LayerKind, name: str) -> str:
    held, added = size(kind.bytes_each), size(kind.added_each)
    return esc(f"{name}: {held}, one more token adds {added}")


def _cell(number: int, kind: LayerKind, told: str) -> str:
    text = f"Layer {number}, {told}"
    if not kind.letter:
        return f'<span class="none" title="{text}"></span>'
    part = "part" if kind.letter[0] in "SR" else "whole"
    letter = "" if kind.letter[0] == "S" else kind.letter[0]
    return f'<span class="{part}" title="{text}"><i class="k-{_role(kind)}">{letter}</i></span>'


def _words(kind: LayerKind, name: str) -> str:
    return f"{kind.layers} {name} of {size(kind.bytes_each)} each"


def _legend(kind: LayerKind, name: str) -> str:
    letter = f"{kind.letter[0]}: " if kind.letter and kind.letter[0] != "S" else ""
    label = f"{letter}{name}, {kind.layers}"
    swatch = f'<span class="sw k-{_role(kind)}"></span>'
    held = f'<b class="n">{size(kind.bytes_each)} each</b>' if kind.letter else ""
    return f"<span><span>{swatch}{esc(label)}</span>{held}</span>"


def _table(kinds: list[LayerKind]) -> str:
    head = ("layer type", "keeps", "layers", "bytes each", "one more token adds, B")
    rows = [
        (esc(k.layer_type), esc(k.label), f"{k.layers:,}", f"{k.bytes_each:,}", f"{k.added_each:,}")
        for k in kinds
    ]
    return table(head, rows, right=(2, 3, 4))
