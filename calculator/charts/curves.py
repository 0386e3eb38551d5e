"""A scenario → its curves over the context, and over the number of sequences."""

from __future__ import annotations

from calculator.capacity import Capacity
from calculator.charts.lines import Line, LineChart
from calculator.charts.sizes import between, context_range, needs_of, power_above, what_runs
from calculator.footprint import Footprint
from calculator.units import MAX_COUNT, MAX_TOKENS, format_tokens


def against_context(fp: Footprint, found: Capacity | None) -> LineChart:
    """This number of sequences and two others, over the context."""
    here, batch = fp.request.longest, fp.request.num_sequences
    most = min(power_above(batch * 8), MAX_COUNT)
    batches = sorted({batch, *([4, 16] if batch == 1 else [1, most])})
    xs = sorted({*between(*context_range(fp)), here})
    xs, batches, table = what_runs(fp, xs, batches)
    needs = zip(*needs_of(fp, xs, batches, table), strict=True)
    lines = tuple(
        Line(f"× {b:,}", tuple(zip(xs, column, strict=True)), need, b == batch)
        for b, column, need in zip(batches, zip(*table, strict=True), needs, strict=True)
    )
    at = (here, max(fp.bytes_per_device))
    limit = fp.model.max_position_embeddings
    return LineChart("context", lines, at, limit, None, fp, found)


def against_sequences(fp: Footprint, found: Capacity | None) -> LineChart:
    """This context and two others, over the number of sequences."""
    here, context = fp.request.num_sequences, fp.request.longest
    limit = min(fp.model.max_position_embeddings or context * 8, MAX_TOKENS)
    far = context * 8 if context * 8 <= limit else max(1, context // 64)
    contexts = sorted({context, max(1, context // 8), far})
    xs = sorted({*between(1, max(256, power_above(here))), here})
    contexts, xs, table = what_runs(fp, contexts, xs)
    needs = needs_of(fp, contexts, xs, table)
    lines = tuple(
        Line(
            f"{format_tokens(n)} token{'s' * (n > 1)}",
            tuple(zip(xs, sizes, strict=True)),
            need,
            n == context,
        )
        for n, sizes, need in zip(contexts, table, needs, strict=True)
    )
    at = (here, max(fp.bytes_per_device))
    weights = found.budget.weights.bytes_per_device if found and found.budget.weights else None
    return LineChart("sequences", lines, at, None, weights, fp, found)
