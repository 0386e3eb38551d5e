"""No traceback ever: what a page raises becomes a sentence, and the log holds the rest."""

import logging

from streamlit.testing.v1 import AppTest


def failing() -> None:  # only its source is run, so it imports what it needs
    from ui.guard import guarded

    guarded(lambda: 1 // 0)()


def refusing() -> None:
    from calculator.errors import InvalidInput
    from ui.guard import guarded

    def body() -> None:
        raise InvalidInput("context is <b>; expected a number.")

    guarded(body)()


def test_what_nobody_foresaw_is_an_apology_and_a_log_entry(caplog):
    with caplog.at_level(logging.ERROR, logger="kvcalc.page"):
        page = AppTest.from_function(failing).run()
    assert not page.exception
    assert "Your inputs are kept" in page.error[0].value
    assert "ZeroDivisionError" in caplog.text


def test_what_a_user_caused_is_said_and_escaped():
    page = AppTest.from_function(refusing).run()
    assert not page.exception
    assert "context is &lt;b&gt;; expected a number." in page.get("html")[0].proto.body
