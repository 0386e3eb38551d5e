"""HTTP requests → the same JSON as the command line, served beside the page.

Parameters are the command line's option names with `_` for `-`. Errors are
`{"error": {"type", "message", "field"}}` with status 400, or 404 for a name that is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from calculator.catalog import load_named, presets
from calculator.errors import CalculatorError, InvalidInput, SourceUnavailable, shown
from calculator.scenario import CAPACITY_OPTIONS, ESTIMATE_OPTIONS, scenario

HEADERS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300"}
MAX_QUERY = 8192


def estimate(request: HttpRequest) -> dict[str, Any]:
    """`/api/v1/estimate`: bytes; with a device also the verdict, as `kvcalc capacity --json`."""
    options = _options(request)
    if "model" not in options:
        raise InvalidInput("model is missing; name a preset.", field="model")
    asked = scenario(options, model=load_named(options["model"]))
    if asked.device or "kv_bytes_per_device" in dict(asked.options):
        return asked.to_dict(asked.capacity())
    return asked.to_dict(asked.footprint())


def all_presets(request: HttpRequest) -> dict[str, Any]:
    from calculator.cli.presets import document

    return document(presets())


def all_devices(request: HttpRequest) -> dict[str, Any]:
    from calculator.cli.devices import document
    from calculator.devices import devices

    return document(devices())


def health(request: HttpRequest) -> Response:
    return PlainTextResponse("ok")


def no_such_path(request: HttpRequest) -> dict[str, Any]:
    """Refuses what is left: the page's server would answer it with the page."""
    raise SourceUnavailable(
        f"{shown(request.url.path)} is no path of the API; there are {', '.join(PATHS)}.",
        field="path",
    )


def _options(request: HttpRequest) -> dict[str, Any]:
    """Query parameters as option texts; a name given twice is refused, but for `set`."""
    if len(request.url.query) > MAX_QUERY:
        raise InvalidInput(f"The query is longer than {MAX_QUERY:,} characters.", field="query")
    found: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name == "v":
            continue
        if name == "set":
            found.setdefault("set", []).append(value)
        elif name not in ESTIMATE_OPTIONS + CAPACITY_OPTIONS:
            raise InvalidInput(f"{shown(name)} is no parameter.", field=name)
        elif name in found:
            raise InvalidInput(f"{name} is given twice.", field=name)
        else:
            found[name] = value
    return found


def _json(answer: Callable[[HttpRequest], dict[str, Any]]) -> Callable[[HttpRequest], Response]:
    """A route that turns every error a caller can cause into its JSON."""

    def respond(request: HttpRequest) -> Response:
        try:
            return JSONResponse(answer(request), headers=HEADERS)
        except CalculatorError as error:
            status = 404 if isinstance(error, SourceUnavailable) else 400
            body = {
                "type": type(error).__name__,
                "message": " ".join(str(error).split()),
                "field": error.field,
            }
            return JSONResponse(
                {"error": body}, status_code=status, headers=HEADERS | {"Cache-Control": "no-store"}
            )

    return respond


routes = [
    Route("/api/v1/estimate", _json(estimate)),
    Route("/api/v1/presets", _json(all_presets)),
    Route("/api/v1/devices", _json(all_devices)),
    Route("/healthz", health),
]
PATHS = [route.path for route in routes]
routes += [Route(path, _json(no_such_path)) for path in ("/api", "/api/{rest:path}")]
