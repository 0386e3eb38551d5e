"""An answer → what identifies its checks, the jobs that do them, and the same as a command."""

from __future__ import annotations

from typing import Any

from calculator.errors import CalculatorError
from calculator.scenario import Scenario
from calculator.verify.jobs import Job, Method, job_of
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
    shown: Answer, options: dict[str, str], config: str, method: Method, more: dict[str, Any]
) -> Job:
    """A pasted configuration is run as it was pasted, not rebuilt from the model."""
    published = config_of(options, config) if method == "real-model" else None
    return job_of(shown.asked, method, config=published, **more)


def config_of(options: dict[str, str], config: str) -> dict[str, Any] | None:
    """The pasted configuration of transformers, if one is chosen."""
    if options["model"] != pasted.NAME or not config:
        return None
    from calculator.importers.schema import parse_json

    try:
        found = parse_json(config)
    except CalculatorError:  # a GGUF header is no configuration
        return None
    return found if "model_type" in found else None


def measured_job(options: dict[str, str], config: dict[str, Any], more: dict[str, Any]) -> Job:
    """Measure a configuration that no rule reads."""
    told = {name: options[name] for name in MEASURED if name in options}
    return Job(method="real-model", options=told, config=config, **more)


def command(asked: Scenario) -> str:
    text = asked.command("verify").replace(pasted.NAME, "config.json")
    return f"{text} --method real-model"
