"""Attention keys of a GGUF file → layers of full, sliding and chunked attention."""

from __future__ import annotations

from calculator.errors import InvalidInput
from calculator.importers.gguf.layers import DECODER, Layer, Rule
from calculator.importers.gguf.metadata import Metadata
from calculator.importers.hf_config.layers import CHUNKED, FULL, NOTHING, SHARED, SLIDING, Heads
from calculator.layers.attention import FullAttention
from calculator.layers.cross import CrossAttention

WINDOW, PATTERN = "attention.sliding_window", "attention.sliding_window_pattern"


def plain(m: Metadata) -> list[Layer]:
    """Every token in every layer that has cached heads; per-layer lists may give some none."""
    return layers(m, [False] * m.num_layers, None)


def full_every(pattern: int, *, window: int | None = None, full_first: bool = False) -> Rule:
    """Full attention in every `pattern`-th layer, which is the rule where the file has no list.

    `window` is what an absent key means; a window of 0 means full attention in every layer.
    """

    def rule(m: Metadata) -> list[Layer]:
        if m.value(WINDOW) == 0:
            m.value(PATTERN)
            return plain(m)
        return layers(m, sliding(m, pattern, full_first), m.window() or window)

    return rule


def full_every_if_window(pattern: int, *, full_first: bool = False) -> Rule:
    """As `full_every`, but an absent window means full attention in every layer."""

    def rule(m: Metadata) -> list[Layer]:
        window = m.window()
        if window is None:
            m.value(PATTERN)
            return plain(m)
        return layers(m, sliding(m, pattern, full_first), window)

    return rule


def as_listed(m: Metadata) -> list[Layer]:
    """Windows where the file's list says so; it must have one."""
    flags = m.flags(PATTERN, "layer_types")
    return m.missing(PATTERN) if flags is None else layers(m, flags, m.window())


def window_everywhere(m: Metadata) -> list[Layer]:
    """Phi-3: a window on every layer where there is one."""
    window = m.window()
    if window:
        m.assumptions.append(
            f"sliding_window {window:,} on every layer, as the model is published; llama.cpp "
            "itself keeps every token of this architecture."
        )
    return layers(m, [bool(window)] * m.num_layers, window)


def no_window_kept(m: Metadata) -> list[Layer]:
    """Architectures whose models may have a window that their GGUF files do not carry."""
    m.assumptions.append(
        f"A GGUF file of architecture {m.architecture} names no sliding window: every token is "
        "kept, as llama.cpp does."
    )
    return plain(m)


def heads_by_layer(m: Metadata) -> list[Layer]:
    """Llama-Nemotron: layers differ in their cached heads, and are named by how many."""
    heads = cached_heads(m)
    return [
        (f"{kind}_of_{n}" if n else kind, caches)
        for n, (kind, caches) in zip(heads, plain(m), strict=True)
    ]


def falcon(m: Metadata) -> list[Layer]:
    """Falcon: several cached heads come with how many query heads, which transformers caches."""
    heads = m.count("attention.head_count", "num_attention_heads")
    found: list[Layer] = []
    for n, layer in zip(cached_heads(m), plain(m), strict=True):
        cache = FullAttention(FULL, n, *widths(m), num_attention_heads=heads)
        found.append((FULL, (cache,)) if n > 1 else layer)
    return found


def exaone4(m: Metadata) -> list[Layer]:
    """EXAONE 4: windows in the model of 64 layers, none in the small one."""
    if m.num_layers == 64 or m.flags(PATTERN) is not None:
        return full_every(4, window=4096)(m)
    m.window()
    return plain(m)


def llama4(m: Metadata) -> list[Layer]:
    """Chunks of 8,192 tokens but in every fourth layer, unless a window of 0 says none."""
    if m.value(WINDOW) == 0:
        return plain(m)
    m.provenance["attention_chunk_size"] = "llama.cpp, llama4.cpp: always 8192"
    found: list[Layer] = []
    for is_chunked, n in zip(sliding(m, 4), cached_heads(m), strict=True):
        heads = Heads(n, *widths(m))
        found.append((CHUNKED, (heads.chunked(8192),)) if is_chunked else (FULL, (heads.full(),)))
    return found


def gemma3n(m: Metadata) -> list[Layer]:
    """Full attention in every fifth layer; the last layers reuse the caches of earlier ones."""
    shared = m.count_or_none("attention.shared_kv_layers", "num_kv_shared_layers", at_least=0)
    if shared is None:
        shared = max(m.num_layers - 20, 0)
        m.provenance["num_kv_shared_layers"] = "llama.cpp, gemma3n.cpp: the first 20 keep a cache"
    return with_shared(m, layers(m, sliding(m, 5), m.window() or m.missing(WINDOW)), shared)


