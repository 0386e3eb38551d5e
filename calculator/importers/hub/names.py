"""What people type for a model on the Hub → its name, revision and file; nothing else passes."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from calculator.errors import SourceUnavailable, shown

DEFAULT_ENDPOINT = "https://huggingface.co"
MAX_LENGTH = 512

_NAME = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[\w.][\w./-]{0,199}", re.ASCII)
_FILE = re.compile(r"[\w.][\w. ()+,/-]{0,399}", re.ASCII)
_ROUTES = ("tree", "blob", "resolve", "raw")


class HubName(NamedTuple):
    """A repository, a revision of it, and a file where the text named one."""

    name: str
    revision: str = "main"
    file: str = ""


def is_address(text: str) -> bool:
    return text.startswith(("https://", "http://"))


def parse_name(text: str, endpoint: str) -> HubName:
    """The model that a text names: `org/name`, or a page's address on the Hub in use.

    Of an address only the path is used: a request goes to the endpoint that is configured or to
    none, whatever host was typed.

    >>> parse_name("https://huggingface.co/org/name/tree/v1", DEFAULT_ENDPOINT)
    HubName(name='org/name', revision='v1', file='')
    """
    if not is_address(text):
        return HubName(_checked(_NAME, text, text))
    if len(text) > MAX_LENGTH:
        _refuse(text)
    host = _host(text)
    known = {_host(endpoint), "huggingface.co", "www.huggingface.co", "hf.co"}
    if host not in known:
        raise SourceUnavailable(
            f"{shown(text)} is on {shown(host)}; models are read from {_host(endpoint)} alone.",
            field="model",
        )
    parts = [unquote(part) for part in urlsplit(text).path.split("/") if part]
    name = _checked(_NAME, "/".join(parts[:2]), text)
    if len(parts) == 2:
        return HubName(name)
    if parts[2] not in _ROUTES or len(parts) < 4:
        _refuse(text)
    if parts[2] == "tree":
        return HubName(name, _checked(_REVISION, "/".join(parts[3:]), text))
    revision = _checked(_REVISION, parts[3], text)
    return HubName(name, revision, _checked(_FILE, "/".join(parts[4:]), text))


def _host(address: str) -> str:
    try:
        found = urlsplit(address)
        return found.netloc.rsplit("@", 1)[-1].lower()
    except ValueError:
        return ""


def _checked(pattern: re.Pattern[str], part: str, text: str) -> str:
    if not pattern.fullmatch(part) or ".." in part or "//" in part:
        _refuse(text)
    return part


def _refuse(text: str) -> None:
    raise SourceUnavailable(
        f"{shown(text)} names no model on the Hub; expected org/name, or a page's address such as "
        f"{DEFAULT_ENDPOINT}/org/name/tree/main.",
        field="model",
    )
