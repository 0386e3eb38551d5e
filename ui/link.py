"""The URL ↔ options: bad parameters become sentences, and a copied link says everything."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

import streamlit as st

from calculator.capacity import Capacity
from calculator.errors import CalculatorError, shown
from calculator.scenario import LINK_VERSION, parse_range
from calculator.units import format_gib, parse_count
from ui import pasted
from ui.answer import overhead_hint, share_hint
from ui.scenario import DEFAULTS, LIMITS, NAMES, problem_with

GIVEN = "link_given"
OTHERS = ("embed", "embed_options", "v", pasted.PARAMETER)


def read_link() -> None:
    """On a session's first run: drop what cannot be used, and remember a sentence for each."""
    if "link_notes" in st.session_state:
        return
    notes, changed = [], False
    if problem := _version_problem(st.query_params.get("v", str(LINK_VERSION))):
        notes.append(problem)
    if code := st.query_params.get(pasted.PARAMETER):
        try:
            pasted.take_from_link(code)
        except CalculatorError as error:
            notes.append(str(error))
    if len(flags := st.query_params.get_all("set")) > 1:  # one each, as the API takes them
        st.query_params["set"] = ",".join(flags)
        changed = True
    if ranks := st.query_params.get("tp"):
        notes += _take_tensor_ranks(ranks)
        changed = True
    for name in list(st.query_params):
        if name in OTHERS:
            continue
        if name not in NAMES:
            notes.append(f"{shown(name)} is no option of this page; it is ignored.")
            continue
        given = st.query_params.get_all(name)
        problem, text = problem_with(name, given[-1]) if len(given) == 1 else ("given twice", "")
        if problem:
            if len(given) > 1:
                problem = f"{name} stands in the link {len(given)} times."
            default = DEFAULTS.get(name)
            instead = f"The default is used: {default}." if default else "It is ignored."
            notes.append(f"{problem} {instead}")
            del st.query_params[name]
            changed = True
        elif text != given[0]:
            st.query_params[name] = text
            changed = True
    changed |= _leave_to_the_device()
    st.session_state["link_notes"] = notes
    given = [name for name in NAMES if name in st.query_params]
    st.session_state[GIVEN] = {name: st.query_params[name] for name in given}
    if changed:
        st.rerun()  # widgets take their first values from the query the run started with


def _leave_to_the_device() -> bool:
    """What a link says of its device's own is not typed in: another device brings its own."""
    device, told = st.query_params.get("device", DEFAULTS["device"]), st.query_params
    hints = {"share": share_hint(device), "overhead": overhead_hint(device).replace(" ", "")}
    own = [name for name, hint in hints.items() if told.get(name) == hint]
    for name in own:
        del told[name]
    return bool(own)


def _take_tensor_ranks(text: str) -> list[str]:
    """Tensor ranks in a link → devices, which the page asks for; a sentence where they disagree."""
    del st.query_params["tp"]
    try:
        ranks = parse_count("tp", text, at_most=LIMITS["devices"])
        pp, dp = (parse_count(name, st.query_params.get(name, 1)) for name in ("pp", "dp"))
        devices = ranks * pp * dp
        told = parse_count("devices", st.query_params.get("devices", devices))
        if told != devices:
            said = f"tp {ranks:,} × pp {pp:,} × dp {dp:,} in the link is {devices:,} devices"
            return [f"{said}, but devices is {told:,}; tp is ignored."]
    except CalculatorError as error:
        return [f"{error} It is ignored."]
    st.query_params["devices"] = str(devices)
    return []


def hold_across(page: str) -> None:
    """On another page than before, every input is told its value again.

    Who turns the page before the first has arrived has a browser that knows nothing of the link: it
    would send the inputs' defaults with the next rerun, and the address has lost the link by then.
    """
    if st.session_state.get("page", page) != page:
        for name, text in st.session_state.get(GIVEN, {}).items():
            st.session_state.setdefault(name, int(text) if name in LIMITS else text)
        for name in NAMES:
            if name in st.session_state:
                st.session_state[name] = st.session_state[name]
    st.session_state["page"] = page


def arrived() -> None:
    """A run that has drawn everything: what the link gave is in the inputs."""
    st.session_state.pop(GIVEN, None)


def _version_problem(version: str) -> str:
    if version == str(LINK_VERSION):
        return ""
    return (
        f"This link is of version {shown(version)}; this page writes and reads version "
        f"{LINK_VERSION}, so what it shows may differ from what was shared."
    )


def link_query(options: dict[str, str], found: Capacity | None) -> str:
    """Every option, defaults included: a default that changes later must not change the link."""
    told = dict(options)
    if found:
        told.setdefault("share", f"{found.budget.share:g}")
    if found and "overhead" not in told:
        low, high = found.budget.overhead
        text = f"{format_gib(low, 1)}..{format_gib(high, 1)}".replace(" ", "")
        told["overhead"] = (
            text if parse_range("overhead", text) == (low, high) else f"{low}B..{high}B"
        )
    if (brought := pasted.text_of(told["model"])) and (code := pasted.link_code(brought)):
        told[pasted.PARAMETER] = code
    return urlencode([*told.items(), ("v", LINK_VERSION)])


def page_url() -> str:
    """Where this page is served, without query and page name."""
    parts = urlsplit(st.context.url or "http://localhost:8501/")
    path = parts.path.removesuffix("/catalogue").rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}/"
