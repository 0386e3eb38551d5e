"""Results of checks → the sentence, the figures one below the other, and a table a check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calculator.explain import sizes, subject
from calculator.units import exact_bytes
from ui.answer import Answer
from ui.markup import STRONG, esc, fold, marked, scroll, table, title

Results = dict[str, dict[str, Any]]
WORDS = {"allocate": "allocated", "real-model": "transformers’ own code"}
EQUAL = '<span class="t-fits n">✓ equal</span>'
MAX_TENSORS = 64


def tag_html(results: Results, without: str) -> str:
    """Whether every check is equal, in a word with its glyph; `without` one, where they are.

    The small decoder's equality alone says nothing of the scenario, its difference does.
    """
    found = {method: r["equal"] for method, r in results.items() if r["equal"] is not None}
    part = results.get("allocate", {}).get("slice")
    kind, text = "plain", without
    if not all(found.values()):
        kind, text = "not", "✕ Not equal"
    elif "real-model" in found or ("allocate" in found and not part):
        kind, text = "fits", "✓ Equal"
    elif part:
        kind, text = "fits", "✓ Equal in a part"
    return f'<span class="tag {kind}" role="status">{text}</span>'


def sentence_html(shown: Answer, results: Results) -> str:
    """Predicted, and what each check found, to the byte."""
    whose = subject(shown.fp)
    parts = [f"predicted {STRONG.format(f'{shown.fp.num_bytes:,} B')}"]
    for method, word in WORDS.items():
        if found := results.get(method):
            size = STRONG.format(f"{found['measured_bytes']:,} B")
            part = found.get("slice")
            which = f" ({part['count']:,} of {part['of']:,} {part['kind']})" if part else ""
            parts.append(f"{word}{which} {size}")
    text = f"{whose}: {' · '.join(parts)}."
    return f'<h1 class="sentence">{marked(text)}</h1>'


def figures_html(shown: Answer, results: Results) -> str:
    """Every figure below the prediction that it is held against."""
    fp = shown.fp
    rows = [("Predicted", esc(f"engine {fp.engine.engine}"), _bytes(fp.num_bytes), "")]
    if found := results.get("allocate"):
        rows += _allocated(found, fp.num_bytes)
    if found := results.get("real-model"):
        rows += _real_model(found, fp.num_bytes)
    head = ("", "", "B", "")
    remark = f"{sizes(fp.num_bytes)[0]}; a green sign only where both are the same number"
    return title("To the byte", remark) + table(head, rows, right=(2,), classes="figures")


def _allocated(found: dict[str, Any], predicted: int) -> Iterator[tuple[str, ...]]:
    part = found["slice"]
    if part:
        text = f"{part['count']:,} of {part['of']:,} {part['kind']}"
        yield "Predicted for the part", esc(text), _bytes(found["predicted_bytes"]), ""
    where = esc(f"{found['device']}, {found['device_name']}")
    yield "Allocated", where, _bytes(found["measured_bytes"]), sign(
        found["predicted_bytes"], found["measured_bytes"]
    )  # fmt: skip
    for name, label in REPORTED.items():
        if name in found["reported"]:
            size, extra = found["reported"][name], ""
            if name == "requested_bytes":
                extra = sign(found["predicted_bytes"], size)
            rule = found["reported"].get(name.replace("_bytes", "_by_rule_bytes"))
            if rule is not None:
                extra = sign(rule, size, f"by its rule {rule:,} B")
            yield "Reported by the device", esc(label), _bytes(size), extra


REPORTED = {
    "requested_bytes": "bytes asked for",
    "allocated_bytes": "allocated, rounded by its rule",
    "reserved_bytes": "reserved, whole segments",
    "current_allocated_bytes": "allocated by Metal",
    "driver_allocated_bytes": "held by the driver",
    "resident_bytes": "resident memory, information only",
}


def _real_model(found: dict[str, Any], predicted: int) -> Iterator[tuple[str, ...]]:
    own = found["predicted_bytes"]
    if own is not None and own != predicted:
        yield "Predicted", "engine transformers", _bytes(own), ""
    version = found["versions"].get("transformers", "")
    where = esc(f"{found['device']}, transformers {version}")
    if own is None:
        said = '<span class="muted">measured, not from a rule</span>'
    else:
        said = sign(own, found["measured_bytes"])
    yield "transformers’ own code", where, _bytes(found["measured_bytes"]), said


def _bytes(size: int) -> str:
    return f"<b>{size:,}</b>"


def sign(predicted: int, measured: int, held_against: str = "") -> str:
    """A green sign on equality alone, else the difference."""
    said = f' <span class="muted n">{esc(held_against)}</span>' if held_against else ""
    if predicted == measured:
        return EQUAL + said
    more, word = abs(measured - predicted), "more" if measured > predicted else "less"
    return f'<span class="t-not">✕ {esc(f"{more:,} B {word}")}</span>{said}'


def allocated_html(found: dict[str, Any]) -> str:
    """A row a tensor of each kind of layer."""
    head = ("kind of layer", "layers", "tensor", "shape", "type", "predicted, B", "allocated, B",
            "")  # fmt: skip
    rows = [
        (f"<code>{esc(r['layer_type'])}</code>", f"{r['layers'] * r['copies']:,}",
         esc(r["tensor"]), esc(shapes_text(r["shapes"])), esc(r["dtype"]),
         f"{r['predicted_bytes']:,}", f"{r['measured_bytes']:,}",
         sign(r["predicted_bytes"], r["measured_bytes"]))
        for r in found["tensors"]
    ]  # fmt: skip
    number = f"{found['num_tensors']:,} on {found['device']}"
    return (
        title("Allocated tensors", number)
        + scroll("Allocated tensors", table(head, rows, right=(1, 5, 6)))
        + _under(found, found["reported"].get("note", ""))
    )


def real_model_html(found: dict[str, Any]) -> str:
    """What the real code left in its cache, and what was left out."""
    size = found["storage_bytes"]
    cells = [(f"<code>{esc(name)}</code>",) for name in found["tensors"][:MAX_TENSORS]]
    number = found["num_tensors"]
    summary = f"{number:,} tensors in its cache"
    if number > len(cells):
        summary += f", the first {len(cells):,}"
    source = f"transformers {found['versions']['transformers']}, {found['seq_len']:,} tokens"
    held = "" if size == found["measured_bytes"] else (
        f"They are views of {exact_bytes(size)} until the next step."
    )  # fmt: skip
    return (
        title("transformers’ own code", f"{source} × {found['batch_size']:,}")
        + _under(found, held, *found["notes"])
        + fold(summary, table(("",), cells, classes="keys"))
    )


def _under(found: dict[str, Any], *sentences: str) -> str:
    """Remarks, then device and versions."""
    said = "".join(f"<p>{esc(text)}</p>" for text in sentences if text)
    return f'<div class="remarks muted">{said}<p>{esc(versions_text(found))}</p></div>'


def versions_text(found: dict[str, Any]) -> str:
    named = ", ".join(f"{name} {value}" for name, value in found["versions"].items())
    device = found.get("device_name") or found["device"]
    return f"On {found['device']} ({device}): {named}." if device != found["device"] else (
        f"On {device}: {named}."
    )  # fmt: skip


def shapes_text(shapes: list[list[int]], limit: int = 2) -> str:
    shown = " ".join(f"({', '.join(f'{n:,}' for n in shape)})" for shape in shapes[:limit])
    return shown + (f" and {len(shapes) - limit} more" if len(shapes) > limit else "")


def command_html(command: str) -> str:
    return fold("The same on the command line", f"<pre><code>{esc(command)}</code></pre>")
