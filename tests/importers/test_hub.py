"""Models by their name on the Hub, against a server on this machine that speaks its routes."""

import json
import socket
import subprocess
import sys
import time

import pytest

from calculator import catalog
from calculator.catalog import load_model
from calculator.errors import InvalidInput, SourceUnavailable, UnsupportedModel
from calculator.importers import hub
from calculator.importers.hub import client, model_from_hub
from calculator.importers.hub.names import parse_name
from tests.importers.configs import LLAMA, num_bytes
from tests.importers.gguf_files import LLAMA as FIGURES
from tests.importers.gguf_files import geometry, write
from tests.importers.hub_server import (
    COMMIT,
    HubServer,
    floods,
    forget_everything,
    hangs_up,
    never_answers,
    redirects,
    refuses,
    safetensors,
    trickles,
)

CONFIG = json.dumps(LLAMA).encode()
NAME = "org/name"


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    forget_everything(monkeypatch, tmp_path / "cache")


@pytest.fixture
def server(monkeypatch):
    found = HubServer()
    monkeypatch.setenv("HF_ENDPOINT", found.endpoint)
    found.repositories[NAME] = {"config.json": CONFIG, "README.md": b"hello"}
    yield found
    found.shutdown()
    found.server_close()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(client, "DEADLINE_SECONDS", 1.0)


@pytest.fixture
def no_network(monkeypatch):
    """Any attempt to open a connection fails the test."""

    def refuse(*args, **kwargs):
        raise AssertionError("a connection was attempted")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def forget():
    hub._remembered.clear()


def test_a_name_gives_the_model_of_its_configuration(server):
    model = load_model(NAME)
    assert geometry(model) == geometry(load_model(LLAMA))
    assert (model.id, model.name) == (NAME, "name")
    assert (model.source, model.revision) == (f"{server.endpoint}/{NAME}", COMMIT)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("https://huggingface.co/org/name", "/api/models/org/name"),
        ("https://huggingface.co/org/name/", "/api/models/org/name"),
        ("https://huggingface.co/org/name/tree/main", "/api/models/org/name"),
        ("https://hf.co/org/name/tree/v1.0", "/api/models/org/name/revision/v1.0"),
        ("https://huggingface.co/org/name/tree/refs/pr/1", "/revision/refs%2Fpr%2F1"),
        ("https://huggingface.co/org/name/blob/dev/config.json?x=1#L3", "/revision/dev"),
    ],
)
def test_an_address_gives_name_and_revision_and_the_endpoint_is_asked(server, address, path):
    assert load_model(address).num_hidden_layers == 4
    assert server.paths()[0].endswith(path)


@pytest.mark.parametrize(
    "text",
    [
        "../../etc/passwd", "..", "/etc/passwd", "./name", "org/..", "org/.name", "a/b/c", "name",
        "org name/x", "org/name?x", "file:///etc/passwd", "ftp://huggingface.co/org/name", "",
        "https://evil.example/org/name", "https://huggingface.co@evil.example/org/name",
        "https://huggingface.co.evil.example/org/name", "http://127.0.0.1/org/name",
        "http://169.254.169.254/latest/meta-data", "https://huggingface.co/org",
        "https://huggingface.co/org/name/settings/x", "https://huggingface.co/org/../tree/main",
        "https://huggingface.co/org/name/tree/../../x", "https://huggingface.co/%2e%2e/x",
        "https://huggingface.co/org/name/blob/main", "https://[::1/org/name",
        "https://huggingface.co/" + "a" * 600,
    ],
)  # fmt: skip
def test_what_is_no_name_never_reaches_the_network(monkeypatch, no_network, text):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    with pytest.raises((SourceUnavailable, InvalidInput)):
        load_model(text)


def test_an_endpoint_that_is_configured_is_named_not_the_default(server):
    with pytest.raises(SourceUnavailable, match=rf"alone|{server.endpoint[7:]}"):
        load_model("https://example.org/org/name")
    assert server.requests == []


def test_switched_off_a_name_is_refused_with_that_reason(server, monkeypatch):
    monkeypatch.setenv("KVCALC_HUB", "off")
    with pytest.raises(SourceUnavailable, match="switched off here"):
        load_model(NAME)
    assert server.requests == []


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(SourceUnavailable, match=r"kv-cache-calculator\[hub\]"):
        load_model(NAME)


def test_without_a_network_everything_but_the_hub_works(monkeypatch, no_network, tmp_path):
    (tmp_path / "config.json").write_bytes(CONFIG)
    gguf = write(tmp_path / "m.gguf", "llama", FIGURES)
    for source in ("llama-3-8b", tmp_path, tmp_path / "config.json", gguf, LLAMA):
        model = load_model(source)
        assert not any("Hub" in note for note in model.assumptions)


