"""A scenario → the context × sequences map of its size, with the frontier of what fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from calculator.capacity import Capacity, Verdict
from calculator.charts import frame
from calculator.charts.lines import WORDS
from calculator.charts.palette import Palette
from calculator.charts.sizes import context_range, needs_of, power_above, powers, what_runs
from calculator.footprint import Footprint
from calculator.units import GIB, counted, format_tokens
from calculator.verdict import gib2

if TYPE_CHECKING:
    import plotly.graph_objects as go

Show = Literal["cache", "to spare"]
Verdicts = list[list[Verdict | None]]
HEIGHT = 288
"""Of the map; with its key below it, it ends where the other figures do [pixels]."""
LEVEL = {"fits": 2, "marginal": 1, "does-not-fit": 0, None: 0}


@dataclass(frozen=True, slots=True)
class Grid:
    """Bytes on a device for each number of sequences (rows) and context (columns)."""

    contexts: tuple[int, ...]
    batches: tuple[int, ...]
    sizes: tuple[tuple[int, ...], ...]
    needs: tuple[tuple[int, ...], ...]
    fp: Footprint
    found: Capacity | None

    @property
    def alt(self) -> str:
        """What the map shows, in a sentence."""
        request = self.fp.request
        if self.found is None:
            return "Size of the cache for each context and number of sequences; no device is given."
        own = self.batches.index(request.num_sequences)
        fitting = [
            n for column, n in enumerate(self.contexts) if self.verdict(own, column) == "fits"
        ]  # fmt: skip
        longest = "no context shown fits"
        if fitting:
            longest = f"up to {counted(max(fitting), 'token')} fit"
        return (
            f"What fits by context and sequences at once: with {request.num_sequences:,} "
            f"at once, {longest}."
        )

    def table(self) -> list[dict[str, Any]]:
        """A row for each number of sequences, a column for each context [bytes]."""
        return [
            {
                "sequences": b,
                **{f"{n:,} tokens, B": s for n, s in zip(self.contexts, row, strict=True)},
            }
            for b, row in zip(self.batches, self.sizes, strict=True)
        ]

    def verdict(self, row: int, column: int) -> Verdict | None:
        return self.found.verdict_of(self.needs[row][column]) if self.found else None

    def figure(self, palette: Palette, show: Show = "cache") -> go.Figure:
        """The specification as a figure, every property checked by plotly."""
        import plotly.graph_objects as go

        return go.Figure(self.spec(palette, show))

    def spec(self, palette: Palette, show: Show = "cache") -> dict[str, Any]:
        """Tinted cells with numbers, the frontier along their edges, this scenario boxed."""
        width, height = len(self.contexts), len(self.batches)
        own = self._own_cell()
        counts = [frame.count(b) for b in self.batches]
        left = frame.left_margin(counts)
        columns = [format_tokens(n) for n in self.contexts]
        columns = frame.labels_apart(columns, own[1], frame.WIDTH - left - frame.RIGHT)
        ticks = [_bold(text, i == own[1]) for i, text in enumerate(columns)]
        rows = [_bold(text, i == own[0]) for i, text in enumerate(counts)]
        plain = {"showgrid": False, "tickmode": "array"}
        x_axis = frame.x_axis(palette, "Context, tokens", list(range(width)), ticks)
        y_axis = frame.y_axis(palette, "Sequences at once")
        layout = frame.layout(palette, left=left, height=HEIGHT) | {
            "xaxis": x_axis | plain | {"range": [-0.5, width - 0.5]},
            "yaxis": y_axis | plain
            | {"range": [-0.5, height - 0.5], "tickvals": list(range(height)), "ticktext": rows},
            "shapes": self._box(palette, own) + self._limit_line(palette),
            "annotations": self._limit_note(palette),
        }  # fmt: skip
        said = self._verdicts()
        traces = [
            self._tints(palette, said),
            self._numbers(palette, show, said),
            *self._frontiers(palette, said),
        ]
        return {"data": traces, "layout": layout}

    def _verdicts(self) -> Verdicts:
        """Of each cell; None everywhere without a device."""
        of = self.found.verdict_of if self.found else lambda _: None
        return [[of(needed) for needed in row] for row in self.needs]

    def _own_cell(self) -> tuple[int, int]:
        request = self.fp.request
        return self.batches.index(request.num_sequences), self.contexts.index(request.longest)

    def _tints(self, palette: Palette, said: Verdicts) -> dict[str, Any]:
        tints = (palette.beyond_tint, palette.marginal_tint, palette.fits_tint)
        scale = [[edge / 3, tints[i]] for i in range(3) for edge in (i, i + 1)]
        return {
            "type": "heatmap",
            "z": [[LEVEL[verdict] for verdict in row] for row in said],
            "zmin": 0,
            "zmax": 2,
            "colorscale": scale,
            "showscale": False,
            "xgap": 2,
            "ygap": 2,
            "customdata": self._hovers(said),
            "hovertemplate": "%{customdata}<extra></extra>",
        }

    def _hovers(self, said: Verdicts) -> list[list[str]]:
        ends = {verdict: f": {word}" if word else "" for verdict, word in WORDS.items()}
        starts = [f"{counted(n, 'token')} × " for n in self.contexts]
        return [
            [
                f"{start}{b:,}<br><b>{gib2(size)} GiB</b>{ends[verdict]}"
                for start, size, verdict in zip(starts, sizes, row, strict=True)
            ]
            for b, sizes, row in zip(self.batches, self.sizes, said, strict=True)
        ]

    def _numbers(self, palette: Palette, show: Show, said: Verdicts) -> dict[str, Any]:
        width, height = len(self.contexts), len(self.batches)
        if self.found is None:
            colour = dict.fromkeys(LEVEL, palette.text)
        else:
            levels = (palette.muted, palette.marginal, palette.text)
            colour = {verdict: levels[level] for verdict, level in LEVEL.items()}
        shown = self.sizes
        if show == "to spare" and self.found is not None:
            low = self.found.budget.available.low
            shown = tuple(tuple(low - needed for needed in row) for row in self.needs)
        return {
            "type": "scatter",
            "mode": "text",
            "x": list(range(width)) * height,
            "y": [row for row in range(height) for _ in range(width)],
            "text": [
                f"≈ {short(size)}".replace("≈ <", "≈<") if verdict == "marginal" else short(size)
                for sizes, row in zip(shown, said, strict=True)
                for size, verdict in zip(sizes, row, strict=True)
            ],
            "textfont": {
                "family": frame.FONT,
                "size": 12,
                "color": [colour[verdict] for row in said for verdict in row],
            },
            "hoverinfo": "skip",
        }

    def _frontiers(self, palette: Palette, said: Verdicts) -> list[dict[str, Any]]:
        """Step lines around what fits (solid) and around what may fit (dotted)."""
        if self.found is None:
            return []
        solid = {"color": palette.fits, "width": 2.5}
        dotted = {"color": palette.estimate, "width": 2, "dash": "dot"}
        return [self._frontier(1, dotted, said), self._frontier(2, solid, said)]

    def _frontier(self, level: int, line: dict[str, Any], said: Verdicts) -> dict[str, Any]:
        """Edges between cells of at least this level and cells below it."""
        xs: list[float | None] = []
        ys: list[float | None] = []
        width, height = len(self.contexts), len(self.batches)
        inside = [[LEVEL[verdict] >= level for verdict in row] for row in said]
        for r in range(height):
            for c in range(width):
                if not inside[r][c]:
                    continue
                if r + 1 < height and not inside[r + 1][c]:
                    xs += [c - 0.5, c + 0.5, None]
                    ys += [r + 0.5, r + 0.5, None]
                if c + 1 < width and not inside[r][c + 1]:
                    xs += [c + 0.5, c + 0.5, None]
                    ys += [r - 0.5, r + 0.5, None]
        return {
            "type": "scatter",
            "mode": "lines",
            "x": xs,
            "y": ys,
            "line": line,
            "hoverinfo": "skip",
        }

    def _box(self, palette: Palette, own: tuple[int, int]) -> list[dict[str, Any]]:
        row, column = own
        edge = {"color": palette.accent, "width": 3}
        corners = {"x0": column - 0.46, "x1": column + 0.46, "y0": row - 0.46, "y1": row + 0.46}
        return [{"type": "rect", "line": edge, **corners}]

    def _past_limit(self) -> float | None:
        """Where the model's maximum lies on the index axis: after the last column within it."""
        limit = self.fp.model.max_position_embeddings
        within = [n for n in self.contexts if limit and n <= limit]
        return len(within) - 0.5 if 0 < len(within) < len(self.contexts) else None

    def _limit_line(self, palette: Palette) -> list[dict[str, Any]]:
        x = self._past_limit()
        if x is None:
            return []
        line = {"color": palette.muted, "width": 1, "dash": "dot"}
        return [
            {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1.02, "line": line}
        ]

    def _limit_note(self, palette: Palette) -> list[dict[str, Any]]:
        x = self._past_limit()
        if x is None:
            return []
        anchor = "right" if x > len(self.contexts) / 3 else "left"
        note = frame.note("model maximum", palette.muted, xanchor=anchor, yanchor="bottom")
        return [note | {"x": x, "yref": "paper", "y": 1.01}]


