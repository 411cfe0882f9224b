"""What today's clients really sent is taken, over loopback, but for what they were refused in the same words."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ctxtui.offline import RunningProvider
from tests.corpus import corpus_params
from tests.offline import talks

TRANSPORT = ("host", "content-length", "connection", "transfer-encoding", "accept-encoding")


def exchanges(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a wire file, each `request` as the whole text that was sent: a line may name an earlier one whose
    first and last characters it shares."""
    sent: dict[int, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        asked = one["request"]
        if isinstance(asked, dict):
            like = sent[asked["like"]]
            one["request"] = like[: asked["head"]] + asked["middle"] + like[len(like) - asked["tail"] :]
        sent[one["n"]] = one["request"]
        yield one


def post(running: RunningProvider, path: str, headers: list[tuple[str, str]], body: bytes) -> tuple[int, bytes]:
    to = urlsplit(running.url)
    connection = http.client.HTTPConnection(str(to.hostname), to.port, timeout=60)
    connection.putrequest("POST", path, skip_accept_encoding=True)
    for name, value in headers:
        if name.lower() not in TRANSPORT:
            connection.putheader(name, value)
    connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    got = answer.status, answer.read()
    connection.close()
    return got


def words(body: str | bytes) -> str:
    """The message of an error body."""
    return str(json.loads(body)["error"]["message"])


@pytest.mark.parametrize("path", corpus_params("clients", "*/**/wire.jsonl"))
def test_recorded_traffic_is_taken(path: Path, running: RunningProvider) -> None:
    asked = 0
    for one in exchanges(path):
        if one["method"] != "POST" or one.get("request_cut"):
            continue
        asked += 1
        headers = [(name, value) for name, value in one["request_headers"]]
        status, body = post(running, one["path"], headers, one["request"].encode("utf-8", "surrogatepass"))
        if status >= 400:
            # What a relay took out on the way was before the place, so only the place may differ.
            reasons = [words(told).partition(": ")[2] for told in (body, one["response"])]
            assert (status, reasons[0]) == (one["status"], reasons[1]), f"{path.parent.name} {one['n']}"
    assert asked


CODEX = [("authorization", "Bearer any"), ("content-type", "application/json")]
CLAUDE_CODE = [("x-api-key", "any"), ("anthropic-version", "2023-06-01"), ("anthropic-beta", ",".join(talks.BETAS))]


def test_requests_like_those_of_codex_are_taken(running: RunningProvider) -> None:
    for body in (talks.codex(), talks.codex_compacting(), talks.codex_compacted()):
        assert post(running, "/v1/responses", CODEX, json.dumps(body).encode())[0] == 200
    wrong = talks.codex(client_metadata=["x"])
    assert post(running, "/v1/responses", CODEX, json.dumps(wrong).encode())[0] == 400


def test_requests_like_those_of_claude_code_are_taken(running: RunningProvider) -> None:
    body = talks.claude_code_compacted()
    assert post(running, "/v1/messages?beta=true", CLAUDE_CODE, json.dumps(body).encode())[0] == 200
    wrong = talks.claude_code_compacted(safeguards=[{"type": "none"}])
    status, told = post(running, "/v1/messages?beta=true", CLAUDE_CODE, json.dumps(wrong).encode())
    assert (status, "Input tag 'none'" in words(told)) == (400, True)