@pytest.mark.parametrize(
    ("status", "code", "token", "message"),
    [
        (
            401,
            "RepoNotFound",
            "",
            "has no model org/name, or it is private and HF_TOKEN is not set",
        ),
        (404, "RepoNotFound", "x", "has no model org/name, or HF_TOKEN may not read it"),
        (404, "RevisionNotFound", "", "has no revision 'main'"),
        (403, "GatedRepo", "", "org/name is gated: accept its terms .*HF_TOKEN is not set"),
        (401, "GatedRepo", "x", "org/name is gated: .*the HF_TOKEN in use has no access"),
        (429, "", "", "too many requests; try again in 7 seconds"),
        (500, "", "", "answers with status 500; try later"),
        (503, "", "", "answers with status 503; try later"),
        (418, "", "", "answers with status 418"),
        (407, "", "", "proxy .* asks for a password"),
    ],
)
def test_every_refusal_is_a_sentence(server, monkeypatch, status, code, token, message):
    monkeypatch.setenv("HF_TOKEN", token)
    server.behave["/api/"] = refuses(status, code, Retry_After="7")
    with pytest.raises(SourceUnavailable, match=message) as caught:
        load_model(NAME)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (never_answers, "does not answer within 0.5 seconds"),
        (trickles, "is too slow"),
        (hangs_up, "breaks off its answer"),
        (redirects("http://169.254.169.254/latest"), "redirects to '169.254.169.254'"),
        (redirects("https://evil.example/x"), "redirects to 'evil.example'"),
        (redirects("file:///etc/passwd"), "redirects to 'no address'"),
        (redirects("http://localhost/x"), "redirects to 'localhost'"),
        (redirects("http://[::1/x"), "breaks off its answer|redirects to"),
        (redirects("https://user:pw@evil.example/x"), "redirects to 'evil.example'"),
        (redirects("/org/name/resolve/x/config.json"), "redirects without end"),
    ],
)
def test_a_broken_server_is_a_sentence_and_soon(server, impatient, act, message):
    server.behave["/"] = act
    started = time.monotonic()
    with pytest.raises(SourceUnavailable, match=message):
        load_model(NAME)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"{}", b'{"sha": 1, "siblings": []}'])
def test_an_answer_that_is_no_list_of_files_is_a_sentence(server, body):
    server.behave["/api/"] = lambda handler: handler.answer(200, body)
    with pytest.raises(SourceUnavailable, match=r"gives no list|names no commit"):
        load_model(NAME)


def test_a_configuration_without_end_is_cut_off(server):
    server.behave["config.json"] = floods
    with pytest.raises(SourceUnavailable, match=r"config\.json of org/name is larger than 2 MiB"):
        load_model(NAME)


def test_a_configuration_that_is_refused_says_why_as_a_pasted_one_does(server):
    server.repositories[NAME]["config.json"] = b'{"model_type": "llama"}'
    with pytest.raises(InvalidInput, match="num_hidden_layers is missing"):
        load_model(NAME)
    forget()
    server.repositories["org/other"] = {"config.json": b"{}"}
    with pytest.raises(UnsupportedModel, match="model_type is missing"):
        load_model("org/other")


