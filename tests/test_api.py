"""The routes that are served beside the page."""

import pytest

pytest.importorskip("starlette")

from starlette.applications import Starlette
from starlette.testclient import TestClient

from calculator.api import routes

client = TestClient(Starlette(routes=routes))


def get(path: str):
    return client.get(f"/api/v1/{path}")


def test_estimate_is_the_command_lines_json():
    found = get("estimate?model=llama-3-8b&context=8k").json()
    assert found["num_bytes"] == 1_073_741_824


def test_a_device_brings_the_verdict():
    found = get("estimate?model=llama-3-8b&context=8k&device=h100-sxm-80gb").json()
    assert found["verdict"] == "fits"


@pytest.mark.parametrize(
    "flags",
    [
        "set=block_size=32&set=max_num_batched_tokens=2048",
        "set=block_size=32,max_num_batched_tokens=2048",  # as the page writes them
        "set=block-size=32,+max-num-batched-tokens=2048",  # as vLLM writes them
    ],
)
def test_flags_may_come_in_one_text_and_with_hyphens(flags):
    engine = get(f"estimate?model=llama-3-8b&engine=vllm&{flags}").json()["engine"]
    assert (engine["block_size"], engine["max_num_batched_tokens"]) == (32, 2048)


def test_a_permalinks_version_is_no_parameter_to_refuse():
    assert get("estimate?model=llama-3-8b&v=1").status_code == 200


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ("", 400, "model"),
        ("model=nope", 404, "model"),
        ("model=../../etc/passwd", 404, "model"),
        ("model=calculator/cli", 404, "model"),
        ("model=pyproject.toml", 404, "model"),
        ("model=llama-3-8b&context=-5", 400, "context"),
        ("model=llama-3-8b&context=1&context=2", 400, "context"),
        ("model=llama-3-8b&colour=red", 400, "colour"),
        ("model=llama-3-8b&engine=vllm&set=block_size=16&set=block-size=32", 400, "block_size"),
        ("model=llama-3-8b&engine=vllm&set=block_size=16,block_size=16", 400, "block_size"),
        ("model=llama-3-8b&" + "x" * 9000, 400, "query"),
    ],
)
def test_errors_are_json_with_the_field(query, status, field):
    found = get(f"estimate?{query}")
    assert found.status_code == status
    assert found.json()["error"]["field"] == field
    assert found.json()["error"]["message"]


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/", "/api/anything", "/api/v1/nope", "/api/v1/estimate/", "/api/v2/estimate",
     "/api/v1/embed/llama-3-8b.svg"],
)  # fmt: skip
def test_a_path_that_is_not_there_is_404_with_those_that_are(path):
    found = client.get(path)
    assert found.status_code == 404
    assert found.json()["error"] == {
        "type": "SourceUnavailable",
        "message": f"'{path}' is no path of the API; there are /api/v1/estimate, /api/v1/presets, "
        "/api/v1/devices, /healthz.",
        "field": "path",
    }


def test_other_methods_on_a_path_that_is_there_are_405():
    assert client.post("/api/v1/estimate").status_code == 405


def test_presets_devices_and_health():
    assert get("presets").json()["presets"]
    assert len(get("devices").json()["devices"]) >= 50
    assert client.get("/healthz").text == "ok"


def test_other_origins_may_read():
    assert get("presets").headers["access-control-allow-origin"] == "*"
