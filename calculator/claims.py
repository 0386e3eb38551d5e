"""Claims of a lesson that circulates → the same figures worked out, with formula and verdict."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from calculator.catalog import load_model
from calculator.devices import Device, load_device
from calculator.footprint import footprint
from calculator.model import ModelSpec
from calculator.parallel import SINGLE
from calculator.request import Request
from calculator.units import GB
from calculator.weights import weights_of

Verdict = Literal["wrong", "depends", "low"]
DEVICE = "a100-sxm-80gb"
PREFILL_SHARE = (0.58, 0.67)
"""Of the peak: TensorRT-LLM's published fp16 prefill of 2,048 tokens on one A100."""
DECODE_SHARE = (0.42, 0.82)
"""Of the bandwidth: published decode rates, dense 16-bit models, one sequence, datacentre cards."""
TFLOP, GFLOP = 10**12, 10**9


class Claim(NamedTuple):
    """What is said, what we find for the model and device it fits, and how we found it."""

    said: str
    about: str
    ours: str
    verdict: Verdict
    word: str
    why: str
    formula: tuple[str, ...]


class Decoder(NamedTuple):
    """A preset, and what its arithmetic needs besides, from its published config.json."""

    model: ModelSpec
    hidden_size: int
    num_attention_heads: int
    head_dim: int
    vocab_size: int

    @property
    def num_parameters(self) -> int:
        return self.model.num_parameters or 0

    @property
    def num_layers(self) -> int:
        return self.model.num_hidden_layers

    @property
    def num_key_value_heads(self) -> int:
        return footprint(self.model, Request(seq_len=1)).items[0].row.heads

    @property
    def weight_bytes(self) -> int:
        """Whole, though of the embedding table a step reads one row a token."""
        return weights_of(self.model, SINGLE).num_bytes

    def cache_bytes(self, tokens: int) -> int:
        return footprint(self.model, Request(seq_len=tokens)).num_bytes

    def attention_flops(self, pairs: int) -> int:
        """4 L H D a (query, key) pair: query · key and weight · value, × and + each."""
        L, H, D = self.num_layers, self.num_attention_heads, self.head_dim
        return 4 * L * H * D * pairs

    def prefill_flops(self, tokens: int) -> int:
        """The least a prefill computes: layers everywhere, head at the last position, causal pairs.

        The embedding is a lookup; its table multiplies nothing.
        """
        P, V, h, T = self.num_parameters, self.vocab_size, self.hidden_size, tokens
        layers = 2 * (P - 2 * V * h) * T
        head = 2 * V * h
        return layers + head + self.attention_flops(T * (T + 1) // 2)

    def decode_flops(self, tokens: int) -> int:
        """One step over a cache of `tokens`: every parameter once, and attention."""
        return 2 * self.num_parameters + self.attention_flops(tokens)

    def decode_bytes(self, tokens: int) -> int:
        """What that step reads: the weights, and the whole cache."""
        return self.weight_bytes + self.cache_bytes(tokens)


@lru_cache(maxsize=1)
def small() -> Decoder:
    """Source: https://huggingface.co/meta-llama/Meta-Llama-3.1-8B, config.json."""
    return Decoder(load_model("llama-3.1-8b"), 4096, 32, 128, 128_256)


@lru_cache(maxsize=1)
def large() -> Decoder:
    """Source: https://huggingface.co/meta-llama/Meta-Llama-3.1-70B, config.json."""
    return Decoder(load_model("llama-3.1-70b"), 8192, 64, 128, 128_256)


def ratio(a: float, b: float) -> float:
    return a / b


def percent(share: float, decimals: int = 0) -> str:
    return f"{100 * share:.{decimals}f} %"


def _span(shares: tuple[float, float]) -> str:
    low, high = shares
    return f"{100 * low:.0f}–{percent(high)}"


def claims() -> tuple[Claim, ...]:
    """Each claim beside our figures, for the model and device whose numbers come nearest to it."""
    device = load_device(DEVICE)
    return (
        _cache_above_weights(large(), 131_072),
        _prefill(small(), device, 4096),
        _longer_prefill(small(), 4096, 32_768),
        _intensity(large(), 8192),
        _share_of_compute(large(), device, 8192),
        _rate(small(), device),
        _bytes_read(small(), 8192),
    )


def _cache_above_weights(m: Decoder, tokens: int) -> Claim:
    cache, weights = m.cache_bytes(tokens), m.weight_bytes
    sequences = weights // cache + 1
    return Claim(
        "At 128K the cache is larger than the weights.",
        f"{m.model.name}, bf16, one sequence",
        f"{ratio(cache, GB):.1f} GB of cache, {ratio(weights, GB):.1f} GB of weights",
        "depends",
        "not at one sequence",
        f"True from {sequences} such sequences on.",
        (
            f"cache: 2 × {m.num_layers} layers × {tokens:,} tokens × {m.num_key_value_heads} "
            f"KV heads × {m.head_dim} × 2 B = {cache:,} B",
            f"weights: {m.num_parameters:,} parameters × 2 B = {weights:,} B",
        ),
    )


def _prefill(m: Decoder, device: Device, tokens: int) -> Claim:
    flops, peak = m.prefill_flops(tokens), device.bf16_flops or 0
    floor_ms = ratio(1000 * flops, peak)
    low, high = (ratio(floor_ms, share) for share in reversed(PREFILL_SHARE))
    attention = m.attention_flops(tokens * (tokens + 1) // 2)
    return Claim(
        f"Prefill of {tokens:,} tokens on an A100 takes 80–120 ms.",
        f"{m.model.name}, bf16, one A100 at {ratio(peak, TFLOP):.0f} TFLOPS",
        f"at least {floor_ms:.0f} ms",
        "wrong",
        "faster than the chip",
        f"At the {_span(PREFILL_SHARE)} of the peak that is measured, "
        f"{low:.0f}–{high:.0f} ms (estimate).",
        (
            "FLOPs = 2 (P − 2 V h) T + 2 V h + 2 L H D T (T + 1): layers at every position, the "
            "head at the last one, causal attention; P parameters, V vocabulary, h hidden size",
            f"2 × ({m.num_parameters:,} − 2 × {m.vocab_size:,} × {m.hidden_size:,}) × {tokens:,} "
            f"= {ratio(flops - attention - 2 * m.vocab_size * m.hidden_size, TFLOP):.2f} TFLOP",
            f"2 × {m.num_layers} × {m.num_attention_heads} × {m.head_dim} × "
            f"{tokens:,} × {tokens + 1:,} = {ratio(attention, TFLOP):.2f} TFLOP",
            f"{ratio(flops, TFLOP):.2f} TFLOP ÷ {ratio(peak, TFLOP):.0f} TFLOP/s = "
            f"{floor_ms:.1f} ms",
        ),
    )


def _longer_prefill(m: Decoder, tokens: int, longer: int) -> Claim:
    few, many = m.prefill_flops(tokens), m.prefill_flops(longer)
    share = ratio(m.attention_flops(longer * (longer + 1) // 2), many)
    return Claim(
        "Prefill of 32K takes 8 × as long as that of 4K.",
        f"{m.model.name}",
        f"{ratio(many, few):.1f} × the work",
        "wrong",
        "attention left out",
        "Eight times the positions are 8 × the projections and 64 × the attention; at 32K "
        f"attention is {percent(share)} of it.",
        (
            f"the formula above: {ratio(many, TFLOP):.1f} TFLOP at {longer:,} tokens ÷ "
            f"{ratio(few, TFLOP):.1f} TFLOP at {tokens:,} = {ratio(many, few):.2f}",
        ),
    )


def _intensity(m: Decoder, tokens: int) -> Claim:
    flops, cache = m.attention_flops(tokens), m.cache_bytes(tokens)
    layers = m.num_layers
    return Claim(
        "Attention of a decode step of a 70B at 8K is a few hundred million FLOPs, at 0.1 FLOP "
        "a byte.",
        f"{m.model.name}, bf16, {tokens:,} tokens",
        f"{ratio(flops, GFLOP):.1f} GFLOP, {ratio(flops, cache):.0f} FLOP a byte",
        "wrong",
        f"{layers} × too small",
        f"A few hundred million, {ratio(flops // layers, 10**6):.0f}, is one layer of {layers}. "
        f"A key is read once for {m.num_attention_heads} ÷ {m.num_key_value_heads} = "
        f"{m.num_attention_heads // m.num_key_value_heads} query heads.",
        (
            f"4 L H D T = 4 × {layers} × {m.num_attention_heads} × {m.head_dim} × {tokens:,} = "
            f"{flops:,} FLOP",
            f"cache read: {cache:,} B; {flops:,} ÷ {cache:,} = {ratio(flops, cache):.1f}",
        ),
    )


def _share_of_compute(m: Decoder, device: Device, tokens: int) -> Claim:
    peak, bandwidth = device.bf16_flops or 0, device.memory_bandwidth_bytes_per_s or 1
    balance = ratio(peak, bandwidth)
    alone = ratio(m.attention_flops(tokens), m.cache_bytes(tokens))
    whole = ratio(m.decode_flops(tokens), m.decode_bytes(tokens))
    in_attention, in_all = ratio(alone, balance), ratio(whole, balance)
    return Claim(
        "Decoding uses less than 0.1 % of the compute.",
        f"{m.model.name}, bf16, {tokens:,} tokens, A100s",
        f"{percent(in_attention, 1)} in attention, {percent(in_all, 1)} in the whole step",
        "wrong",
        f"{ratio(in_all, 0.001):.0f} to {ratio(in_attention, 0.001):.0f} × too small",
        "Still little: memory sets the pace of one sequence. More sequences at once share the "
        "weights that are read.",
        (
            f"A100: {ratio(peak, TFLOP):.0f} TFLOP/s ÷ {ratio(bandwidth, TFLOP):.3f} TB/s = "
            f"{balance:.0f} FLOP a byte",
            f"attention: {alone:.1f} FLOP a byte ÷ {balance:.0f}",
            f"whole step: {ratio(m.decode_flops(tokens), GFLOP):.1f} GFLOP ÷ "
            f"{ratio(m.decode_bytes(tokens), GB):.1f} GB = {whole:.2f} FLOP a byte ÷ {balance:.0f}",
        ),
    )


def _rate(m: Decoder, device: Device) -> Claim:
    bandwidth = device.memory_bandwidth_bytes_per_s or 0
    ceiling = ratio(bandwidth, m.weight_bytes)
    low, high = (ceiling * share for share in DECODE_SHARE)
    return Claim(
        "Decoding runs at 40–60 tokens/s.",
        f"{m.model.name}, bf16, one sequence, one A100 at {ratio(bandwidth, GB):,.0f} GB/s",
        f"{percent(ratio(40, ceiling), 1)} to {percent(ratio(60, ceiling), 1)} of "
        f"{ceiling:.0f} tokens/s",
        "low",
        "possible, slow",
        f"At the {_span(DECODE_SHARE)} of it that is measured, "
        f"{low:.0f}–{high:.0f} tokens/s (estimate).",
        (
            f"ceiling: {bandwidth:,} B/s ÷ {m.weight_bytes:,} B of weights = {ceiling:.1f} a "
            "second, before any cache is read",
        ),
    )


def _bytes_read(m: Decoder, tokens: int) -> Claim:
    cache, weights, rate = m.cache_bytes(tokens), m.weight_bytes, m.cache_bytes(1)
    return Claim(
        "A decode step reads mostly the cache.",
        f"{m.model.name}, bf16, one sequence",
        f"{percent(ratio(cache, cache + weights), 1)} of the bytes at {tokens:,} tokens",
        "depends",
        "only of a long text",
        f"As much cache as weights at {weights // rate:,} tokens, near the trained maximum of "
        f"{m.model.max_position_embeddings:,}.",
        (
            f"cache {cache:,} B ÷ ({cache:,} + {weights:,}) B",
            f"{weights:,} B of weights ÷ {rate:,} B a token = {weights // rate:,}",
        ),
    )
