"""An answer → the lesson's loop, its list of tensors, what is left out and what is not promised."""

from __future__ import annotations

from functools import lru_cache

from calculator.charts.work import MARKED
from calculator.explain import sizes
from calculator.lesson import (
    LayerTensors,
    layer_tensors,
    passes,
    positions_of_a_loop,
    questions,
)
from ui.answer import Answer
from ui.markup import STRONG, esc, fold, marked, scroll, table, title

LOOP = (
    ("cache = empty(layers)", "a (K, V) for every layer"),
    ("logits = model(prompt, cache)", "prefill: every position of the prompt at once"),
    ("while not finished:", ""),
    ("    token = choose(logits[-1])", "from the last position alone"),
    ("    logits = model([token], cache)", "decode: one position, its K and V appended"),
)
MAX_ROWS = 24


@lru_cache(maxsize=128)
def sentence_html(shown: Answer) -> str:
    """What a token leaves behind, and what that saves."""
    fp = shown.fp
    rate = fp.bytes_per_token
    if rate:
        left = f"each token leaves {STRONG.format(f'{rate:,} B')} behind"
    else:
        left = f"it keeps {STRONG.format(f'{fp.num_bytes:,} B')}, whatever the length"
    before, after = f"{positions_of_a_loop(MARKED):,}", f"{MARKED:,}"
    text = (
        f"{fp.model.name}: {left}, so that no later pass computes it again. {MARKED:,} tokens are "
        f"then {STRONG.format(after)} positions of work instead of {STRONG.format(before)}."
    )
    return f'<h1 class="sentence">{marked(text)}</h1>'


def remark_html(text: str) -> str:
    """What of the choice the lesson leaves aside."""
    return f'<p class="under">{esc(text)}</p>' if text else ""


@lru_cache(maxsize=128)
def loop_html(shown: Answer) -> str:
    """The loop in code, and its first passes with this model's bytes."""
    made = passes(shown.fp)
    lines = "\n".join(
        f"{esc(code.ljust(37))}" + (f'<span class="muted"># {esc(said)}</span>' if said else "")
        for code, said in LOOP
    )
    head = ("pass", "positions computed", "tokens seen", "cache after it, B", "added, B")
    rows = [
        (p.name, f"{p.tokens_in:,}", f"{p.tokens_seen:,}", f"{p.cache_bytes:,}",
         f"{p.added_bytes:,}")
        for p in made
    ]  # fmt: skip
    number = shown.fp.request.num_sequences
    several = f", {number:,} sequences together" if number > 1 else ""
    text = (
        "A new token is chosen from the last position and put in again. Under the causal mask no "
        "earlier position sees it, so their keys and values stay as they were and can be kept. "
        "Prefill computes the whole prompt in one pass and is bound by arithmetic; decode computes "
        "one position and reads everything that is kept, so memory bounds it."
    )
    return (
        title("One token a pass", f"{shown.fp.model.name}, ideal{several}")
        + f'<p class="text">{esc(text)}</p><pre><code>{lines}</code></pre>'
        + scroll("Passes", table(head, rows, right=(1, 2, 3, 4)))
    )


@lru_cache(maxsize=128)
def tensors_html(shown: Answer) -> str:
    """The list of tensors per layer: shapes, bytes in one layer, bytes in all."""
    rows = layer_tensors(shown.fp)
    head = ("kind of layer", "layers", "tensor", "shape", "B a value", "B a layer", "B in all")
    cells = [_tensor_row(row) for row in rows[:MAX_ROWS]]
    text = (
        "Every layer keeps its own tensors, keys and values of shape (sequences, KV heads, tokens, "
        "width of a head), appended to along the tokens. Twice the layers are twice the bytes; "
        "the number of query heads and the hidden size do not occur."
    )
    more = f" and {len(rows) - MAX_ROWS} rows more" if len(rows) > MAX_ROWS else ""
    return (
        title("What is kept: a list, an entry a layer", f"{shown.fp.num_bytes:,} B in all{more}")
        + f'<p class="text">{esc(text)}</p>'
        + scroll("Tensors", table(head, cells, right=(1, 4, 5, 6)))
    )


def _tensor_row(row: LayerTensors) -> tuple[str, ...]:
    shape = f"({', '.join(f'{n:,}' for n in row.shape)})"
    more = f" and {row.num_shapes - 1} more" if row.num_shapes > 1 else ""
    stored = f" {row.dtype}" if "/" in row.value_bytes else ""
    return (
        f"<code>{esc(row.layer_type)}</code>", f"{row.layers:,}", esc(row.tensor),
        esc(shape + more), esc(f"{row.value_bytes}{stored}"), f"{row.bytes_a_layer:,}",
        f"{row.num_bytes:,}",
    )  # fmt: skip


@lru_cache(maxsize=128)
def left_out_html(shown: Answer) -> str:
    weights = shown.found.budget.weights if shown.found else None
    size = f" ({sizes(weights.num_bytes)[0]} here)" if weights else ""
    return title("What the figure leaves out") + _list(
        f"The weights{size}: the same for any length.",
        "Activations, graphs and the runtime: an estimate, on Plan under Other needs.",
        "Logits: in a prefill positions × vocabulary, unless only the last position is asked for.",
        "An engine's blocks and padding: Plan counts them by the rules of the engine chosen.",
        "What an allocator rounds up or cannot join again: Verify shows the device's own figures.",
        "Prefixes that sequences share, unless given; copies moved to main memory or disk.",
    )


@lru_cache(maxsize=128)
def promises_html(shown: Answer) -> str:
    limit, asked = shown.fp.model.max_position_embeddings, shown.fp.request.longest
    trained = "how long a text the model was trained for is not known here"
    if limit:
        where = "beyond" if asked > limit else "within"
        trained = f"the model was trained up to {limit:,}; {asked:,} lie {where} that"
    return title("What nobody promises") + _list(
        "A cache in fp8, int8, q8_0 or q4_0 is smaller by an exact amount. What the rounding does "
        "to answers is measured, not computed: Verify generates with each and shows where the "
        "text first differs.",
        "Bytes are exact at any length, answers are not: "
        f"{trained}. Beyond it nothing is promised of what the model makes of the text.",
        "A cache that drops or merges tokens keeps a promise about bytes and none about what it "
        "forgot.",
        "The same tokens on another device: sums in another order differ in their last digits, "
        "and one close choice changes the rest of the text.",
        "Fewer bytes to read bound the speed from above. They are not the speed.",
    )


def _list(*sentences: str) -> str:
    return f'<ul class="plain">{"".join(f"<li>{esc(text)}</li>" for text in sentences)}</ul>'


@lru_cache(maxsize=1)
def questions_html() -> str:
    """Each with its answer folded away."""
    folds = "".join(
        f'<div class="ask">{fold(q.question, _answer(q.answer, q.steps))}</div>'
        for q in questions()
    )
    return title("Three questions", "answers are worked out by the program") + folds


def _answer(answer: str, steps: tuple[str, ...]) -> str:
    lines = "".join(f"<li>{esc(step)}</li>" for step in steps)
    return f"<p><b>{esc(answer)}</b></p><ul>{lines}</ul>"