def test_nobody_listening_is_a_sentence(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    with pytest.raises(SourceUnavailable, match="cannot be reached; without a network"):
        load_model(NAME)


def test_a_dead_proxy_is_a_sentence(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with pytest.raises(SourceUnavailable, match=r"hub\.example"):
        load_model(NAME)


@pytest.mark.parametrize("endpoint", ["ftp://x", "hub", "https://user:pw@hub.example", "https://"])
def test_an_endpoint_that_is_none_is_refused_without_being_shown(monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(SourceUnavailable, match="HF_ENDPOINT is no address") as caught:
        load_model(NAME)
    assert "pw" not in str(caught.value)


TOKEN = "hf_secretsecretsecret"


def test_the_token_goes_to_the_endpoint_and_nowhere_else(server, monkeypatch, caplog):
    other = HubServer()
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    # pretend that the second server is where this endpoint stores its files
    monkeypatch.setattr(client.Client, "_is_storage", lambda self, address: True)
    server.behave["config.json"] = redirects(f"{other.endpoint}/stored")
    other.behave["/stored"] = lambda handler: handler.answer(200, CONFIG)
    with caplog.at_level("DEBUG"):
        model = load_model(NAME)
    other.shutdown()
    assert server.requests[0][1]["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in other.requests[0][1]
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(model)
    assert not any(TOKEN in path for path in server.paths() + other.paths())


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_the_token_stands_in_no_message(server, monkeypatch, status):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    server.behave["/"] = refuses(status)
    with pytest.raises(SourceUnavailable) as caught:
        load_model(NAME)
    assert TOKEN not in str(caught.value)
    assert TOKEN not in repr(client.settings())


def test_a_token_that_would_break_a_header_is_refused_unseen(server, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "a\r\nHost: evil")
    with pytest.raises(SourceUnavailable, match="HF_TOKEN holds characters") as caught:
        load_model(NAME)
    assert "evil" not in str(caught.value)


def test_storage_hosts_are_those_of_the_default_endpoint_over_https():
    hub_of = lambda endpoint: client.Settings(endpoint, "", "", False)  # noqa: E731
    ours = client.Client(hub_of("https://huggingface.co"), NAME, "main")
    for address in ("https://cdn-lfs.hf.co/x", "https://cas-bridge.xethub.hf.co/x"):
        assert ours._is_storage(address)
    for address in ("http://cdn-lfs.hf.co/x", "https://hf.co.evil.example/x", "https://evilhf.co/x",
                    "https://cdn.hf.co:8443/x", "https://127.0.0.1/x"):  # fmt: skip
        assert not ours._is_storage(address)
    mirror = client.Client(hub_of("https://mirror.example"), NAME, "main")
    assert not mirror._is_storage("https://cdn-lfs.hf.co/x")


def test_a_configuration_is_cached_by_its_commit_where_the_library_finds_it(server, tmp_path):
    from huggingface_hub import hf_hub_download

    load_model(NAME)
    cache = tmp_path / "cache"
    found = hf_hub_download(NAME, "config.json", cache_dir=cache, local_files_only=True)
    assert COMMIT in found
    forget()
    load_model(NAME)
    assert sum("config.json" in path for path in server.paths()) == 1


def test_a_model_is_remembered_for_a_while_and_so_is_an_outage(server):
    load_model(NAME)
    load_model(NAME)
    assert sum("/api/" in path for path in server.paths()) == 1
    server.behave["/api/models/org/gone"] = refuses(503)
    for _ in range(3):
        with pytest.raises(SourceUnavailable):
            load_model("org/gone")
    assert sum("/org/gone" in path for path in server.paths()) == 1


@pytest.mark.parametrize("how", ["outage", "offline"])
def test_in_an_outage_the_cache_stands_in_and_says_so(server, monkeypatch, how):
    before = load_model(NAME)
    forget()
    if how == "offline":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    server.behave["/"] = refuses(503)
    model = load_model(NAME)
    assert geometry(model) == geometry(before)
    assert model.revision == COMMIT
    assert any("read before" in note for note in model.assumptions)


def test_a_refusal_is_not_answered_from_the_cache(server):
    load_model(NAME)
    forget()
    server.behave["/"] = refuses(403, "GatedRepo")
    with pytest.raises(SourceUnavailable, match="gated"):
        load_model(NAME)


def test_gguf_files_are_offered_where_there_is_no_configuration(server):
    server.repositories["org/gguf"] = {"b-Q8_0.gguf": b"", "a-Q4_K.gguf": b"", "mmproj.gguf": b""}
    with pytest.raises(SourceUnavailable, match=r"GGUF files: a-Q4_K\.gguf, b-Q8_0\.gguf; give"):
        load_model("org/gguf")
    server.repositories["org/none"] = {"README.md": b""}
    with pytest.raises(SourceUnavailable, match=r"neither config\.json nor a GGUF file"):
        load_model("org/none")


WEIGHTS = safetensors(
    a=("BF16", [128, 64], 128 * 64 * 2),
    b=("U8", [100], 100),
    c=("F32", [10], 40),
)


def test_weights_are_what_the_headers_hold_by_type(server):
    server.repositories[NAME]["model.safetensors"] = WEIGHTS + b"\0" * 100_000
    model = load_model(NAME)
    assert model.weights_bytes == 128 * 64 * 2 + 100 + 40
    assert model.num_parameters is None  # packed bytes are no parameters
    assert any("bf16" in note and "uint8" in note for note in model.assumptions)
    ranges = [headers["range"] for path, headers in server.requests if "safetensors" in path]
    assert ranges == ["bytes=0-65535"]


def test_weights_in_parts_are_added_up_and_parameters_counted(server):
    part = safetensors(a=("BF16", [1000, 100], 200_000))
    names = [f"model-{n:05}-of-00011.safetensors" for n in range(1, 12)]
    server.repositories[NAME] |= dict.fromkeys(names, part)
    model = load_model(NAME)
    assert (model.weights_bytes, model.num_parameters) == (11 * 200_000, 11 * 100_000)


def test_a_header_longer_than_the_first_request_is_read_on(server):
    many = {f"layer.{i}.weight": ("F16", [10], 20) for i in range(2000)}
    server.repositories[NAME]["model.safetensors"] = safetensors(**many)
    assert load_model(NAME).weights_bytes == 40_000


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "has no safetensors header"),
        (b"\xff" * 100, "has no safetensors header"),
        (b"\x08" + b"\0" * 7 + b"notjson!", "has a broken safetensors header"),
        (WEIGHTS.replace(b'"data_offsets"', b'"data_0ffsets"'), "describes a tensor wrongly"),
        (WEIGHTS.replace(b"[0, ", b"[-9,"), "describes a tensor wrongly|broken"),
        (WEIGHTS[:40], "has a broken safetensors header"),
        (WEIGHTS.replace(b"[128, 64]", b"[1e9,  6]"), "describes a tensor wrongly"),
        (WEIGHTS.replace(b'"BF16"', b"[[16]]"), "describes a tensor wrongly"),
    ],
)
def test_broken_weights_leave_the_model_and_say_so(server, data, why):
    import re

    server.repositories[NAME]["model.safetensors"] = data
    model = load_model(NAME)
    assert model.weights_bytes is None
    assert any(
        re.search(f"size of the weights is not known: .*({why})", n) for n in model.assumptions
    )


def test_slow_weights_leave_the_model_and_say_so(server, monkeypatch):
    server.repositories[NAME]["model.safetensors"] = WEIGHTS
    server.behave["safetensors"] = never_answers
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 1.0)
    model = load_model(NAME)
    assert num_bytes(model, 100) > 0
    assert any("size of the weights is not known" in note for note in model.assumptions)


