"""State-space models without attention."""

from __future__ import annotations

from calculator.errors import InvalidInput
from calculator.importers.hf_config.layers import LINEAR, Layers, every_layer
from calculator.importers.hf_config.reader import Reader
from calculator.layers.recurrent import Mamba1, Mamba2


def mamba(r: Reader) -> Layers:
    """Mamba-1: the state and the convolution of expand × hidden_size channels."""
    waive_kernel_choices(r)
    num_layers = r.num_hidden_layers()
    inner = r.count("expand") * r.count("hidden_size", "d_model")
    r.derived("intermediate_size", "expand × hidden_size")
    cache = Mamba1("mamba1", inner, r.count("state_size", "d_state"), r.count("conv_kernel"))
    return every_layer(LINEAR, num_layers, cache)


def mamba2(r: Reader) -> Layers:
    """Mamba-2: num_heads × head_dim channels, which must be expand × hidden_size."""
    waive_kernel_choices(r)
    num_layers = r.num_hidden_layers()
    heads, head_dim = r.count("num_heads"), r.count("head_dim")
    check_product(r, heads * head_dim, r.count("expand") * r.count("hidden_size"))
    cache = Mamba2(
        "mamba2",
        heads,
        head_dim,
        r.count("state_size"),
        r.count("n_groups"),
        r.count("conv_kernel"),
    )
    return every_layer(LINEAR, num_layers, cache)


def waive_kernel_choices(r: Reader) -> None:
    """Which kernel computes the scan, in steps of what size: not what it keeps."""
    r.waive(
        "time_step_rank", "use_mambapy", "use_mamba_kernels", "use_conv_bias", "use_bias",
        "chunk_size", "mamba_chunk_size", "mamba_dt_rank", "mamba_conv_bias", "mamba_proj_bias",
        "mamba_dt_min", "mamba_dt_max", "mamba_dt_limit", "mamba_dt_init_floor", "mamba_dt_init",
        "mamba_hidden_act", "hidden_mamba_act", "mamba_norm_before_gate", "mamba_rms_norm",
        "mamba_ssm_cache_dtype", "use_mem_eff_path", "time_step_limit", "time_step_min",
        "time_step_max", "time_step_floor", "rescale_prenorm_residual", "mamba_use_mlp",
        "mamba_step", "mamba_outputs", "num_logits_to_keep", "d_inner", "ssm_cfg",
        "intermediate_size",
    )  # fmt: skip


def check_product(r: Reader, heads_times_width: int, inner: int) -> None:
    if heads_times_width != inner:
        raise InvalidInput(
            f"{r.prefix}head_dim × num_heads is {heads_times_width:,}; "
            f"expected expand × hidden_size, {inner:,}.",
            field="head_dim",
        )