def grid(fp: Footprint, found: Capacity | None) -> Grid:
    """Powers of two, and the scenario's own row and column."""
    request = fp.request
    low, high = context_range(fp)
    contexts = sorted({*powers(max(low, high >> 9), high), request.longest})
    batches = sorted({*powers(1, 64), request.num_sequences, power_above(request.num_sequences)})
    contexts, batches, table = what_runs(fp, contexts, batches)
    tables = table, needs_of(fp, contexts, batches, table)
    by_batch, needs = (tuple(zip(*t, strict=True)) for t in tables)
    return Grid(tuple(contexts), tuple(batches), by_batch, needs, fp, found)


def short(num_bytes: int) -> str:
    """GiB in a cell: one decimal below 100, none above, a real minus sign; no wider than a cell.

    >>> short(11_173_625_856), short(-2 * 2**30), short(200 * 2**30), short(2**20)
    ('10.4', '−2.0', '200', '<0.1')
    >>> short(8_064 * 2**30), short(-129_024 * 2**30), short(2**60), short(2**70)
    ('8,064', '−129k', '1.1G', '1.1T')
    >>> short(1_037 * 2**30), short(-1_037 * 2**30)
    ('1,037', '−1.0k')
    """
    value = num_bytes / GIB
    if 0 < value < 0.05:
        return "<0.1"
    text = _at_most_five(abs(value), 9_999.5 if value > 0 else 999.5)
    return f"−{text}" if value < 0 and text != "0.0" else text


def _at_most_five(value: float, plain: float) -> str:
    """Characters, a sign included; from `plain` on with a decimal prefix."""
    letter = ""
    for prefix in "kMGTPE" if value >= plain else "":
        if value < 999.5:
            break
        value, letter = value / 1000, prefix
    return (f"{value:,.1f}" if value < 99.95 else f"{value:,.0f}") + letter


def _bold(text: str, own: bool) -> str:
    return f"<b>{text}</b>" if own else text
