"""Widgets ↔ options: the inputs every page shares, each under its option's name in the URL."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calculator.catalog import load_named, preset_paths
from calculator.devices import devices
from calculator.dtypes import CACHE_DTYPES, WEIGHT_DTYPES
from calculator.engines import ENGINES
from calculator.errors import CalculatorError, InvalidInput
from calculator.scenario import scenario
from calculator.units import parse_count, parse_tokens
from ui import hub, pasted
from ui.answer import flags_of, model_of, overhead_hint, share_hint

NONE = "none"
DEFAULTS = {
    "model": "llama-3.1-8b", "context": "8192", "sequences": "1", "kv_dtype": "auto",
    "weights_dtype": "auto", "device": "h100-sxm-80gb", "devices": "1", "engine": "vllm",
}  # fmt: skip
OPTIONAL = (
    "overhead", "share", "weights_bytes", "encoder_context", "shared_prefix", "set", "pp", "dp",
    "dcp",
)  # fmt: skip
NAMES = (*DEFAULTS, *OPTIONAL)
UNCHECKED = (("kv_dtype", "auto"), ("weights_dtype", "auto"), ("device", NONE))
LIMITS = {"sequences": 2**31, "devices": 2**14, "pp": 2**10, "dp": 2**10, "dcp": 2**10}
PARALLEL = ("pp", "dp", "dcp")
FLAGS = (*PARALLEL, "shared_prefix", "set")
LABELS = {
    "context": "Context", "sequences": "Sequences at once", "kv_dtype": "Cache type",
    "weights_dtype": "Weights type", "weights_bytes": "Weights, size", "device": "Device",
    "devices": "Number of devices", "engine": "Engine", "encoder_context": "Encoder tokens",
    "overhead": "Other needs of a device", "share": "Share of memory", "pp": "Pipeline parallel",
    "dp": "Data parallel", "dcp": "Decode-context parallel", "shared_prefix": "Shared prefix",
    "set": "Flags",
}  # fmt: skip
"""What the inputs are called on the page."""
QUICK = {"4K": "4096", "8K": "8192", "32K": "32768", "128K": "131072", "max": "max"}


def models() -> list[str]:
    """What can be chosen: every preset, and what was brought in this session."""
    return [*pasted.names(), *_preset_ids()]


_preset_ids = cache(lambda: sorted(preset_paths()))


def chosen() -> dict[str, str]:
    """The options as they stand in the widgets, or in the URL where there are none."""
    given = st.query_params if st.context.is_embedded else st.session_state
    source = given.to_dict()  # at once: one by one, each that is missing costs an exception
    found = {}
    for name in NAMES:
        value = source.get(name)
        if value is None or value == "":
            value = DEFAULTS.get(name)
        if _is_said(name, value):
            found[name] = str(value).strip()
    return found


def _is_said(name: str, value: object) -> bool:
    """Whether an input holds more than nothing; one rank is as good as none."""
    return value not in (None, "") and not (name in PARALLEL and str(value) == "1")


def inputs() -> None:
    """The seven inputs, and the rest folded away."""
    ids = models()
    st.selectbox(
        "Model", ids, index=ids.index(DEFAULTS["model"]), key="model", bind="query-params",
        accept_new_options=True,
        help="A preset by its id: type to search. Or org/name, or an address, on the Hugging Face "
        "Hub. Any other model: paste its config.json below.",
    )  # fmt: skip
    pasted.popover()
    model = _model()
    _context()
    if model is not None and model.has_encoder:
        st.text_input(
            "Encoder tokens", "1500", key="encoder_context", bind="query-params",
            help="Tokens of the encoder's output; each layer keeps keys and values of them.",
        )  # fmt: skip
    st.number_input(
        "Sequences at once", 1, LIMITS["sequences"], 1, 1, key="sequences", bind="query-params"
    )  # fmt: skip
    pairs = st.container(horizontal=True)
    pairs.selectbox("Cache type", ["auto", *CACHE_DTYPES], key="kv_dtype", bind="query-params")
    pairs.selectbox(
        "Weights type", ["auto", *WEIGHT_DTYPES], key="weights_dtype", bind="query-params",
    )  # fmt: skip
    if model is not None and model.num_parameters is None and model.weights_bytes is None:
        st.text_input(
            "Weights, size", key="weights_bytes", bind="query-params", placeholder="such as 15 GiB",
            help="The number of parameters is not known, so say how large the weights are.",
        )  # fmt: skip
    _devices(pairs)
    engines = list(ENGINES)
    st.selectbox(
        "Engine", engines, index=engines.index(DEFAULTS["engine"]), key="engine",
        bind="query-params",
        help="What the cache is counted for: an engine with its own rules, or ideal, the bytes of "
        "the formula alone.",
    )  # fmt: skip
    given = st.query_params.to_dict() | st.session_state.to_dict()
    _engine_flags(given)
    _other_needs(given)


def _model() -> object:
    name = str(st.session_state.get("model"))
    try:
        with hub.waiting_for(name):
            return model_of(name, pasted.text())
    except CalculatorError:
        return None


def _context() -> None:
    st.text_input(
        "Context, tokens", DEFAULTS["context"], key="context", bind="query-params",
        help="Tokens of the longest sequence, prompt and answer together; 8192, 8k and 128k are "
        "understood, k is 1024.",
    )  # fmt: skip
    typed = str(st.session_state.get("context", "")).strip().lower()
    same = {"4k": "4K", "8k": "8K", "32k": "32K", "128k": "128K"}
    shown = same.get(typed) or next((k for k, v in QUICK.items() if v == typed), None)
    st.session_state["context_quick"] = shown
    st.segmented_control(
        "Context, common lengths", list(QUICK), key="context_quick", on_change=_take_quick,
        width="stretch", wrap=False, label_visibility="collapsed",
    )  # fmt: skip


def _take_quick() -> None:
    picked = st.session_state["context_quick"]
    if picked:
        st.session_state["context"] = QUICK[picked]


def _devices(pairs: DeltaGenerator) -> None:
    ids = [device.id for device in devices()]
    pairs.selectbox(
        "Device", [*ids, NONE], index=ids.index(DEFAULTS["device"]), key="device",
        bind="query-params", accept_new_options=True,
    )  # fmt: skip
    pairs.number_input(
        "How many", 1, LIMITS["devices"], 1, 1, key="devices", bind="query-params", width=72
    )


def _is_needed(is_open: bool | None, given: dict[str, Any], *names: str) -> bool:
    """Whether a fold's widgets must be there: it is open, or one of them says something."""
    return bool(is_open) or any(_is_said(name, given.get(name)) for name in names)


