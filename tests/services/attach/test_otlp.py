"""Calls leave as OpenTelemetry spans: what a collector gets, ctxtui reads back; nothing that was said goes unasked."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import Call
from ctxtui.core.errors import BadConfig
from ctxtui.offline import Provider, Server, offline
from ctxtui.services.attach.otlp import collector_headers, traces_url
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open import load
from tests.cases.claude_code_requests import parallel
from tests.cli.conftest import Run
from tests.services.attach.collector import Collector, collector
from tests.warm import warm_ctxtui, warm_python

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
SECRET = "sk-ant-api03-" + "Ab3dE5gH" * 11 + "-AbCdEfAA"


@pytest.fixture
def to() -> Iterator[Collector]:
    with collector() as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


def figures(call: Call) -> tuple[Any, ...]:
    """What of a call goes the whole way."""
    used = call.usage
    tokens = (used.fresh, used.cache_read, used.write_5m, used.write_1h, call.output) if used else ()
    return call.model, round(call.started or 0, 3), tokens, call.stop_reason


def test_a_recorded_session_comes_back_with_its_figures(ctxtui: Run, to: Collector, tmp_path: Path) -> None:
    Path("s.jsonl").write_bytes(parallel().dump())
    ran = ctxtui("export", "s.jsonl", "--otlp", to.url, "--json")
    before = load(Path("s.jsonl")).session
    assert ran.code == 0 and ran.json["sent"] == len(before.calls) > 0
    after = to.session(tmp_path)
    assert to.paths == ["/v1/traces"] and to.headers[0]["content-type"] == "application/x-protobuf"
    assert sorted(map(figures, after.calls.values())) == sorted(map(figures, before.calls.values()))
    assert after.about.id == before.about.id
    # Figures alone: no word of the conversation is in it.
    said = [word for word in before.about.title.split() if len(word) > 5]
    assert not any(word.encode() in body for word in said for body in to.bodies)
    # The same call has the same ids: sent twice it is one.
    assert ctxtui("export", "s.jsonl", "--otlp", to.url).code == 0
    assert len(to.session(tmp_path).calls) == len(before.calls)


def test_with_content_it_says_what_was_said_and_masks_secrets(ctxtui: Run, to: Collector, tmp_path: Path) -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": f"my key is {SECRET}, look"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "x"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a cerulean wall"}]},
        ],
    }
    Path("request.json").write_text(json.dumps(body))
    assert ctxtui("export", "request.json", "--otlp", to.url, "--otlp-content").code == 0
    assert ctxtui("export", "request.json", "--otlp-content").code == 2
    assert SECRET.encode() not in to.bodies[0] and b"cerulean" in to.bodies[0]
    (call,) = to.session(tmp_path).calls.values()
    assert call.model == "claude-sonnet-4-5"
    text = to.bodies[0].decode("utf-8", "replace")
    assert '"tool_call_response"' in text and '"arguments":{"at":"x"}' in text and "Be brief." in text


def test_what_was_not_taken_is_said(ctxtui: Run, to: Collector) -> None:
    Path("s.jsonl").write_bytes(parallel().dump())
    to.status = 503
    ran = ctxtui("export", "s.jsonl", "--otlp", to.url)
    assert ran.code == 7 and "were not sent" in ran.err and "answers 503" in ran.err
    to.status, to.answer = 200, b"\x0a\x08\x08\x01\x12\x04full"  # one span rejected: full
    ran = ctxtui("export", "s.jsonl", "--otlp", to.url)
    assert ran.code == 7 and "refused 1 spans: full" in ran.err
    ran = ctxtui("export", "s.jsonl", "--otlp", "http://127.0.0.1:1")
    assert ran.code == 7 and "127.0.0.1:1" in ran.err


def test_an_answer_that_is_not_http_is_said(ctxtui: Run) -> None:
    Path("s.jsonl").write_bytes(parallel().dump())

    def answer(server: socket.socket) -> None:
        connection, _ = server.accept()
        connection.recv(1 << 16)
        connection.sendall(b"nonsense\r\n\r\n")
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=[server])
        thread.start()
        ran = ctxtui("export", "s.jsonl", "--otlp", f"http://127.0.0.1:{server.getsockname()[1]}")
        thread.join(20)
    assert ran.code == 7 and "were not sent" in ran.err and "nonsense" in ran.err


def test_keys_come_from_the_environment_and_stay_here(
    ctxtui: Run, to: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=se%20cret,x-team=blue")
    Path("s.jsonl").write_bytes(parallel().dump())
    ran = ctxtui("export", "s.jsonl", "--otlp", to.url)
    assert ran.code == 0 and to.headers[0]["api-key"] == "se cret" and to.headers[0]["x-team"] == "blue"
    assert "cret" not in ran.out + ran.err
    for host in ("collector.example.com", "127.example.com"):
        with pytest.raises(BadConfig, match="plain http to another machine"):
            collector_headers(f"http://{host}/v1/traces", Settings(), os.environ)
    assert collector_headers("https://collector.example.com/v1/traces", Settings(), os.environ)


def test_addresses() -> None:
    assert (
        traces_url("http://127.0.0.1:4318")
        == traces_url("http://127.0.0.1:4318/v1/traces/")
        == "http://127.0.0.1:4318/v1/traces"
    )
    assert traces_url("https://x.example/otlp") == "https://x.example/otlp/v1/traces"
    for odd in ("claude", "ftp://x", "http://", "http://user:key@x", "http://[x", "http://x:port", "http://x:0"):
        with pytest.raises(BadConfig):
            traces_url(odd)


SCRIPT = """
import anthropic
client = anthropic.Anthropic(api_key="k-never-seen", max_retries=0)
for word in ("hoi", "ade"):
    said = [{"role": "user", "content": "say " + word}]
    client.messages.create(model="claude-sonnet-4-5", max_tokens=99, messages=said)
