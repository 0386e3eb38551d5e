"""Verify: the prediction beside real tensors, transformers' own code, and a cache at work."""

import json

import streamlit as st

from calculator.errors import CalculatorError, UnsupportedModel
from calculator.verify.switch import is_local, refusal
from ui import runs
from ui.answer import answer
from ui.blocks import proof, unpredicted
from ui.blocks.checks import CHECKS, show_checks, show_settings
from ui.blocks.generated import show_generated
from ui.guard import guarded
from ui.markup import esc, show
from ui.pasted import text as pasted_text
from ui.scenario import chosen
from ui.verification import command, config_of, job_for, key_of


@guarded
def page() -> None:
    options, config = chosen(), pasted_text()
    off = refusal(is_local=is_local(st.context.ip_address, st.context.headers.to_dict()))
    try:
        shown = answer(tuple(options.items()), config)
    except CalculatorError as error:
        if isinstance(error, UnsupportedModel) and config_of(options, config):
            unpredicted.show(error, options, config, off)
        else:
            show(
                '<span class="tag not" role="status">✕ Nothing to check</span>',
                f'<h1 class="sentence refused">{esc(error)}</h1>',
            )
        return
    key = key_of(shown, config)
    runs.cancel_others(key)
    results = {c.method: r for c in CHECKS if (r := runs.result(c.method, key))}
    show(proof.tag_html(results), proof.sentence_html(shown, results))
    if off:
        show(f'<div class="notice" role="status">{esc(off)}</div>')
    else:
        show_checks(key, lambda method, more: job_for(shown, options, config, method, more))
        show_settings()
    show(proof.figures_html(shown, results))
    _show_results(results, shown.fp.model.id or "model")
    show(proof.command_html(command(shown.asked)))


def _show_results(results: dict[str, dict[str, object]], model: str) -> None:
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
            "Result as JSON", json.dumps(found, indent=1, ensure_ascii=False),
            f"verify-{method}-{model}.json".replace("/", "-"), "application/json",
            key=f"json_{method}", on_click="ignore", type="tertiary",
            icon=":material/download:",
        )  # fmt: skip


page()
