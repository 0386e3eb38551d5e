"""Multi-head latent attention and the index keys of sparse attention → their tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from calculator.tensors import EveryToken, StateTensor
from calculator.units import checked_int


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """MLA: T × (kv_lora_rank + qk_rope_head_dim) × b bytes, whatever the number of heads.

    One latent stands for keys and values of all heads, so there is no factor 2 and nothing that
    tensor parallelism could split. Both tensors are in the key's element type.

    The head counts and per-head widths are not stored; an engine that keeps the expanded heads
    (transformers before 5.15, old llama.cpp files) computes its size from them.

    Source: DeepSeek-V2, arXiv:2405.04434 §2.1, and DeepSeek-V3, arXiv:2412.19437 §2.1.1.
    """

    label: ClassVar[str] = "Latent attention (MLA)"
    letter: ClassVar[str] = "M"

    kind: Literal["latent_attention"]
    kv_lora_rank: int
    qk_rope_head_dim: int
    num_attention_heads: int | None = None
    qk_nope_head_dim: int | None = None
    v_head_dim: int | None = None

    def __post_init__(self) -> None:
        checked_int("kv_lora_rank", self.kv_lora_rank, at_most=2**20)
        checked_int("qk_rope_head_dim", self.qk_rope_head_dim, at_least=0, at_most=2**20)
        for name in ("num_attention_heads", "qk_nope_head_dim", "v_head_dim"):
            value = getattr(self, name)
            if value is not None:
                checked_int(name, value, at_most=2**20)

    def tensors(self) -> tuple[StateTensor, ...]:
        latent = StateTensor("latent", 1, self.kv_lora_rank, EveryToken(), "key")
        if not self.qk_rope_head_dim:
            return (latent,)
        return (latent, StateTensor("rope key", 1, self.qk_rope_head_dim, EveryToken(), "key"))


@dataclass(frozen=True, slots=True)
class SparseIndexer:
    """Index keys that choose the tokens to attend to: T × index_head_dim × b bytes, one head.

    Source: DeepSeek-V3.2, arXiv:2512.02556 §2 (lightning indexer).
    """

    label: ClassVar[str] = "Sparse-attention indexer"
    letter: ClassVar[str] = "I"

    kind: Literal["sparse_indexer"]
    index_head_dim: int

    def __post_init__(self) -> None:
        checked_int("index_head_dim", self.index_head_dim, at_most=2**20)

    def tensors(self) -> tuple[StateTensor, ...]:
        return (StateTensor("index key", 1, self.index_head_dim, EveryToken(), "key"),)