"""


def test_a_program_under_exec_is_told_to_the_collector(home: Path, ctxtui: Run, to: Collector, tmp_path: Path) -> None:
    with offline(Server(Provider())) as provider:
        words = [
            "exec",
            "--otlp",
            to.url,
            "--upstream",
            f"anthropic={provider.url}",
            "--",
            *warm_python(),
            "-c",
            SCRIPT,
        ]
        ran = subprocess.run([*warm_ctxtui(), *words], capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0 and ran.stdout == "" and "ctxtui" not in ran.stderr
        (file,) = (Path(os.environ["CTXTUI_HOME"]) / "attached").glob("*.jsonl")
        before, after = load(file).session, to.session(tmp_path)
        assert sorted(map(figures, after.calls.values())) == sorted(map(figures, before.calls.values()))
        assert len(after.calls) == 2 and not any(b"k-never-seen" in body or b"say hoi" in body for body in to.bodies)
        # A collector that is not there holds nobody up, and what is missing is said.
        words[2] = "http://127.0.0.1:1"
        ran = subprocess.run([*warm_ctxtui(), *words], capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0 and "2 spans were not sent" in ran.stderr
        words[2] = "nowhere"
        ran = subprocess.run([*warm_ctxtui(), *words], capture_output=True, text=True, timeout=120)
        assert ran.returncode == 125 and "is not an address of a server" in ran.stderr


@pytest.mark.slow
def test_a_real_backend_shows_the_calls(home: Path, ctxtui: Run, tmp_path: Path) -> None:
    """Phoenix (arize-phoenix): the program that `PHOENIX` names, or on the path."""
    program = os.environ.get("PHOENIX") or shutil.which("phoenix")
    if not program:
        pytest.skip("Phoenix is not installed: pip install arize-phoenix, or PHOENIX=/path/to/phoenix")
    env = {**os.environ, "PHOENIX_WORKING_DIR": str(tmp_path), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": "6026"}
    env |= {"PHOENIX_GRPC_PORT": "6027", "PHOENIX_TELEMETRY_ENABLED": "false"}
    url = "http://127.0.0.1:6026"
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen([program, "serve"], env=env, stdout=log, stderr=log)
    try:
        limit = time.monotonic() + 180
        while not _asked(f"{url}/v1/projects") and time.monotonic() < limit:
            time.sleep(0.5)
        Path("s.jsonl").write_bytes(parallel().dump())
        assert ctxtui("export", "s.jsonl", "--otlp", url, "--otlp-content").code == 0
        wanted = load(Path("s.jsonl")).session
        spans: list[Any] = []
        while len(spans) < len(wanted.calls) and time.monotonic() < limit:
            found = _asked(f"{url}/v1/projects/default/spans?limit=100")
            spans = found["data"] if found else []
            time.sleep(0.2)
        assert {span["name"] for span in spans} == {f"chat {call.model}" for call in wanted.calls.values()}
        assert all(span["span_kind"] == "LLM" for span in spans)
        tokens = sorted(int(span["attributes"]["llm.token_count.prompt"]) for span in spans)
        assert tokens == sorted(call.usage.input for call in wanted.calls.values() if call.usage)
    finally:
        running.kill()
        running.wait(30)


def _asked(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None