def test_many_weights_of_a_server_that_hangs_are_given_up_soon(server, impatient):
    names = [f"model-{n:05}-of-00200.safetensors" for n in range(1, 201)]
    server.repositories[NAME] |= dict.fromkeys(names, WEIGHTS)
    server.behave["safetensors"] = never_answers
    started = time.monotonic()
    assert load_model(NAME).weights_bytes is None
    assert time.monotonic() - started < 8


def test_a_gguf_file_is_read_by_its_header_alone(server, tmp_path):
    path = write(tmp_path / "m.gguf", "llama", FIGURES, tensors={"a": ((10, 32), "Q8_0")})
    server.repositories["org/gguf"] = {"m.gguf": path.read_bytes() + b"\0" * 9_000_000}
    model = load_model("https://huggingface.co/org/gguf/blob/main/m.gguf")
    assert geometry(model) == geometry(load_model(path))
    assert (model.weights_bytes, model.revision) == (340, COMMIT)
    asked = [headers.get("range") for path, headers in server.requests if "m.gguf" in path]
    assert asked == ["bytes=0-4194303"]


@pytest.mark.parametrize("part", [1, 2])
def test_a_split_gguf_file_is_read_from_any_part(server, tmp_path, part):
    files = {}
    for n in (0, 1):
        name = f"m-{n + 1:05}-of-00002.gguf"
        path = write(tmp_path / name, "llama", FIGURES if n == 0 else {},
                     other={"split.no": n, "split.count": 2},
                     tensors={f"t{n}": ((10, 32), "Q8_0")})  # fmt: skip
        files[f"Q8/{name}"] = path.read_bytes()
    server.repositories["org/gguf"] = files
    address = f"https://huggingface.co/org/gguf/resolve/main/Q8/m-{part:05}-of-00002.gguf"
    assert load_model(address).weights_bytes == 680


def test_the_page_and_the_command_line_share_it(server):
    assert catalog.load_named(NAME) == model_from_hub(NAME)


def test_parse_name_keeps_a_file_and_its_revision():
    address = "https://huggingface.co/org/name/blob/v2/sub/m.gguf"
    assert parse_name(address, "https://huggingface.co") == (NAME, "v2", "sub/m.gguf")


def test_the_command_line_gives_the_numbers_of_the_preset(server, tmp_path):
    """By name on the Hub and by GGUF file, as by preset."""
    server.repositories["meta/llama"] = {
        "config.json": json.dumps({
            "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
            "num_attention_heads": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16",
        }).encode()
    }  # fmt: skip
    path = write(
        tmp_path / "model.gguf", "llama",
        {"block_count": 32, "context_length": 8192, "embedding_length": 4096,
         "attention.head_count": 32, "attention.head_count_kv": 8},
    )  # fmt: skip

    def num_bytes(model: str) -> int:
        command = [sys.executable, "-m", "calculator", "estimate", model, "--context", "32k"]
        done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return json.loads(done.stdout)["num_bytes"]

    assert num_bytes("meta/llama") == num_bytes(str(path)) == num_bytes("llama-3-8b") == 4 * 2**30


def test_the_command_line_says_in_one_line_what_is_missing(server):
    command = [sys.executable, "-m", "calculator", "estimate", "org/gone", "--context", "8k"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
