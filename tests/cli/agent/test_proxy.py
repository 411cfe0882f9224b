"""`ctxtui proxy`: several clients and providers through one port, each session by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anthropic
import openai
import pytest

from ctxtui.offline import Provider, RunningProvider, Server, offline
from ctxtui.services.recordings.open import load
from tests.cli.conftest import Run
from tests.pty_app import CTXTUI
from tests.warm import warm_ctxtui

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")


@pytest.fixture(scope="module")
def provider() -> Iterator[RunningProvider]:
    with offline(Server(Provider())) as running:
        yield running


def test_several_clients_through_one_port_until_it_is_off(home: Path, provider: RunningProvider, ctxtui: Run) -> None:
    assert ctxtui("proxy", "off").code == 5 and ctxtui("proxy", "status").out == "no relay is running\n"
    command = [*warm_ctxtui(), "proxy", "--port", "0", "--json"]
    command += ["--upstream", f"anthropic={provider.url}", "--upstream", f"gate={provider.openai_url}"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert running.stdout is not None
        urls = json.loads(running.stdout.readline())["urls"]
        assert {"anthropic", "openai", "google", "gate", "ollama", "lm-studio", "llama.cpp", "vllm"} == urls.keys()
        assert ctxtui("proxy", "status", "--json").json["urls"] == urls
        again = ctxtui("proxy", "--port", "0")
        assert again.code == 7 and "already running" in again.err
        said: Any = [{"role": "user", "content": "say hoi"}]
        other: Any = [{"role": "user", "content": "say grüezi"}]
        with anthropic.Anthropic(api_key="k", base_url=urls["anthropic"], max_retries=0) as claude:
            for messages, session in ((said, ""), (other, ""), (said, "one"), (other, "one")):
                headers = {"x-claude-code-session-id": session} if session else {}
                claude.messages.create(
                    model="claude-sonnet-4-5", max_tokens=200, messages=messages, extra_headers=headers
                )
        with openai.OpenAI(api_key="k", base_url=urls["gate"], max_retries=0) as gpt:
            gpt.responses.create(model="gpt-5.6", input="say ade", store=False)
        assert [seen.path for seen in provider.server.seen] == ["/v1/messages"] * 4 + ["/v1/responses"]
        off = ctxtui("proxy", "off")
        assert off.code == 0 and running.wait(60) == 0
    finally:
        running.kill()
    found = {
        path.stem: len(load(path).session.calls)
        for path in (Path(os.environ["CTXTUI_HOME"]) / "attached").glob("*.jsonl")
    }
    assert sorted(found.values()) == [1, 1, 1, 2] and found["one"] == 2


def test_under_nohup_it_stands_when_its_terminal_is_closed(home: Path, ctxtui: Run) -> None:
    command = ["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *CTXTUI, "proxy", "--port", "0", "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert running.stdout is not None
        urls = json.loads(running.stdout.readline())["urls"]
        running.send_signal(signal.SIGHUP)
        # Behind the signal it answers still.
        asked = HTTPConnection(urlsplit(urls["anthropic"]).netloc)
        asked.request("GET", "/nothing")
        assert asked.getresponse().status == 404
        asked.close()
        assert ctxtui("proxy", "status", "--json").json["urls"] == urls
        assert ctxtui("proxy", "off").code == 0 and running.wait(60) == 0
    finally:
        running.kill()


def test_what_cannot_be_recorded_is_said_while_it_stands(home: Path, provider: RunningProvider) -> None:
    # Where the recording would be, something else is.
    (Path(os.environ["CTXTUI_HOME"]) / "attached" / "one.jsonl").mkdir(parents=True)
    command = [*warm_ctxtui(), "proxy", "--port", "0", "--json", "--upstream", f"anthropic={provider.url}"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None and running.stderr is not None
        url = json.loads(running.stdout.readline())["urls"]["anthropic"]
        said: Any = [{"role": "user", "content": "say hoi"}]
        with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as claude:
            for _ in range(2):
                claude.messages.create(
                    model="claude-sonnet-4-5",
                    max_tokens=200,
                    messages=said,
                    extra_headers={"x-claude-code-session-id": "one"},
                )
        told = next(line for line in running.stderr if "not everything was recorded" in line)
        assert "one.jsonl" in told and "Is a directory" in told
        running.terminate()
        assert running.wait(60) == 0
        assert "not everything was recorded" in running.stderr.read()
    finally:
        running.kill()


@pytest.mark.parametrize("upstream", ["x", "a/b=http://x", "x=ftp://y"])
def test_wrong_upstreams_are_refused(ctxtui: Run, upstream: str) -> None:
    ran = ctxtui("proxy", "--port", "0", "--upstream", upstream)
    assert ran.code == 2 and "Traceback" not in ran.err


def test_what_is_left_of_a_killed_one_is_no_relay(ctxtui: Run) -> None:
    folder = Path(os.environ["CTXTUI_HOME"]) / "attached"
    folder.mkdir(parents=True)
    (folder / "proxy.lock").write_text(json.dumps({"pid": 1, "port": 4020}))
    assert ctxtui("proxy", "off").code == 5
