"""Who asks, and an environment variable → whether a server may run checks for them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address

VARIABLE = "KVCALC_VERIFY"
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def refusal(*, is_local: bool) -> str | None:
    """Why a server runs no checks, in a sentence; None where it does.

    KVCALC_VERIFY=on or off decides; unset, only a page on the server's own machine gets them.
    """
    value = os.environ.get(VARIABLE, "").strip().lower()
    if value in ("on", "1", "true", "yes"):
        return None
    if value:
        return f"Checks with real tensors are switched off on this server ({VARIABLE}={value})."
    if is_local:
        return None
    return (
        "Checks with real tensors are off for visitors of this server, because they take its "
        f"memory; who runs it can switch them on with {VARIABLE}=on."
    )


def is_local(address: str | None, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from the server's own machine, and through no proxy.

    `address` None means what Streamlit means by it: this machine.

    >>> is_local("127.0.0.1", {}), is_local("10.0.0.7", {}), is_local(None, {"Via": "1.1 proxy"})
    (True, False, False)
    """
    if any(name.lower() in _FORWARDED for name in headers):
        return False
    if address is None:
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
