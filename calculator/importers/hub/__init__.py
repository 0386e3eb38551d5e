"""A model's name on the Hugging Face Hub → ModelSpec, from its config.json or a GGUF header."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import NamedTuple

from calculator.errors import CalculatorError, SourceUnavailable, shown
from calculator.importers.hub.cache import cached_file, keep_file
from calculator.importers.hub.client import Client, Settings, Unreachable, settings
from calculator.importers.hub.names import HubName, parse_name
from calculator.importers.hub.weights import FLOATS, Held, checkpoint_files, held
from calculator.importers.schema import MAX_JSON_BYTES, parse_json
from calculator.model import ModelSpec
from calculator.units import MAX_BYTES, format_gib

CONFIG = "config.json"
# A page asks again with every change of a widget; an outage is asked about again sooner.
REMEMBER_SECONDS, RETRY_SECONDS = 600.0, 20.0
MAX_REMEMBERED = 256


class Repository(NamedTuple):
    """A model at one commit, and the files it has there."""

    commit: str
    files: tuple[str, ...]


_remembered: dict[tuple[Settings, HubName], tuple[float, ModelSpec | CalculatorError]] = {}
_lock = threading.Lock()


def model_from_hub(text: str) -> ModelSpec:
    """The model that `org/name` or a page's address on the Hub names.

    Raises SourceUnavailable, in one sentence, if it is gated, missing, or cannot be read, or if an
    operator has switched the Hub off.
    """
    hub = settings()
    wanted = parse_name(text, hub.endpoint)
    key = (hub, wanted)
    with _lock:
        until, known = _remembered.get(key, (0.0, None))
    if known is not None and time.monotonic() < until:
        if isinstance(known, ModelSpec):
            return known
        raise known
    found: ModelSpec | CalculatorError
    try:
        found = _read(hub, wanted)
    except CalculatorError as error:
        found = error
    seconds = REMEMBER_SECONDS if isinstance(found, ModelSpec) else RETRY_SECONDS
    with _lock:
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        _remembered[key] = (time.monotonic() + seconds, found)
    if isinstance(found, ModelSpec):
        return found
    raise found


def _read(hub: Settings, wanted: HubName) -> ModelSpec:
    client = Client(hub, wanted.name, wanted.revision)
    try:
        repository = _repository(client)
        if wanted.file.endswith(".gguf"):
            from calculator.importers.hub.gguf import model_from_remote_gguf

            return model_from_remote_gguf(client, repository.commit, wanted.file, repository.files)
        data = _config(client, wanted, repository)
        model = _model(hub, wanted, repository.commit, data)
        return _with_weights(client, model, repository)
    except Unreachable as error:
        return _from_cache(hub, wanted, error)
    finally:
        client.close()


def _repository(client: Client) -> Repository:
    try:
        said = json.loads(client.api().body)
        commit = said["sha"]
        files = tuple(str(entry["rfilename"]) for entry in said["siblings"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, CalculatorError):
            raise
        raise SourceUnavailable(
            f"{client.hub.host} gives no list of the files of {client.name}.", field="model"
        ) from None
    if not isinstance(commit, str) or not commit.isalnum() or len(commit) > 64:
        raise SourceUnavailable(
            f"{client.hub.host} names no commit of {client.name}.", field="model"
        )
    return Repository(commit, files)


def _config(client: Client, wanted: HubName, repository: Repository) -> bytes:
    """config.json of a commit, from the cache or the Hub."""
    if CONFIG not in repository.files:
        raise SourceUnavailable(_without_config(client, wanted, repository.files), field="model")
    cached = cached_file(client.hub, wanted.name, repository.commit, CONFIG)
    if cached:
        return cached[0]
    data = client.file(CONFIG, repository.commit, limit=MAX_JSON_BYTES).body
    keep_file(client.hub, wanted.name, wanted.revision, repository.commit, CONFIG, data)
    return data


def _without_config(client: Client, wanted: HubName, files: tuple[str, ...]) -> str:
    """What to do about a repository that has GGUF files alone, or neither."""
    found = sorted(name for name in files if name.endswith(".gguf") and "mmproj" not in name)
    if not found:
        return f"{wanted.name} has neither config.json nor a GGUF file."
    listed = ", ".join(found[:6]) + (f" and {len(found) - 6} more" if len(found) > 6 else "")
    address = f"{client.hub.endpoint}/{wanted.name}/blob/{wanted.revision}/{found[0]}"
    return (
        f"{wanted.name} has no config.json but GGUF files: {listed}; give the address of one, such "
        f"as {address}."
    )


def _model(hub: Settings, wanted: HubName, commit: str, data: bytes) -> ModelSpec:
    from calculator.importers.hf_config import model_from_config

    config = parse_json(data, name=f"{CONFIG} of {wanted.name}")
    source = f"{hub.endpoint}/{wanted.name}"
    title = wanted.name.split("/")[1]
    return replace(
        model_from_config(config, source=source, id=wanted.name, name=title), revision=commit
    )


def _from_cache(hub: Settings, wanted: HubName, error: Unreachable) -> ModelSpec:
    """The configuration that was read before, with a note; else the reason it cannot be now."""
    cached = cached_file(hub, wanted.name, wanted.revision, CONFIG)
    if cached is None or wanted.file.endswith(".gguf"):
        raise error
    data, commit = cached
    model = _model(hub, wanted, commit, data)
    note = f"{error} Its configuration is that of commit {commit[:12]}, read before."
    return replace(model, assumptions=(*model.assumptions, note))


def _with_weights(client: Client, model: ModelSpec, repository: Repository) -> ModelSpec:
    """The model with the exact size of its weights, or a note on why it is not known."""
    files = checkpoint_files(repository.files)
    if not files:
        return model
    try:
        found = held(client, repository.commit, files)
    except SourceUnavailable as error:
        note = f"The size of the weights is not known: {_lowered(str(error))}"
        return replace(model, assumptions=(*model.assumptions, note))
    if not 0 < found.total_bytes <= MAX_BYTES:
        return model
    most = max(found.num_bytes, key=lambda dtype: found.num_bytes[dtype])
    stored = model.weights_dtype or (most if most in FLOATS and most != model.dtype else None)
    quantized = model.weights_dtype is not None
    return replace(
        model,
        weights_bytes=found.total_bytes,
        num_parameters=None if quantized else found.num_parameters,
        weights_dtype=stored,
        assumptions=(*model.assumptions, *_by_type(found)),
    )


def _by_type(found: Held) -> tuple[str, ...]:
    """How the weights divide, where they are of more than one type."""
    if len(found.num_bytes) < 2:
        return ()
    ordered = sorted(found.num_bytes.items(), key=lambda item: -item[1])
    parts = ", ".join(f"{format_gib(size)} {shown(name).strip(chr(39))}" for name, size in ordered)
    return (f"The checkpoint's weights by type: {parts}.",)


def _lowered(sentence: str) -> str:
    return sentence[:1] + sentence[1:].rstrip(".") + "."