def gemma4(m: Metadata) -> list[Layer]:
    """As listed, and the last layers reuse the caches of earlier ones."""
    shared = m.count_or_none("attention.shared_kv_layers", "num_kv_shared_layers", at_least=0)
    return with_shared(m, as_listed(m), shared or 0)


def with_shared(m: Metadata, found: list[Layer], shared: int) -> list[Layer]:
    if shared >= len(found):
        m.refuse("attention.shared_kv_layers", f"there are {len(found):,} layers")
    return found[: len(found) - shared] + [(SHARED, ())] * shared


def t5(m: Metadata) -> list[Layer]:
    """Decoder layers with cross attention; as many as encoder layers where not given."""
    num_layers = m.count_or_none("decoder_block_count", "num_hidden_layers", at_most=1024)
    heads = Heads(m.count("attention.head_count", "num_key_value_heads"), *widths(m))
    caches = (heads.full(), CrossAttention("cross_attention", *heads))
    return [(DECODER, caches)] * (num_layers or m.num_layers)


def sliding(m: Metadata, pattern: int, full_first: bool = False) -> list[bool]:
    """Which layers have a window: listed, or all but every n-th, n from the file or `pattern`.

    Of n layers the last is full, or the first where `full_first`; n = 0 means all have a window.
    """
    listed = m.flags(PATTERN, "layer_types")
    if listed is not None:
        return listed
    n = m.count_or_none(PATTERN, "layer_types", at_least=0, at_most=1024)
    if n is None:
        n = pattern
        m.provenance["layer_types"] = f"llama.cpp, rule of architecture {m.architecture}: {n}"
    full = 0 if full_first else n - 1
    return [n == 0 or i % n != full for i in range(m.num_layers)]


def layers(m: Metadata, has_window: list[bool], window: int | None) -> list[Layer]:
    """Each layer's heads and widths, with a window or without; none where it caches no heads."""
    heads = cached_heads(m)
    if not any(heads):
        return [(NOTHING, ())] * m.num_layers
    full_widths = widths(m)
    window_widths = widths(m, "_swa") if any(has_window) else full_widths
    if any(has_window) and window is None:
        m.missing(WINDOW)
    found: list[Layer] = []
    for n, windowed in zip(heads, has_window, strict=True):
        if not n:
            found.append((NOTHING, ()))
        elif windowed and window:
            found.append((SLIDING, (Heads(n, *window_widths).sliding(window),)))
        else:
            found.append((FULL, (Heads(n, *full_widths).full(),)))
    return found


def cached_heads(m: Metadata) -> list[int]:
    """Cached heads of each layer: as many as query heads where the file does not say."""
    heads = m.per_layer("attention.head_count")
    cached = m.per_layer("attention.head_count_kv", "num_key_value_heads")
    if cached is None:
        m.provenance["num_key_value_heads"] = f"{m.architecture}.attention.head_count"
        cached = heads if heads is not None else m.missing("attention.head_count")
    for n, of in zip(cached, heads or [], strict=False):
        if n and of % n:
            raise InvalidInput(
                f"{m.architecture}.attention.head_count_kv is {n:,}; it does not divide the "
                f"{of:,} attention heads.",
                field="num_key_value_heads",
            )
    return cached


def widths(m: Metadata, suffix: str = "") -> tuple[int, int | None]:
    """(key, value) width of a head, the value's None where it is the key's.

    Layers with a window may have widths of their own, under keys that end in `suffix`.
    """
    key_length = m.count_or_none(f"attention.key_length{suffix}", f"head_dim{suffix}")
    value_length = m.count_or_none(f"attention.value_length{suffix}", f"v_head_dim{suffix}")
    if suffix and (key_length is None or value_length is None):
        full_key, full_value = widths(m)
        key_length = key_length or full_key
        value_length = value_length or full_value or full_key
    if key_length is None:
        key_length = derived_width(m)
    if value_length is None:  # the file may widen the keys alone
        value_length = derived_width(m)
    return key_length, None if value_length == key_length else value_length


def derived_width(m: Metadata) -> int:
    """embedding_length ÷ head_count, which must come out even."""
    heads = m.per_layer("attention.head_count") or m.missing("attention.head_count")
    embedding, n = m.count("embedding_length", "hidden_size"), max(heads)
    if not n or embedding % n:
        raise InvalidInput(
            f"{m.architecture}.embedding_length is {embedding:,}, no multiple of the {n:,} "
            "attention heads, and the file has no key_length.",
            field="hidden_size",
        )
    m.provenance.setdefault("head_dim", "embedding_length / attention.head_count")
    return embedding // n
