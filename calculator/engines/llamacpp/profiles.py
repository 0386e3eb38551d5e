"""Front ends of llama.cpp → the options they start it with, each with where that is written."""

from __future__ import annotations

from typing import NamedTuple


class Profile(NamedTuple):
    """Defaults of a front end; `n_seq_max` None means as many as the request has sequences.

    `n_batch` None means the same as `n_ubatch`.
    """

    n_seq_max: int | None = None
    n_batch: int | None = 2048
    swa_full: bool = False
    kv_unified: bool = False
    basis: str = ""


PROFILES = {
    None: Profile(basis="llama-server with -np (common/common.h)"),
    "server-auto": Profile(
        n_seq_max=4,
        kv_unified=True,
        basis="llama-server without -np, 4 sequences in one pool (tools/server/server.cpp)",
    ),
    "library": Profile(
        swa_full=True,
        basis="the library itself, swa_full on (llama-context.cpp:llama_context_default_params)",
    ),
    "ollama": Profile(
        n_batch=None,
        basis="ollama, which starts llama-server with -np and -b equal to -ub (fb30760996)",
    ),
    "lm-studio": Profile(
        n_seq_max=4,
        n_batch=None,
        kv_unified=True,
        basis="LM Studio, which is not open: 4 concurrent predictions "
        "(lmstudio.ai/docs/app/advanced/parallel-requests), taken as one pool like llama-server's",
    ),
}
