"""The page-one formula as a five-argument function: the independent check on `footprint`."""

from __future__ import annotations

from calculator.units import MAX_TOKENS, checked_int


def textbook(
    num_hidden_layers: int,
    seq_len: int,
    num_key_value_heads: int,
    head_dim: int,
    bytes_per_element: int,
) -> int:
    """Key-value cache of one sequence under full attention [bytes].

    2 × L × T × H × D × b

    num_hidden_layers (L), seq_len (T) [tokens], num_key_value_heads (H): the *cached* heads, not
    the query heads; head_dim (D), bytes_per_element (b) [bytes]. The 2 is one tensor for keys, one
    for values.

    Valid when every layer keeps every token and keys are as wide as values. It ignores windows,
    latents, recurrent states, block rounding and anything an engine reserves.

    >>> textbook(32, 8192, 8, 128, 2)  # Llama-3-8B: 1.00 GiB
    1073741824

    Source: Pope et al., arXiv:2211.05102 §2.1; Ainslie et al., arXiv:2305.13245 for H.
    """
    for name, value in (
        ("num_hidden_layers", num_hidden_layers),
        ("num_key_value_heads", num_key_value_heads),
        ("head_dim", head_dim),
        ("bytes_per_element", bytes_per_element),
    ):
        checked_int(name, value)
    checked_int("seq_len", seq_len, at_most=MAX_TOKENS)
    L, T, H, D, b = num_hidden_layers, seq_len, num_key_value_heads, head_dim, bytes_per_element
    return 2 * L * T * H * D * b
