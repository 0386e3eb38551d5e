"""Random values that only one architecture has, or that have to fit together in its own way."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Values = dict[str, Any]
Shape = Callable[[Values, Random], None]


def some_of_each(kinds: list[str], layers: int, rng: Random) -> list[str]:
    """A random pattern with at least one layer of each kind, as far as there are layers."""
    pattern = [*kinds[:layers], *(rng.choice(kinds) for _ in range(layers - len(kinds)))]
    rng.shuffle(pattern)
    return pattern


def mamba2_sizes(heads: str, head_dim: str, groups: str, expand: str) -> Shape:
    """heads × head_dim = expand × hidden_size, and groups that divide the heads."""

    def shape(values: Values, rng: Random) -> None:
        values[head_dim] = rng.choice((8, 16, 32))
        values[expand] = rng.choice((1, 2))
        width = values[expand] * values["hidden_size"]
        if width % values[head_dim]:
            values[head_dim] = 16
        values[heads] = width // values[head_dim]
        values[groups] = rng.choice([g for g in (1, 2, 4) if values[heads] % g == 0])

    return shape


def hybrid(names: str, kinds: list[str]) -> Shape:
    """A list of layer kinds under the key `names`."""

    def shape(values: Values, rng: Random) -> None:
        values[names] = some_of_each(kinds, values["num_hidden_layers"], rng)

    return shape


def both(*parts: Shape) -> Shape:
    def shape(values: Values, rng: Random) -> None:
        for part in parts:
            part(values, rng)

    return shape


def fixed(**values_of_type: Any) -> Shape:
    """Values that hold for every shape of the type."""

    def shape(values: Values, rng: Random) -> None:
        values.update(values_of_type)

    return shape


MAMBA2_FAMILY = mamba2_sizes("mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_expand")


def delta_heads(values: Values, rng: Random) -> None:
    """Value heads are a multiple of key heads."""
    values["linear_num_key_heads"] = rng.choice((1, 2, 4))
    values["linear_num_value_heads"] = values["linear_num_key_heads"] * rng.choice((1, 2, 3))


def bamba(values: Values, rng: Random) -> None:
    MAMBA2_FAMILY(values, rng)
    layers = values["num_hidden_layers"]
    values["attn_layer_indices"] = sorted(rng.sample(range(layers), rng.randint(1, layers)))


def falcon_h1(values: Values, rng: Random) -> None:
    MAMBA2_FAMILY(values, rng)
    values["mamba_d_ssm"] = values["mamba_n_heads"] * values["mamba_d_head"]


def jamba(values: Values, rng: Random) -> None:
    values["attn_layer_period"] = rng.randint(1, values["num_hidden_layers"])
    values["attn_layer_offset"] = rng.randrange(values["attn_layer_period"])
    values["mamba_expand"] = rng.choice((1, 2))


def mamba1(values: Values, rng: Random) -> None:
    values["expand"] = rng.choice((1, 2, 3))
    values.pop("intermediate_size", None)


def nemotron_h(values: Values, rng: Random) -> None:
    pattern = some_of_each(
        ["linear_attention", "full_attention", "moe", "mlp"], rng.randint(3, 8), rng
    )
    if "full_attention" not in pattern:
        pattern[0] = "full_attention"
    values["layers_block_type"] = pattern
    values.pop("num_hidden_layers", None)
    values["n_groups"] = rng.choice((1, 2))
    values["mamba_num_heads"] = values["n_groups"] * rng.choice((2, 3, 4))
    values["mamba_head_dim"] = rng.choice((8, 16, 32))


def gpt_neo(values: Values, rng: Random) -> None:
    repeats = rng.randint(1, 3)
    kinds = rng.choice((["global", "local"], ["global"], ["local", "global", "global"]))
    values["attention_types"] = [[kinds, repeats]]
    values["num_layers"] = len(kinds) * repeats
    values["window_size"] = rng.randint(2, 40)


def shared_kv(values: Values, rng: Random) -> None:
    """The last layers reuse the keys of the last layer of their kind that has its own."""
    layers = max(values["num_hidden_layers"], 4)
    values["num_hidden_layers"] = layers
    values["num_kv_shared_layers"] = rng.randint(0, layers - 2)
    own = layers - values["num_kv_shared_layers"]
    kinds = ["sliding_attention", "full_attention"]
    last = "full_attention"
    start = some_of_each(kinds, own, rng)
    rest = [rng.choice(kinds) for _ in range(layers - own)]
    values["layer_types"] = [*start, *rest]
    values["layer_types"][-1] = last


def gemma4(values: Values, rng: Random) -> None:
    shared_kv(values, rng)
    values["hidden_size_per_layer_input"] = 16
    values["global_head_dim"] = rng.choice((32, 64, 96))
    if rng.random() < 0.5:
        values["attention_k_eq_v"] = True
        values["num_global_key_value_heads"] = rng.choice((1, values["num_key_value_heads"]))


def zamba(values: Values, rng: Random) -> None:
    kinds = ["linear_attention", "linear_attention", "hybrid"]
    values["num_hidden_layers"] = rng.randint(6, 9)
    values["layers_block_type"] = (kinds * 3)[: values["num_hidden_layers"]]
    values["attention_hidden_size"] = 2 * values["hidden_size"]
    values["attention_head_dim"] = 2 * values["hidden_size"] // values["num_attention_heads"]
    values["n_mamba_heads"] = rng.choice((1, 2))
    values["mamba_expand"] = 2


def zamba2(values: Values, rng: Random) -> None:
    zamba(values, rng)
    values.pop("attention_hidden_size")
    values.pop("attention_head_dim")
    values["n_mamba_heads"] = rng.choice((2, 4))
    values["mamba_ngroups"] = rng.choice((1, 2))
    values["mamba_headdim"] = 2 * values["hidden_size"] // values["n_mamba_heads"]


def zaya(values: Values, rng: Random) -> None:
    values["num_experts_per_tok"] = 1
    values["cca_time0"], values["cca_time1"] = rng.randint(2, 4), rng.randint(2, 4)


def xlstm(values: Values, rng: Random) -> None:
    heads = rng.choice((2, 4))
    values["num_heads"] = heads
    values["hidden_size"] = values["embedding_dim"] = heads * rng.choice((32, 64))
    values["qk_dim_factor"] = rng.choice((0.5, 1.0))
    values["num_hidden_layers"] = values["num_blocks"] = rng.randint(1, 5)


def xlnet(values: Values, rng: Random) -> None:
    values["d_head"] = values["d_model"] // values["n_head"]
    values["mem_len"] = rng.choice((None, 5, 30))


def reformer(values: Values, rng: Random) -> None:
    kinds = ["local", "lsh"]
    values["attn_layers"] = [rng.choice(kinds) for _ in range(rng.randint(2, 5))]
    values["attention_head_size"] = 16
    values["num_hidden_layers"] = len(values["attn_layers"])
    values["is_decoder"] = True
    values["hidden_size"] = 16 * values["num_attention_heads"]
    values["axial_pos_embds_dim"] = [values["hidden_size"] // 4, values["hidden_size"] * 3 // 4]


def rope_of_each_kind(values: Values, rng: Random) -> None:
    kinds = ("full_attention", "sliding_attention")
    rope = {"rope_type": "default", "rope_theta": 10000.0}
    values["rope_parameters"] = {kind: dict(rope) for kind in kinds}


def dbrx(values: Values, rng: Random) -> None:
    heads = values["n_heads"]
    kv_heads = rng.choice([n for n in range(1, heads + 1) if heads % n == 0])
    values["attn_config"] = {"kv_n_heads": kv_heads, "rope_theta": 5e5, "clip_qkv": 8}


def deepseek_v4(values: Values, rng: Random) -> None:
    kinds = ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"]
    values["layer_types"] = some_of_each(kinds, values["num_hidden_layers"], rng)
    values["num_key_value_heads"] = 1
    values["compress_rates"] = {
        "compressed_sparse_attention": rng.randint(2, 6),
        "heavily_compressed_attention": rng.randint(3, 20),
    }


def inkling(values: Values, rng: Random) -> None:
    values["swa_num_attention_heads"] = values["num_attention_heads"]
    values["swa_num_key_value_heads"] = rng.choice((1, values["num_attention_heads"]))
    values["swa_head_dim"] = rng.choice((16, 32, 48))
    values["sliding_window_size"] = rng.randint(2, 40)


def minimax_m3(values: Values, rng: Random) -> None:
    kinds = ["full_attention", "minimax_m3_sparse"]
    values["layer_types"] = some_of_each(kinds, values["num_hidden_layers"], rng)


def mllama(values: Values, rng: Random) -> None:
    layers = values["num_hidden_layers"]
    values["cross_attention_layers"] = sorted(rng.sample(range(layers), rng.randint(1, layers - 1)))


def equal_halves(values: Values, rng: Random) -> None:
    """The class makes as many cache layers as the encoder has."""
    values["num_encoder_layers"] = values["num_decoder_layers"]


def longcat_flash(values: Values, rng: Random) -> None:
    values["head_dim"] = values["qk_rope_head_dim"]


def qwen4(values: Values, rng: Random) -> None:
    delta_heads(values, rng)
    values["indexer_head_dim"] = values.get("head_dim", 256) + rng.choice((0, 16))


def helium(values: Values, rng: Random) -> None:
    """Its output projection is square."""
    values["head_dim"] = values["hidden_size"] // values["num_attention_heads"]
    values["hidden_size"] = values["head_dim"] * values["num_attention_heads"]


def dots3(values: Values, rng: Random) -> None:
    values["num_key_value_heads"] = values["num_attention_heads"]
    values["hidden_size"] = 5120  # the adapters of the other modalities end there


OWN: dict[str, Shape] = {
    "bailing_hybrid": fixed(head_dim=32, n_group=1, topk_group=1),
    "bamba": bamba,
    "codegen": lambda values, rng: values.update(
        n_head=4, n_embd=4 * rng.choice((32, 64)), rotary_dim=16
    ),
    "cohere_compass_text": rope_of_each_kind,
    "dbrx": dbrx,
    "deepseek_v2": fixed(num_experts_per_tok=2, moe_intermediate_size=64),
    "deepseek_v4": deepseek_v4,
    "dots3_note": dots3,
    "dots3_note_text": dots3,
    "falcon_h1": falcon_h1,
    "falcon_mamba": mamba1,
    "gemma3n": shared_kv,
    "gemma3n_text": shared_kv,
    "gemma4": gemma4,
    "gemma4_text": gemma4,
    "gemma4_unified": gemma4,
    "gemma4_unified_text": gemma4,
    "gpt_neo": gpt_neo,
    "gptj": fixed(rotary_dim=16),
    "granitemoehybrid": both(
        MAMBA2_FAMILY, hybrid("layer_types", ["linear_attention", "full_attention"])
    ),
    "helium": helium,
    "inkling2_text": inkling,
    "inkling_text": inkling,
    "jamba": jamba,
    "lfm2_moe": hybrid("layer_types", ["conv", "full_attention"]),
    "longcat_flash": longcat_flash,
    "mamba": mamba1,
    "mamba2": mamba2_sizes("num_heads", "head_dim", "n_groups", "expand"),
    "minimax": hybrid("layer_types", ["linear_attention", "full_attention"]),
    "minimax_m3_vl_text": minimax_m3,
    "mllama": mllama,
    "nemotron_h": nemotron_h,
    "olmo_hybrid": both(delta_heads, hybrid("layer_types", ["linear_attention", "full_attention"])),
    "prophetnet": equal_halves,
    "qwen3_5": delta_heads,
    "qwen3_5_moe": delta_heads,
    "qwen3_5_moe_text": delta_heads,
    "qwen3_5_text": delta_heads,
    "qwen3_next": delta_heads,
    "qwen4_exp": qwen4,
    "qwen4_exp_text": qwen4,
    "reformer": reformer,
    "xlnet": xlnet,
    "xlstm": xlstm,
    "zamba": zamba,
    "zamba2": zamba2,
    "zaya": zaya,
}
