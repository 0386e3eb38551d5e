"""Context size, sequences, batch → cells of each stream, as llama.cpp rounds them."""

from __future__ import annotations

from typing import NamedTuple

from calculator.parallel import Lengths
from calculator.tensors import (
    Constant,
    CurrentChunk,
    EncoderTokens,
    EveryNthToken,
    EveryToken,
    Growth,
    LastGroup,
    LastTokens,
    OpenGroup,
)
from calculator.units import ceil_div, round_up

PAD = 256


class Cells(NamedTuple):
    """A context as allocated: `streams` times `cells` for layers that keep every token.

    Source: llama-context.cpp:llama_context (n_ctx, n_ctx_seq), llama-kv-cache.cpp:llama_kv_cache
    (n_stream).
    """

    n_ctx: int
    n_seq_max: int
    n_batch: int
    n_ubatch: int
    unified: bool
    swa_full: bool

    @property
    def streams(self) -> int:
        return 1 if self.unified else self.n_seq_max

    @property
    def cells(self) -> int:
        """n_ctx padded, then each sequence's share of it padded again.

        >>> Cells(1000, 3, 1000, 512, unified=False, swa_full=False).cells
        512
        """
        padded = round_up(self.n_ctx, PAD)
        return padded if self.unified else round_up(padded // self.n_seq_max, PAD)

    def window_cells(self, window: int, *, shared: bool) -> int:
        """Cells of a sliding layer: a window a sequence of the stream, and the batch on its way in.

        Source: llama-kv-cache-iswa.cpp:llama_kv_cache_iswa (size_swa).
        """
        if self.swa_full:
            return self.cells
        sequences = self.n_seq_max if shared else 1
        return round_up(min(self.cells, window * sequences + self.n_ubatch), PAD)

    def slots(self, growth: Growth, *, own_streams: bool = False) -> int:
        """Cells of all streams together; `own_streams` where sequences never share one.

        That is DeepSeek-V4's cache (llama-kv-cache-dsv4.cpp: unified_raw and unified_compressed
        are false), whose streams are each as long as the whole context.
        """
        streams = self.n_seq_max if own_streams else self.streams
        match growth:
            case EveryToken():
                return streams * self.cells
            case LastTokens(window) | CurrentChunk(window):
                return streams * self.window_cells(window, shared=streams < self.n_seq_max)
            case EveryNthToken(stride):
                return streams * round_up(ceil_div(self.cells, stride), PAD)
            case Constant(count):  # a row for each sequence (llama-memory-recurrent.cpp)
                return self.n_seq_max * count
            case EncoderTokens() | OpenGroup() | LastGroup():
                raise AssertionError(f"llama.cpp keeps nothing that grows like {growth}")


def live_tokens(lengths: Lengths, n_seq_max: int) -> int:
    """Tokens of the sequences that run at once, the longest of them; llama-server has a slot for
    each of `n_seq_max`, and the others wait for one (server-context.cpp:get_available_slot).

    >>> live_tokens(((100, 3), (1000, 2)), 4)
    2200
    """
    tokens, free = 0, n_seq_max
    for length, count in sorted(lengths, reverse=True):
        tokens += length * min(count, free)
        free -= min(count, free)
    return tokens
