"""llama.cpp: a context allocated whole when it starts → tensors and cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from calculator.dtypes import Dtype, dtype
from calculator.engines.accelerators import Accelerator
from calculator.engines.answers import CacheDtypes
from calculator.engines.base import Engine
from calculator.engines.llamacpp.architectures import (
    FLASH_ATTN_FORCED_OFF,
    HEADLESS_LAYERS,
    architecture,
)
from calculator.engines.llamacpp.cells import Cells, live_tokens
from calculator.engines.llamacpp.command import llama_server
from calculator.engines.llamacpp.log import log_lines
from calculator.engines.llamacpp.notes import device_notes
from calculator.engines.llamacpp.profiles import PROFILES
from calculator.engines.llamacpp.refusals import check, check_context, refuse_split
from calculator.engines.llamacpp.steps import Lengths, beyond_context, differences
from calculator.engines.llamacpp.stored import stored
from calculator.engines.rows import plan
from calculator.errors import InvalidInput, shown
from calculator.items import Item
from calculator.layers import LayerCache
from calculator.model import ModelSpec
from calculator.parallel import Parallelism, dealt
from calculator.request import Request
from calculator.tensors import Constant, CurrentChunk, Growth, LastTokens, StateTensor
from calculator.units import checked_int

# common/arg.cpp:kv_cache_types
CACHE_TYPES = ("fp32", "fp16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
MAX_SEQUENCES = 256  # llama-cparams.h, LLAMA_MAX_SEQ
MAX_CONTEXT = 2**31 - 1  # common/common.h: n_ctx is an int32_t
VERIFIED = "0c1e57098 / xllamacpp 2026.10.11549"


@dataclass(frozen=True, slots=True)
class LlamaCpp(Engine):
    """The cells llama.cpp sets aside for `n_ctx` tokens and `n_seq_max` sequences, used or not.

    Left out, `n_ctx` is what the request needs and `n_seq_max` how many sequences it has; the other
    defaults are llama-server's with an explicit `-np`, or those of another front end (`profile`).
    """

    n_ctx: int | None = None
    n_seq_max: int | None = None
    type_k: str | None = None
    type_v: str | None = None
    n_batch: int | None = None
    n_ubatch: int = 512
    swa_full: bool | None = None
    kv_unified: bool | None = None
    flash_attn: bool = True
    profile: str | None = None
    version: str | None = None

    engine: ClassVar[str] = "llama.cpp"
    cache_dtypes: ClassVar[tuple[str, ...]] = CACHE_TYPES
    additive: ClassVar[bool] = False
    verified_with: ClassVar[str] = VERIFIED
    lighter_weights: ClassVar[tuple[str, ...]] = ("int4",)

    def __post_init__(self) -> None:
        """Check the options, and fill in what the front end decides."""
        if not isinstance(self.profile, str | None) or self.profile not in PROFILES:
            known = ", ".join(name for name in PROFILES if name)
            raise InvalidInput(
                f"profile is {shown(self.profile)}; known front ends: {known}.", field="profile"
            )
        if self.version not in (None, VERIFIED, *VERIFIED.split(" / ")):
            raise InvalidInput(
                f"version is {shown(self.version)}; the one known is {VERIFIED}.", field="version"
            )
        front_end = PROFILES[self.profile]
        checked_int("n_ubatch", self.n_ubatch, at_most=MAX_CONTEXT)
        chosen = {
            "n_seq_max": front_end.n_seq_max,
            "n_batch": front_end.n_batch or self.n_ubatch,
            "swa_full": front_end.swa_full,
            "kv_unified": front_end.kv_unified,
        }
        for name, value in chosen.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for name, limit in _LIMITS:
            if getattr(self, name) is not None:
                checked_int(name, getattr(self, name), at_most=limit)
        for name in ("type_k", "type_v"):
            given = getattr(self, name)
            if given is not None:
                found = dtype(given, field=name, known=CACHE_TYPES).name
                object.__setattr__(self, name, found)
        for name in ("swa_full", "kv_unified", "flash_attn"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(
                    f"{name} is {shown(getattr(self, name))}; expected true or false.", field=name
                )

    def tensors(self, cache: LayerCache, model: ModelSpec) -> tuple[StateTensor, ...]:
        return stored(cache, model, self.flash_attn_of(model))

    def slot_bytes(self, tensor: StateTensor, dtype: Dtype) -> int:
        """A row of all heads together (llama-kv-cache.cpp, n_embd_k_gqa), in whole blocks."""
        return dtype.row_bytes(tensor.heads * tensor.width)

    def flash_attn_of(self, model: ModelSpec) -> bool:
        """Whether flash attention runs: one architecture forces it off."""
        return self.flash_attn and architecture(model.model_type) not in FLASH_ATTN_FORCED_OFF

    def dtypes(self, model: ModelSpec, request: Request) -> CacheDtypes:
        """Flag, else request, else f16 whatever the model's type (llama_context_default_params)."""
        key, key_basis = self._type("type_k", request.key_dtype, "key_dtype")
        value, value_basis = self._type("type_v", request.value_dtype, "value_dtype")
        if key_basis and value_basis:
            basis = "Cache type auto: fp16, llama.cpp's default (common/common.h)."
        else:
            basis = key_basis or value_basis
        return CacheDtypes(key, value, basis)

    def _type(self, flag: str, asked: str | None, field: str) -> tuple[str, str]:
        """(element type, a sentence where nobody asked for one)."""
        chosen: str | None = getattr(self, flag)
        if chosen and asked and chosen != asked:
            raise InvalidInput(
                f"{flag} is {chosen} and {field} is {asked}; set one of them, or both alike.",
                field=flag,
            )
        found = chosen or asked
        if found is None:
            return "fp16", f"{flag} left out: fp16, llama.cpp's default (common/common.h)."
        return dtype(found, field=field, known=CACHE_TYPES).name, ""

    def cells(self, lengths: Lengths) -> Cells:
        """The context that is set up for sequences of these lengths."""
        n_seq_max = self.n_seq_max or sum(count for _, count in lengths)
        n_ctx = self.n_ctx
        if n_ctx is None and self.kv_unified:
            # with less than a token a sequence it aborts; the padding hides the difference
            n_ctx = max(n_seq_max, live_tokens(lengths, n_seq_max))
        elif n_ctx is None:
            n_ctx = n_seq_max * max(tokens for tokens, _ in lengths)
        if n_seq_max > MAX_SEQUENCES or n_ctx > MAX_CONTEXT:
            name, value, limit = (
                ("n_seq_max", n_seq_max, MAX_SEQUENCES)
                if n_seq_max > MAX_SEQUENCES
                else ("n_ctx", n_ctx, MAX_CONTEXT)
            )
            raise InvalidInput(
                f"llama.cpp refuses: {name} must be <= {limit}; this needs {value:,}.", field=name
            )
        n_batch = min(n_ctx, self.n_batch or self.n_ubatch)
        return Cells(
            n_ctx, n_seq_max, n_batch, min(n_batch, self.n_ubatch),
            bool(self.kv_unified), bool(self.swa_full),
        )  # fmt: skip

    def device_notes(self, device: Accelerator) -> tuple[str, ...]:
        return device_notes(device)

    def limit(self, model: ModelSpec, request: Request, parallelism: Parallelism) -> str:
        for lengths in filter(None, dealt(request.lengths, parallelism.data_parallel_size)):
            try:
                cells = self.cells(lengths)
                check_context(cells, model)
            except InvalidInput as error:
                return str(error)
            if problem := beyond_context(cells, lengths):
                return problem
        return ""

    def longer(self, request: Request, parallelism: Parallelism) -> tuple[tuple[str, Engine], ...]:
        """A larger `n_ctx`; the largest replica is the first."""
        needed = replace(self, n_ctx=None)._first(request, parallelism).n_ctx
        if self.n_ctx is None or needed <= self.n_ctx:
            return ()
        return ((f"n_ctx {needed:,} instead of {self.n_ctx:,}", replace(self, n_ctx=needed)),)

    def slots(self, growth: Growth, seq_len: int, encoder_seq_len: int) -> int:
        """Cells one sequence needs before rounding: what one more token adds follows from it.

        A given `n_ctx` is allocated whole, whatever the sequence: one more token adds nothing.
        """
        seq_len = self.n_ctx or seq_len
        match growth:
            case LastTokens(window) | CurrentChunk(window):
                batch = min(self.n_batch or self.n_ubatch, self.n_ubatch)
                return seq_len if self.swa_full else min(seq_len, window + batch)
            case _:
                # not super(): dataclass(slots=True) makes a second class, unknown to super()
                return Engine.slots(self, growth, seq_len, encoder_seq_len)

    def allocate(
        self,
        model: ModelSpec,
        request: Request,
        parallelism: Parallelism,
        hands: tuple[Lengths, ...],
    ) -> tuple[Item, ...]:
        refuse_split(parallelism, request)
        key, value, _ = self.dtypes(model, request)
        check(model, key, value, self.flash_attn_of(model))
        contexts = [self.cells(lengths) for lengths in hands if lengths]
        for context in contexts:
            check_context(context, model)
        return tuple(
            Item(
                row, sum(c.slots(row.growth, own_streams=row.kind == _DEEPSEEK4) for c in contexts)
            )
            for row in plan(self, model, key, value, 1)
        )

    def slots_text(self, item: Item, request: Request, parallelism: Parallelism) -> str:
        """
        >>> from calculator import Request, engine, footprint, load_model
        >>> llama, cpp = load_model("llama-3-8b"), engine("llama.cpp")
        >>> found = footprint(llama, Request(seq_len=1000, batch_size=2), cpp)
        >>> cpp.slots_text(found.items[0], found.request, found.parallelism)
        '2 streams × 1,024 cells = 2,048'
        """
        cells, own = self._first(request, parallelism), item.row.kind == _DEEPSEEK4
        if cells.slots(item.row.growth, own_streams=own) != item.slots:
            return f"{item.slots:,} in all"
        fixed = isinstance(item.row.growth, Constant)
        parts = cells.n_seq_max if own or fixed else cells.streams
        if parts == 1:
            return f"{item.slots:,}"
        each = item.slots // parts
        what = f"sequences × {each:,}" if fixed else f"streams × {each:,} cells"
        return f"{parts:,} {what} = {item.slots:,}"

    def command(
        self, model: ModelSpec, request: Request, parallelism: Parallelism, share: float
    ) -> str:
        key, value, _ = self.dtypes(model, request)
        cells = self._first(request, parallelism)
        return llama_server(cells, (key, value), self.flash_attn_of(model))

    def log_lines(
        self, model: ModelSpec, request: Request, parallelism: Parallelism, available_bytes: int
    ) -> tuple[str, ...]:
        """Of one context: the first replica's."""
        hand = dealt(request.lengths, parallelism.data_parallel_size)[0]
        items = self.allocate(model, request, parallelism, (hand,))
        key, value, _ = self.dtypes(model, request)
        headless = sum(g.layers for g in model.layer_groups if not g.caches)
        if architecture(model.model_type) not in HEADLESS_LAYERS:
            headless = 0
        layers = model.num_hidden_layers
        return log_lines(items, self.cells(hand), (key, value), layers, headless)

    def _first(self, request: Request, parallelism: Parallelism) -> Cells:
        """The context of the first replica, which has the most sequences."""
        return self.cells(dealt(request.lengths, parallelism.data_parallel_size)[0])

    def assumptions_on(
        self, model: ModelSpec, request: Request, parallelism: Parallelism
    ) -> tuple[str, ...]:
        """The front end, what it fills in, and every step from the ideal size to this one."""
        switches = ", ".join(
            f"{name} {'on' if getattr(self, name) else 'off'}"
            for name in ("swa_full", "kv_unified")
        )
        found = [
            f"Engine llama.cpp {VERIFIED}, defaults of {PROFILES[self.profile].basis}: "
            f"n_batch {self.n_batch:,}, n_ubatch {self.n_ubatch:,}, {switches}."
        ]
        if self.flash_attn_of(model):
            found.append(
                "Flash attention on: auto ends so where the device supports it "
                "(llama-context.cpp:resolve_fused_ops)."
            )
        if model.kv_cache_dtype:
            found.append(
                f"The checkpoint asks for a {model.kv_cache_dtype} cache; llama.cpp does not read "
                "that and takes type_k and type_v."
            )
        hand = dealt(request.lengths, parallelism.data_parallel_size)[0]
        cells = self.cells(hand)
        if self.n_ctx is None and cells.streams > 1:
            found.append(
                "n_ctx follows the longest sequence: one more token of it is one more cell in each "
                f"of {cells.streams} streams; bytes_per_token counts the cell of one."
            )
        return (*found, *differences(cells, model, hand))


_DEEPSEEK4 = "compressed_attention"
_LIMITS = (
    ("n_ctx", MAX_CONTEXT),
    ("n_seq_max", MAX_SEQUENCES),
    ("n_batch", MAX_CONTEXT),
)
