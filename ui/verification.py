"""An answer → what identifies its checks, the jobs that do them, and the same as a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calculator.scenario import Scenario
from calculator.verify.jobs import METHODS, Job, Method, job_of
from ui import pasted
from ui.answer import Answer
from ui.runs import Key

MEASURED = ("context", "sequences", "encoder_context")
"""Options that say how many tokens a configuration without a rule is measured with."""


def key_of(shown: Answer, config: str) -> Key:
    """Equal for scenarios whose checks are the same: a device to buy does not change them."""
    asked = shown.asked
    return (asked.model, asked.request, asked.engine, asked.parallelism, config)


def job_for(
    shown: Answer, config: Mapping[str, Any], method: Method, more: Mapping[str, Any]
) -> Job:
    """A configuration that was brought is run as it is, not rebuilt from the model."""
    published = config if method == "real-model" else None
    return job_of(shown.asked, method, config=published, **more)


def measured_job(options: dict[str, str], config: dict[str, Any], more: dict[str, Any]) -> Job:
    """Measure a configuration that no rule reads."""
    told = {name: options[name] for name in MEASURED if name in options}
    return Job(method="real-model", options=told, config=config, **more)


def command(asked: Scenario) -> str:
    """The checks as a person without this page runs them."""
    text, name = asked.command("verify"), dict(asked.options)["model"]
    if name in pasted.SLOTS:
        text = text.replace(name, pasted.file_name(name))
    return "\n".join(f"{text} --method {method}" for method in METHODS)
