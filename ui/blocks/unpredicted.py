"""A configuration that the importer refuses → its cache measured, and called nothing else."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from calculator.errors import UnsupportedModel
from ui import markup, runs
from ui.blocks import proof
from ui.blocks.checks import CHECKS, show_checks
from ui.markup import STRONG, esc, marked
from ui.verification import MEASURED, config_of, measured_job

REAL = tuple(check for check in CHECKS if check.method == "real-model")


def show(error: UnsupportedModel, options: dict[str, str], config: str, off: str | None) -> None:
    """One check instead of three; its figure stands beside no prediction."""
    given = config_of(options, config)
    assert given is not None
    key: runs.Key = ("no rule", config, *(options.get(name) for name in MEASURED))
    runs.cancel_others(key)
    found = runs.result("real-model", key)
    markup.show(*(_measured(found) if found else _refused(error)))
    if off:
        markup.show(f'<div class="notice" role="status">{esc(off)}</div>')
    else:
        show_checks(key, lambda method, more: measured_job(options, given, more), REAL)
    if found:
        markup.show(proof.real_model_html(found))
        st.download_button(
            "Result as JSON", json.dumps(found, indent=1), "verify-real-model.json",
            "application/json", key="json_real-model", on_click="ignore", type="tertiary",
            icon=":material/download:",
        )  # fmt: skip


def _refused(error: UnsupportedModel) -> tuple[str, str]:
    return (
        '<span class="tag not" role="status">✕ No rule</span>',
        f'<h1 class="sentence refused">{esc(error)}</h1>'
        '<p class="under">Nothing is predicted without a rule. transformers’ own code can still be '
        "run without weights, and what it keeps measured.</p>",
    )


def _measured(found: dict[str, Any]) -> tuple[str, str]:
    size = STRONG.format(f"{found['measured_bytes']:,} B")
    text = (
        f"{found['model']['model_type']}, {found['seq_len']:,} tokens × {found['batch_size']:,}: "
        f"{size}, measured from transformers {found['versions']['transformers']}, not from a rule."
    )
    return (
        '<span class="tag marginal" role="status">≈ Measured, no rule</span>',
        f'<h1 class="sentence">{marked(text)}</h1>',
    )