def _engine_flags(given: dict[str, Any]) -> None:
    if "engine_flags" not in given:  # a link that sets one shows it
        st.session_state["engine_flags"] = any(name in st.query_params for name in FLAGS)
    with st.expander("Engine flags", type="compact", key="engine_flags", on_change="rerun") as fold:
        if not _is_needed(fold.open, given, *FLAGS):
            return
        left, right = st.columns(2)
        left.number_input("Pipeline parallel", 1, LIMITS["pp"], 1, 1, key="pp", bind="query-params")
        right.number_input("Data parallel", 1, LIMITS["dp"], 1, 1, key="dp", bind="query-params")
        st.caption("Tensor parallel is the number of devices ÷ both.")
        st.number_input(
            "Decode-context parallel", 1, LIMITS["dcp"], 1, 1, key="dcp", bind="query-params",
            help="Tensor ranks that share a sequence's tokens instead of keeping copies of them; "
            "it divides tensor parallel.",
        )  # fmt: skip
        st.text_input(
            "Shared prefix, tokens", key="shared_prefix", bind="query-params", placeholder="0",
            help="Tokens at the start that are the same in all sequences and stored once.",
        )  # fmt: skip
        if flags := flags_of(str(st.session_state.get("engine"))):
            st.text_input(
                "Flags", key="set", bind="query-params", placeholder=f"{flags[0]}=…",
                help=f"FLAG=VALUE, several with commas: {', '.join(flags)}.",
            )  # fmt: skip


def _other_needs(given: dict[str, Any]) -> None:
    with st.expander(
        "Other needs and share", type="compact", key="other_needs", on_change="rerun"
    ) as fold:
        if not _is_needed(fold.open, given, "overhead", "share"):
            return
        st.text_input(
            "Other needs of a device", key="overhead", bind="query-params",
            placeholder=overhead_hint(str(st.session_state.get("device"))),
            help="Activations, graphs, runtime: LOW..HIGH. An estimate; left empty, it is the "
            "5th to 95th percentile of 120 public start-up logs for devices of this size.",
        )  # fmt: skip
        st.text_input(
            "Share of memory", key="share", bind="query-params",
            placeholder=share_hint(str(st.session_state.get("device"))),
            help="What the engine may use of the device's memory (--gpu-memory-utilization). Left "
            "empty, it is vLLM's 0.92, or what the system lends where that is less.",
        )  # fmt: skip


def problem_with(name: str, text: str) -> tuple[str, str]:
    """(sentence on what is wrong, canonical text) of one option in a link; one of them is empty."""
    options = {"model": DEFAULTS["model"], name: text}
    try:
        if name == "model":
            # one that was brought, or is the Hub's, is shown as refused where it is refused
            if text in pasted.SLOTS and not pasted.text_of(text):
                raise InvalidInput(
                    f"model is {text}, and the link does not hold what was brought; bring it again."
                )
            if not pasted.text_of(text) and not hub.is_hub_name(text):
                load_named(text)
        elif name in LIMITS:
            text = str(parse_count(name, text, at_most=LIMITS[name]))
        elif name == "shared_prefix":  # how long it may be depends on the context
            parse_tokens(name, text if text != "0" else 1)
        elif (name, text) not in UNCHECKED and name != "set":  # flags depend on the engine
            options |= {"device": DEFAULTS["device"]} if name != "device" else {}
            asked = scenario(options)
            if (
                name == "device"
                and asked.device
                and asked.device.memory_basis != "typed by the user"
            ):
                text = asked.device.id
            if name == "kv_dtype":
                text = str(asked.request.key_dtype)
            if name == "weights_dtype":
                asked.capacity()
    except CalculatorError as error:
        return str(error), ""
    return "", text
