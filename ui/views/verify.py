"""Verify: the prediction beside real tensors, transformers' own code, and a cache at work."""

import json
from typing import Any

import streamlit as st

from calculator.errors import CalculatorError
from calculator.verify.switch import is_local, refusal
from ui import runs
from ui.announce import announce
from ui.answer import Answer, answer
from ui.blocks import layer_table, proof, refused, ways
from ui.blocks.checks import CHECKS, aloud, in_a_word, show_checks, show_settings
from ui.blocks.generated import show_generated
from ui.guard import guarded
from ui.markup import esc, show
from ui.pasted import text as pasted_text
from ui.scenario import chosen
from ui.verification import command, job_for, key_of

NAMES = {"allocate": "allocation", "real-model": "transformers", "generate": "generation"}


@guarded
def page() -> None:
    if layer_table.is_open():
        layer_table.show()
        return
    options, given = chosen(), pasted_text()
    try:
        shown = answer(tuple(options.items()), given)
    except CalculatorError as error:
        refused.show(error, options)
        if found := runs.result("real-model", ways.key_of(options, refused.config_of(options))):
            _show_results({"real-model": found}, "refused")
        return
    key = key_of(shown, given)
    runs.cancel_others(key)
    results = {c.method: r for c in CHECKS if (r := runs.result(c.method, key))}
    show(proof.tag_html(results, in_a_word(key)), proof.sentence_html(shown, results))
    _show_checks(shown, key, refused.config_of(options))
    show(proof.figures_html(shown, results))
    _show_results(results, shown.fp.model.id or "model")
    show(proof.command_html(command(shown.asked)))
    announce(aloud(key))


def _show_checks(shown: Answer, key: runs.Key, config: dict[str, Any]) -> None:
    """The buttons, or why this server has none."""
    headers = st.context.headers.to_dict()
    if off := refusal(is_local=is_local(st.context.ip_address, headers)):
        show(f'<div class="notice" role="status">{esc(off)}</div>')
        return
    show_checks(key, lambda method, more: job_for(shown, config, method, more))
    show_settings()


def _show_results(results: dict[str, dict[str, Any]], model: str) -> None:
    """Each check's own section, with its result as JSON."""
    for method, found in results.items():
        st.space("small")
        if method == "generate":
            show_generated(found)
        elif method == "allocate":
            show(proof.allocated_html(found))
        else:
            show(proof.real_model_html(found))
        st.download_button(
            f"Result as JSON: {NAMES[method]}", json.dumps(found, indent=1, ensure_ascii=False),
            f"verify-{method}-{model}.json".replace("/", "-"), "application/json",
            key=f"json_{method}", on_click="ignore", type="tertiary",
            icon=":material/download:",
        )  # fmt: skip


page()
