"""Tokens of a request → the blocks it holds while it runs, and the most it may ever take."""

from __future__ import annotations

from typing import assert_never

from calculator.engines.vllm.spec import Spec
from calculator.units import ceil_div


def held(spec: Spec, seq_len: int, encoder_seq_len: int, context_ranks: int = 1) -> int:
    """Blocks of a group while the last of `seq_len` tokens is computed.

    Full attention holds ⌈T ÷ block⌉, a block covering `context_ranks` times its tokens. A window
    gives back the blocks wholly below it, a chunk those of the chunks before, a state all but the
    one it continues from: as reckoned from T − 1 tokens computed, when the last one was scheduled.
    Source: `single_type_kv_cache_manager.py`, `remove_skipped_blocks` and `get_num_skipped_tokens`
    of each manager.
    """
    block = spec.block_size
    match spec.rule:
        case "full":
            return ceil_div(seq_len, block * context_ranks)
        case "sliding":
            return ceil_div(seq_len, block) - max(0, seq_len - spec.reach) // block
        case "chunked":
            skipped = (seq_len - 1) // spec.reach * spec.reach
            return ceil_div(seq_len, block) - skipped // block
        case "cross":
            return ceil_div(encoder_seq_len, block)
        case "state":
            if spec.states == 1:
                return 1
            return ceil_div(seq_len, block) - max(0, seq_len - 2) // block
        case _:
            assert_never(spec.rule)


def most_held(spec: Spec, seq_len: int, encoder_seq_len: int, context_ranks: int = 1) -> int:
    """Blocks a group must have on the way to `seq_len` tokens: a chunk's, before it is given back.

    Beyond that `held` goes back and forth by a block, a window's start and end, and is as it is.
    """
    if spec.rule == "chunked" and seq_len > spec.reach:
        before = held(spec, spec.reach, encoder_seq_len)
        return max(before, held(spec, seq_len, encoder_seq_len))
    return held(spec, seq_len, encoder_seq_len, context_ranks)


def shared(
    spec: Spec, lengths: tuple[tuple[int, int], ...], prefix: int, context_ranks: int = 1
) -> int:
    """Blocks saved by prefix caching: whole blocks of `prefix` tokens kept once for all sequences.

    A window shares what of the prefix a sequence still holds; states and encoder keys are each
    sequence's own.
    """
    block = spec.block_size
    match spec.rule:
        case "full":
            kept = [(prefix // (block * context_ranks), count) for _, count in lengths]
        case "sliding":
            skips = [(max(0, n - spec.reach) // block, count) for n, count in lengths]
            kept = [(max(0, prefix // block - skip), count) for skip, count in skips]
        case "chunked":
            skips = [((n - 1) // spec.reach * spec.reach // block, count) for n, count in lengths]
            kept = [(max(0, prefix // block - skip), count) for skip, count in skips]
        case "cross" | "state":
            return 0
        case _:
            assert_never(spec.rule)
    return sum(blocks * count for blocks, count in kept) - max(blocks for blocks, _ in kept)


def most(
    spec: Spec, max_model_len: int, in_flight: int, encoder_tokens: int, context_ranks: int
) -> int:
    """Blocks vLLM reckons for one request of `max_model_len` tokens.

    Windows and chunks count the tokens scheduled but not settled on top, a window a block more,
    since it may start inside one: with blocks of 4, a window of 4 tokens may touch [..CD][EF..].
    Source: `kv_cache_interface.py`, `max_memory_usage_bytes` of each spec.
    """
    match spec.rule:
        case "full":
            return ceil_div(ceil_div(max_model_len, context_ranks), spec.block_size)
        case "sliding":
            tokens = min(spec.reach - 1 + in_flight, max_model_len)
            return ceil_div(tokens, spec.block_size) + 1
        case "chunked":
            return ceil_div(min(spec.reach + in_flight, max_model_len), spec.block_size)
        case "cross":
            return ceil_div(encoder_tokens, spec.block_size)
        case "state":
            return spec.states
        case _:
            assert_never(spec.rule)
