"""Requests to the configured Hub and to nobody else → bytes, or one sentence on why not."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from calculator.errors import CalculatorError, SourceUnavailable, shown
from calculator.importers.hub.names import DEFAULT_ENDPOINT
from calculator.units import format_bytes

TIMEOUT_SECONDS = 10.0
DEADLINE_SECONDS = 30.0
MAX_REDIRECTS = 5
# Where huggingface.co itself sends downloads: https://huggingface.co/docs/hub/storage-backends
STORAGE_HOSTS = (".huggingface.co", ".hf.co")
_PORTS = {"http": 80, "https": 443}


class Unreachable(SourceUnavailable):
    """The Hub gives no answer: what the cache holds may stand in for it."""


class Answer(NamedTuple):
    """A body, and the size of the whole file if the server said so."""

    body: bytes
    size: int | None


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says of the Hub; `token` is never shown."""

    endpoint: str
    token: str
    cache: str
    is_offline: bool

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint).netloc

    def __repr__(self) -> str:
        return f"Settings({self.endpoint})"


def settings() -> Settings:
    """HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and the cache's folder; refused if switched off."""
    if os.environ.get("KVCALC_HUB", "").strip().lower() in ("off", "0", "no", "false"):
        raise SourceUnavailable(
            "Reading models from the Hub is switched off here (KVCALC_HUB=off); give a preset or "
            "a configuration.",
            field="model",
        )
    try:
        from huggingface_hub import constants
    except ImportError:
        raise SourceUnavailable(
            "Reading models from the Hub needs huggingface_hub, which is not installed: "
            "pip install 'kv-cache-calculator[hub]'.",
            field="model",
        ) from None
    endpoint = (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme not in _PORTS or not parts.hostname or parts.username or parts.query:
        raise SourceUnavailable(
            "HF_ENDPOINT is no address of a Hub; expected one such as https://huggingface.co.",
            field="model",
        )
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    return Settings(
        endpoint,
        _token(),
        os.environ.get("HF_HUB_CACHE") or constants.HF_HUB_CACHE,
        offline,
    )


def _token() -> str:
    token = os.environ.get("HF_TOKEN", "").strip()
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise SourceUnavailable("HF_TOKEN holds characters that no token has.", field="model")
    return token


class Client:
    """One conversation with the Hub about one model, of at most `DEADLINE_SECONDS`."""

    def __init__(self, hub: Settings, name: str, revision: str):
        import httpx2
        from huggingface_hub.utils import build_hf_headers

        self.hub, self.name, self.revision = hub, name, revision
        self.deadline = time.monotonic() + DEADLINE_SECONDS
        # token=False: the library would look for one in files; ours comes from HF_TOKEN alone
        agent = build_hf_headers(token=False, library_name="kv-cache-calculator")["user-agent"]
        self.headers = {"user-agent": agent, "accept-encoding": "identity"}
        self.http = httpx2.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False)

    def close(self) -> None:
        self.http.close()

    def api(self) -> Answer:
        """What the Hub says of the model at this revision."""
        address = f"{self.hub.endpoint}/api/models/{self.name}"
        if self.revision != "main":
            address += f"/revision/{quote(self.revision, safe='')}"
        return self.get(address, limit=16 * 2**20, what="its list of files")

    def file(
        self, path: str, commit: str, *, limit: int, span: tuple[int, int] | None = None
    ) -> Answer:
        """A file, or the bytes from span[0] to before span[1]."""
        address = f"{self.hub.endpoint}/{self.name}/resolve/{quote(commit, safe='')}/{quote(path)}"
        return self.get(address, limit=limit, span=span, what=path)

    def get(
        self, address: str, *, limit: int, what: str, span: tuple[int, int] | None = None
    ) -> Answer:
        """The body at an address, redirects followed to the Hub's own hosts alone."""
        if self.hub.is_offline:
            raise Unreachable("HF_HUB_OFFLINE is set: the Hub is not asked.", field="model")
        if time.monotonic() > self.deadline:
            raise Unreachable(f"{self.hub.host} is too slow.", field="model")
        with self._sentences():
            for _ in range(MAX_REDIRECTS + 1):
                headers = self._headers_for(address, span)
                with self.http.stream("GET", address, headers=headers) as response:
                    if response.has_redirect_location:
                        address = urljoin(address, response.headers["location"])
                        continue
                    self._check_status(response)
                    body = self._body(response, limit, what, span)
                    return Answer(body, _whole_size(response.headers))
        raise SourceUnavailable(f"{self.hub.host} redirects without end.", field="model")

    def _headers_for(self, address: str, span: tuple[int, int] | None) -> dict[str, str]:
        """Headers for an address that may be asked; the token goes to the endpoint alone."""
        headers = dict(self.headers)
        if _origin(address) == _origin(self.hub.endpoint):
            if self.hub.token:
                headers["authorization"] = f"Bearer {self.hub.token}"
        elif not self._is_storage(address):
            raise SourceUnavailable(
                f"{self.hub.host} redirects to {shown(_shown_host(address))}, which is not one of "
                "its own hosts; that is not followed.",
                field="model",
            )
        if span:
            headers["range"] = f"bytes={span[0]}-{span[1] - 1}"
        return headers

    def _is_storage(self, address: str) -> bool:
        """Whether huggingface.co keeps its files there; another endpoint keeps its own."""
        if self.hub.endpoint != DEFAULT_ENDPOINT:
            return False
        scheme, host, port = _origin(address)
        return scheme == "https" and port == 443 and host.endswith(STORAGE_HOSTS)

    def _check_status(self, response: Any) -> None:
        status, code = response.status_code, response.headers.get("x-error-code", "")
        if status < 300:
            return
        host, name = self.hub.host, self.name
        if status >= 500:
            raise Unreachable(f"{host} answers with status {status}; try later.", field="model")
        if status == 429:
            wait = response.headers.get("retry-after", "")
            later = f"in {wait} seconds" if wait.isdigit() and len(wait) < 6 else "later"
            raise Unreachable(
                f"{host} has had too many requests; try again {later}.", field="model"
            )
        raise SourceUnavailable(_refusal(status, code, self, host, name), field="model")

    def _body(self, response: Any, limit: int, what: str, span: tuple[int, int] | None) -> bytes:
        """At most `limit` bytes; of a server that ignores a range, those from the start."""
        if response.headers.get("content-encoding", "identity") != "identity":
            raise SourceUnavailable(f"{self.hub.host} compresses unasked.", field="model")
        wanted = span[1] - span[0] if span else limit
        if span and response.status_code == 200 and span[0]:
            raise SourceUnavailable(f"{self.hub.host} sends no ranges of a file.", field="model")
        found = bytearray()
        for chunk in response.iter_raw():
            found += chunk
            if time.monotonic() > self.deadline:
                raise Unreachable(f"{self.hub.host} is too slow.", field="model")
            if span and len(found) >= wanted:
                break
            if len(found) > limit:
                raise SourceUnavailable(
                    f"{what} of {self.name} is larger than {format_bytes(limit)}.", field="model"
                )
        return bytes(found[:wanted])

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Errors of the connection as sentences, without the library's words and addresses."""
        import httpx2

        host = self.hub.host
        try:
            yield
        except CalculatorError:
            raise
        except httpx2.ProxyError:
            raise Unreachable(f"The proxy on the way to {host} refuses.", field="model") from None
        except httpx2.TimeoutException:
            raise Unreachable(
                f"{host} does not answer within {TIMEOUT_SECONDS:g} seconds.", field="model"
            ) from None
        except httpx2.ConnectError:
            raise Unreachable(
                f"{host} cannot be reached; without a network give a preset or a file.",
                field="model",
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ValueError):
            raise Unreachable(f"{host} breaks off its answer.", field="model") from None


