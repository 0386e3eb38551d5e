"""JSON that nobody vouches for: an object, or one sentence."""

import json

import pytest

from calculator.errors import CalculatorError, InvalidInput, SourceUnavailable
from calculator.importers.schema import MAX_JSON_BYTES, parse_json, read_json

REFUSED = {
    "a key twice": ('{"num_hidden_layers": 32, "num_hidden_layers": 64}', "stands twice"),
    "nested deep": ("[" * 10_000 + "]" * 10_000, "nested deeper"),
    "nested deep in an object": ('{"a":' * 10_000 + "1" + "}" * 10_000, "nested deeper"),
    "a 4,000-digit number": ('{"num_hidden_layers": ' + "9" * 4_000 + "}", "4,000 digits"),
    "a list": ("[1, 2]", "expected an object"),
    "a number": ("12", "expected an object"),
    "no JSON": ("model_type: llama", "is not JSON"),
    "nothing": ("", "is not JSON"),
    "cut off": ('{"model_type": "lla', "is not JSON"),
    "other bytes": (b"\xff\xfe\x00junk", "is not UTF-8"),
    "too large": ('{"a": "' + "x" * MAX_JSON_BYTES + '"}', "larger than 2 MiB"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_configuration_is_refused_in_a_sentence(text, reason):
    with pytest.raises(InvalidInput, match=reason) as caught:
        parse_json(text)
    assert len(str(caught.value)) < 300


def test_a_byte_order_mark_is_no_obstacle():
    assert parse_json(b"\xef\xbb\xbf{}") == {}


def test_brackets_in_text_are_not_nesting():
    assert parse_json(json.dumps({"chat_template": "[" * 5_000})) == {"chat_template": "[" * 5_000}


def test_infinity_is_let_through_where_nothing_counts_it():
    # nvidia/Nemotron-H-56B-Base-8K publishes "time_step_limit": [0.0, Infinity]
    assert parse_json('{"time_step_limit": [0.0, Infinity]}')["time_step_limit"][1] > 1e300


@pytest.mark.parametrize("path", ["/nonexistent/config.json", "/", "a\0b"])
def test_what_cannot_be_read_is_unavailable(path):
    with pytest.raises(SourceUnavailable):
        read_json(path)


def test_every_refusal_is_an_error_of_ours():
    for text, _ in REFUSED.values():
        with pytest.raises(CalculatorError):
            parse_json(text)
