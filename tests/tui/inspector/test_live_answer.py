"""The answer to an attached program's request is on screen while it comes in; nothing of it is kept twice."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ctxtui.core.session import AnswerGrew
from ctxtui.services.config.config import load as load_config
from ctxtui.services.recordings.open import load, open_recording
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from tests.transcripts.formats.test_attached import dump, lines
from tests.tui.inspector.test_inspector import text, until
from tests.warm import warm_ctxtui, warm_python

AGENT = """\
import anthropic
client = anthropic.Anthropic(max_retries=0, api_key="k")
with client.messages.stream(
    model="claude-sonnet-4-5", max_tokens=99, messages=[{"role": "user", "content": "tell me slowly"}]
) as stream:
    print(stream.get_final_text())
"""
BEGUN = {"id": "msg_slow", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []}
BEGUN |= {"stop_reason": None, "usage": {"input_tokens": 20, "output_tokens": 1}}


def words(text: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


FIRST = [
    {"type": "message_start", "message": BEGUN},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    words("the first half, "),
]
SECOND = [words("some more, ")]
LAST = [
    words("and the end"),
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]


def sse(events: list[dict[str, object]]) -> bytes:
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


@pytest.fixture
def steps() -> Iterator[tuple[str, list[threading.Event]]]:
    """A provider that goes on when it is told to: its address, and what lets it take each further step."""
    go = [threading.Event(), threading.Event()]

    class Slow(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for part, wait in ((FIRST, go[0]), (SECOND, go[1]), (LAST, None)):
                self.wfile.write(sse(part))
                self.wfile.flush()
                if wait is not None:
                    wait.wait(120)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", go
    finally:
        for one in go:
            one.set()
        server.shutdown()
        thread.join()
        server.server_close()


async def test_words_are_on_screen_before_the_answer_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: tuple[str, list[threading.Event]]
) -> None:
    url, go = steps
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text(AGENT)
    env = {**os.environ, "ANTHROPIC_BASE_URL": url}
    agent = subprocess.Popen(
        [*warm_ctxtui(), "exec", "--", *warm_python(), "agent.py"], env=env, stdout=subprocess.PIPE
    )
    try:
        folder = tmp_path / "ctxtui" / "attached"
        async with asyncio.timeout(120):
            while not any(b"first half" in path.read_bytes() for path in folder.glob("*.jsonl")):
                await asyncio.sleep(0.05)
        (path,) = folder.glob("*.jsonl")
        app = make_app(str(path), load_config(cwd=tmp_path))
        async with app.run_test(size=(100, 30)) as pilot:
            screen = app.screen
            assert isinstance(screen, InspectorScreen)
            await until(pilot, lambda: "the first half," in text(screen) and "tell me slowly" in text(screen))
            assert agent.poll() is None and not screen.state.study.session.calls
            go[0].set()
            await until(pilot, lambda: "some more," in text(screen))
            assert agent.poll() is None and not screen.state.study.session.calls
            go[1].set()
            await until(pilot, lambda: len(screen.state.study.session.calls) == 1)
            await until(pilot, lambda: screen.panels.transcript.data.answer is None)
            await until(pilot, lambda: "tokens reported" in text(screen))
            assert text(screen).count("the first half,") == 1
        out, _ = await asyncio.to_thread(agent.communicate, None, 60)
        assert b"the first half, some more, and the end" in out
    finally:
        agent.kill()
        agent.wait()


def test_it_is_told_as_it_grows_and_kept_nowhere(tmp_path: Path) -> None:
    told = lines()
    path = tmp_path / "s.jsonl"
    path.write_bytes(dump(told[:3]))
    loaded, news = open_recording(path)
    heard = [event for some in news for event in loaded.add_news(some) if isinstance(event, AnswerGrew)]
    assert not heard
    for part, said in ((FIRST, "the first half, "), (SECOND, "the first half, some more, ")):
        with path.open("ab") as out:
            out.write(dump([{"x": "a", "at": 2.5, "data": sse(part).decode()}]))
        heard = [event for event in loaded.more() if isinstance(event, AnswerGrew)]
        assert heard == [AnswerGrew("main", (("text", said),))]
        assert not loaded.session.calls and len(loaded.session.threads) == 1
    with path.open("ab") as out:
        out.write(dump([{"x": "a", "at": 2.6, "data": sse(LAST).decode()}, {"x": "a", "at": 3.0, "ended": True}]))
    events = loaded.more()
    assert AnswerGrew("main") in events and len(loaded.session.calls) == 1
    whole = load(path).session
    assert whole.calls.keys() == loaded.session.calls.keys() == {"msg_slow"}
    assert whole.threads == loaded.session.threads


async def test_what_came_before_the_screen_was_opened_is_there_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    path = tmp_path / "ctxtui" / "attached" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(dump([*lines()[:3], {"x": "a", "at": 2.5, "data": sse(FIRST).decode()}]))
    app = make_app(str(path), load_config(cwd=tmp_path))
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await until(pilot, lambda: screen.state.complete and "the first half," in text(screen))