def _refusal(status: int, code: str, client: Client, host: str, name: str) -> str:
    has_token = bool(client.hub.token)
    if code == "GatedRepo" or status == 403:
        ask = "the HF_TOKEN in use has no access" if has_token else "HF_TOKEN is not set"
        return f"{name} is gated: accept its terms on {host}; {ask}."
    if code == "RevisionNotFound":
        return f"{name} has no revision {shown(client.revision)}."
    if code == "EntryNotFound":
        return f"{name} does not have that file."
    if status in (401, 404):
        private = (
            "or HF_TOKEN may not read it"
            if has_token
            else "or it is private and HF_TOKEN is not set"
        )
        return f"{host} has no model {name}, {private}."
    if status == 407:
        return f"The proxy on the way to {host} asks for a password."
    return f"{host} answers with status {status}."


def _origin(address: str) -> tuple[str, str, int]:
    try:
        parts = urlsplit(address)
        return (
            parts.scheme,
            (parts.hostname or "").lower(),
            parts.port or _PORTS.get(parts.scheme, 0),
        )
    except ValueError:
        return "", "", 0


def _shown_host(address: str) -> str:
    return _origin(address)[1] or "no address"


def _whole_size(headers: Any) -> int | None:
    """The size of the whole file, from Content-Range, else from Content-Length."""
    for text in (
        headers.get("content-range", "").rpartition("/")[2],
        headers.get("content-length", ""),
    ):
        if text.isascii() and text.isdigit() and len(text) < 16:
            return int(text)
    return None
