"""Who may have a server run checks."""

import pytest

from calculator.verify.switch import VARIABLE, is_local, refusal


@pytest.mark.parametrize(
    ("value", "local", "runs"),
    [
        (None, True, True),
        (None, False, False),
        ("on", False, True),
        ("off", True, False),
        ("off", False, False),
        ("perhaps", True, False),
        ("", False, False),
    ],
)
def test_the_variable_decides_then_the_address(monkeypatch, value, local, runs):
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    found = refusal(is_local=local)
    assert (found is None) is runs
    assert runs or VARIABLE in found


@pytest.mark.parametrize(
    ("address", "headers", "local"),
    [
        (None, {}, True),
        ("127.0.0.1", {}, True),
        ("::1", {}, True),
        ("192.168.1.5", {}, False),
        ("127.0.0.1", {"X-Forwarded-For": "8.8.8.8"}, False),
        ("nonsense", {}, False),
    ],
)
def test_only_the_same_machine_without_a_proxy_is_local(address, headers, local):
    assert is_local(address, headers) is local
