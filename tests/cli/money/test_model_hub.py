"""The hub is asked for a model's window where the user says so, and never else; without any key."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.cli.conftest import Run

ANSWERS: dict[str, tuple[int, bytes]] = {
    "/acme/tiny/resolve/main/config.json": (200, json.dumps({"max_position_embeddings": 40_960}).encode()),
    "/acme/eyes/resolve/main/config.json": (200, json.dumps({"text_config": {"n_ctx": 8_192}}).encode()),
    "/acme/gated/resolve/main/config.json": (401, b"no"),
    "/acme/odd/resolve/main/config.json": (200, b"<html>"),
    "/acme/mute/resolve/main/config.json": (200, b"{}"),
}


class Hub(BaseHTTPRequestHandler):
    seen: list[tuple[str, dict[str, str]]]

    def do_GET(self) -> None:
        type(self).seen.append((self.path, dict(self.headers)))
        code, body = ANSWERS.get(self.path, (404, b""))
        self.send_response(code)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    here = type("Here", (Hub,), {"seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), here)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    yield here
    server.shutdown()
    server.server_close()


def test_a_window_comes_from_the_hub_where_it_is_asked_for(ctxtui: Run, home: object, hub: type[Hub]) -> None:
    found = ctxtui("budget", "--model", "acme/tiny", "--hub", "--json")
    assert found.code == 0 and found.json["window"] == 40_960 and found.json["usable"] == 30_720, found.err
    assert "/acme/tiny/resolve/main/config.json" in ctxtui("budget", "--model", "acme/tiny", "--hub").out
    assert ctxtui("budget", "--model", "acme/eyes", "--hub", "--json").json["window"] == 8_192
    assert len(hub.seen) == 3 and not any("secret" in str(headers) for _, headers in hub.seen)
    # A size of the settings above the model's own is refused, as it is for files.
    ran = ctxtui("--set", 'models={"acme/tiny" = {context_size = 500000}}', "budget", "--model", "acme/tiny", "--hub")
    assert ran.code == 2 and "500,000" in ran.err and "40,960" in ran.err


def test_nobody_is_asked_unasked(ctxtui: Run, home: object, hub: type[Hub]) -> None:
    assert ctxtui("budget", "--model", "acme/tiny").code == 2
    assert ctxtui("budget", "--model", "qwen2.5-coder:32b").code == 0
    assert hub.seen == []


@pytest.mark.parametrize(
    ("model", "code", "words"),
    [
        ("acme/none", 5, "the hub has no config.json of acme/none"),
        ("acme/gated", 7, "there is no such public model, and no key of yours is sent"),
        ("acme/odd", 7, "not a valid config.json"),
        ("acme/mute", 4, "has no window"),
        ("tiny", 2, "is not a model of a hub"),
        ("../etc/passwd", 2, "is not a model of a hub"),
    ],
)
def test_what_the_hub_does_not_tell_is_said(
    ctxtui: Run, home: object, hub: type[Hub], model: str, code: int, words: str
) -> None:
    ran = ctxtui("budget", "--model", model, "--hub")
    assert words in ran.err and ran.code == code, ran.err


def test_a_hub_that_does_not_answer(ctxtui: Run, home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    ran = ctxtui("budget", "--model", "acme/tiny", "--hub")
    assert ran.code == 7 and "the hub does not answer" in ran.err and "context_size" in ran.err
