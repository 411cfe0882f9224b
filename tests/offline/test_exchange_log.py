"""What was asked and answered is written as it was, and opens as a recording."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anthropic
import openai
import pytest

from ctxtui.offline import Provider, RunningProvider, Server, SetClock, offline
from ctxtui.offline.http import server
from ctxtui.offline.http.exchange_log import MASKED, ExchangeLog
from tests.offline import talks
from tests.offline.loop import anthropic_loop, responses_loop
from tests.offline.test_client_traffic import CODEX, post
from tests.transcripts.reading import calls, read, total
from tests.warm import warm_ctxtui

NOW = 1_800_000_000.0
Entry = dict[str, Any]


def logged(running: RunningProvider) -> Entry:
    """The first exchange, once it is written: of a cut connection the client knows before the log."""
    for _ in range(200):
        if found := entries(running):
            return found[0]
        time.sleep(0.02)
    raise AssertionError("nothing was written")


@pytest.fixture
def logging(tmp_path: Path) -> Iterator[RunningProvider]:
    log = ExchangeLog(tmp_path / "logs", NOW)
    with offline(Server(Provider(clock=SetClock(NOW)), log=log)) as running:
        yield running
    log.close()


def log_of(running: RunningProvider) -> ExchangeLog:
    assert running.server.log is not None
    return running.server.log


def entries(running: RunningProvider) -> list[Entry]:
    """The exchanges in the log, which is whole at any time."""
    return list(json.loads(log_of(running).path.read_bytes())["log"]["entries"])


def test_the_log_opens_as_the_session_that_it_was(logging: RunningProvider) -> None:
    assert entries(logging) == []
    with anthropic.Anthropic(api_key="sk-secret", base_url=logging.url) as client:
        _, answers = anthropic_loop(client, "read a.txt then find port in it")
    seen = logging.server.seen
    written = entries(logging)
    assert [entry["request"]["postData"]["text"].encode() for entry in written] == [one.body for one in seen]
    assert all("event: message_stop" in entry["response"]["content"]["text"] for entry in written)
    session = read(log_of(logging).path.read_bytes(), "offline.har")
    assert [call.fidelity.value for call in calls(session)] == ["wire"] * 3
    assert total(session).output == sum(answer.usage.output_tokens for answer in answers)
    assert "sk-secret" not in log_of(logging).path.read_text()
    named = {header["name"].lower(): header["value"] for header in written[0]["request"]["headers"]}
    keys = named.keys() & {"x-api-key", "authorization"}
    assert keys and {named[key] for key in keys} == {MASKED}
    assert "anthropic-version" in named
    told = {header["name"].lower(): header["value"] for header in written[0]["response"]["headers"]}
    assert told["request-id"].startswith("req_")


def test_responses_and_what_is_refused(logging: RunningProvider) -> None:
    logging.server.provider.strict_models = True
    with openai.OpenAI(api_key="any", base_url=logging.openai_url, max_retries=0) as client:
        responses_loop(client, "read a.txt", store=False)
        with pytest.raises(openai.BadRequestError):
            client.responses.create(model="gpt-0")
    session = read(log_of(logging).path.read_bytes(), "offline.har")
    assert [call.extra.get("status") for call in calls(session)] in ([None, None], [None, None, 400])
    last = entries(logging)[-1]
    assert (last["response"]["status"], "does not exist" in last["response"]["content"]["text"]) == (400, True)


def test_what_no_model_reads_is_there_too(logging: RunningProvider) -> None:
    with anthropic.Anthropic(api_key="any", base_url=logging.url) as client:
        client.models.list()
    to = urlsplit(logging.url)
    connection = http.client.HTTPConnection(str(to.hostname), to.port)
    connection.request("HEAD", "/api/hello")
    assert connection.getresponse().status == 404
    assert [(one["request"]["method"], one["response"]["status"]) for one in entries(logging)] == [
        ("GET", 200),
        ("HEAD", 404),
    ]


def test_bytes_that_are_no_text(logging: RunningProvider) -> None:
    assert post(logging, "/v1/responses", CODEX, b'{"a": "\xff"}')[0] == 400
    body = entries(logging)[0]["request"]["postData"]
    assert (base64.b64decode(body["text"]), body["encoding"]) == (b'{"a": "\xff"}', "base64")


@pytest.mark.parametrize("fault", [f"{kind};after=2" for kind in ("disconnect", "garbage", "stream-error")])
def test_an_answer_that_breaks_off_is_what_left(fault: str, logging: RunningProvider) -> None:
    body = json.dumps(talks.codex(stream=True)).encode()
    got = b""
    with contextlib.suppress(http.client.HTTPException, ConnectionError):
        got = post(logging, "/v1/responses", [*CODEX, ("x-ctxtui-fault", fault)], body)[1]
    one = logged(logging)["response"]
    text = one["content"]["text"]
    raw = base64.b64decode(text) if "encoding" in one["content"] else text.encode()
    assert raw.startswith(got)
    assert ("_error" in one) == fault.startswith("disconnect")
    assert raw.count(b"event: response.") == 2


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    told = subprocess.run(
        [*warm_ctxtui(), "offline", "--port", "0", "--log", str(tmp_path / "file" / "logs")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.returncode != 0
    assert "--log" in told.stderr and "Traceback" not in told.stderr


def test_two_logs_of_one_second_are_two_files(tmp_path: Path) -> None:
    one, two = ExchangeLog(tmp_path, NOW), ExchangeLog(tmp_path, NOW)
    assert one.path != two.path and one.path.stat().st_mode & 0o77 == 0
    one.close()
    two.close()


def test_the_command_writes_one_and_says_where(tmp_path: Path) -> None:
    command = [*warm_ctxtui(), "offline", "--port", "0", "--json", "--no-websocket"]
    with subprocess.Popen([*command, "--log", str(tmp_path / "logs")], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            told = json.loads(running.stdout.readline())
            with openai.OpenAI(api_key="any", base_url=told["openai_url"], max_retries=0) as client:
                client.responses.create(model="offline", input="hello")
            to = urlsplit(told["url"])
            connection = http.client.HTTPConnection(str(to.hostname), to.port)
            connection.request("GET", "/v1/responses", headers={"upgrade": "websocket", "authorization": "Bearer a"})
            assert connection.getresponse().status == 426
        finally:
            running.terminate()
    assert running.returncode == 0
    written = json.loads(Path(told["log"]).read_bytes())["log"]["entries"]
    assert [one["response"]["status"] for one in written] == [200, 426]


@pytest.mark.parametrize("query", ["?key=", "?alt=sse&key=", "?alt=sse&$ALT=x&api_key=", "?access_token="])
def test_a_key_in_the_query_is_masked(query: str, logging: RunningProvider) -> None:
    body = json.dumps({"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}).encode()
    key = "AIzaSyA0123456789abcdef"
    path = f"/v1beta/models/gemini-2.5-flash:streamGenerateContent{query}{key}"
    assert post(logging, path, [("content-type", "application/json"), ("x-goog-api-key", "k")], body)[0] == 200
    url = entries(logging)[0]["request"]["url"]
    assert url.endswith(f"{query}{MASKED}") and key not in log_of(logging).path.read_text()
    assert len(calls(read(log_of(logging).path.read_bytes(), "offline.har"))) == 1


def test_requests_that_never_reach_the_provider_are_logged(
    logging: RunningProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(server, "openai_models", fail)
    to = urlsplit(logging.url)
    for path, headers in (
        ("/v1/models", {"Origin": "https://example.com"}),
        ("/v1/messages", {"Content-Length": str(65 * 1024 * 1024)}),
        ("/v1/models", {}),
    ):
        connection = http.client.HTTPConnection(str(to.hostname), to.port)
        body = b"" if "Content-Length" not in headers else b"x" * int(headers["Content-Length"])
        with contextlib.suppress(ConnectionError):
            connection.request("POST" if body else "GET", path, body, headers)
        connection.getresponse().read()
        connection.close()
    statuses = [(one["request"]["url"].rpartition("/")[2], one["response"]["status"]) for one in entries(logging)]
    assert statuses == [("models", 403), ("messages", 413), ("models", 500)]
    assert "only this machine" in entries(logging)[0]["response"]["content"]["text"]
