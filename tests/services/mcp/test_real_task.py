"""The chat of a new user works through a real task with two real MCP servers, a memory file and `--files auto` on a 32k
budget: `make test-mcp` installs the servers and runs this."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxtui.offline import offline
from ctxtui.offline.script import parse_script
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.config.config import load
from ctxtui.tui.chat.screen import ChatScreen
from tests.cli.conftest import Run, ctxtui, home
from tests.pty_app import Screen, run
from tests.services.mcp.real_task import (
    FOUR,
    KNOWN,
    NOTE,
    REMEMBERED,
    TASK,
    WINDOW,
    asked_of_four,
    configured,
    configured_four,
    repository,
    script,
)
from tests.services.mcp.small_server import png
from tests.tui.test_chat import asked_for_leave, make_chat, reply, say, shown, until

__all__ = ["ctxtui", "home"]

pytestmark = pytest.mark.skipif(not os.environ.get("REAL_MCP"), reason="make test-mcp runs it")


def test_without_a_screen(ctxtui: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = repository(tmp_path)
    monkeypatch.chdir(work)
    configured(Path(os.environ["CTXTUI_HOME"]), work)
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "user.md").write_text(KNOWN)
    with offline() as server:
        server.server.provider.playback = parse_script(script(work))
        where = ("--provider", "anthropic", "--base-url", server.url, "--model", "claude-opus-5-5")
        leave = ("--allow", "memory_*", "--allow", "write_file")
        ran = ctxtui("run", TASK, *where, *leave, "--files", "auto", "--memory", str(memory), "--json")
        asked = [json.loads(seen.body) for seen in server.server.seen if b'"messages"' in seen.body]
    assert ran.code == 0, ran.err
    told = ran.json["metadata"]
    assert told["rounds_used"] == 7 and told["outcome"] == "done" and "It is 8" in ran.json["result"]
    # What it was asked for is done, and remembered twice.
    assert (work / "docs" / "notes" / "mcp-size.md").read_text() == NOTE
    assert (memory / "ctxtui.md").read_text() == REMEMBERED
    assert "exit code 8 above --max" in (Path(os.environ["CTXTUI_HOME"]) / "graph.json").read_text()
    # The servers' tools were offered, and did what they were called for.
    offered = {tool["name"] for tool in asked[0]["tools"]}
    assert {"mcp__files__read_text_file", "mcp__graph__read_graph", "memory_create", "write_file"} <= offered
    assert "FAILED" in json.dumps(asked[2]["messages"]) and "ctxtui mcp size" in json.dumps(asked[-1]["messages"])
    # Composition, price and the cache's effect are known of every call, and none is over the budget.
    shown = ctxtui("show", told["session"], "--json").json
    assert all(TASK in json.dumps(one["messages"], ensure_ascii=False) for one in asked), "the task is in every request"
    assert shown["context_window"]["limit"] == WINDOW
    assert all(0 < one["context_tokens"] < WINDOW for one in shown["growth"])
    categories = shown["categories"]
    assert categories["tools"] > 3000 and categories["document"] > 500 and categories["memory"] > 10, categories
    assert told["tokens"]["cache_read"] > told["tokens"]["fresh"] and told["cost_usd"] > 0
    ledger = ctxtui("mcp", "--json").json["servers"]
    by_name = {one["name"]: one for one in ledger}
    assert by_name["graph"]["called"] == 3 and by_name["files"]["called"] == 1
    assert by_name["files"]["carried_calls"] == 7 and by_name["files"]["schema_usd"] > 0


def test_four_servers_in_one_run(ctxtui: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each server's tool is called by the model once, its answer is in the next request, and the ledger has all."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("the magic word is xyzzy\n")
    monkeypatch.chdir(work)
    configured_four(Path(os.environ["CTXTUI_HOME"]), work)
    with offline() as server:
        asked_for = asked_of_four(work, server.url)
        said: list[dict[str, object]] = [{"calls": [{"name": name, "input": given}]} for name, given, _ in asked_for]
        server.server.provider.playback = parse_script("\n".join(json.dumps(one) for one in [*said, {"text": "Done."}]))
        where = ("--provider", "anthropic", "--base-url", server.url, "--model", "claude-opus-5-5")
        ran = ctxtui("run", "Use each of your servers.", *where, "--json")
        requests = [json.loads(seen.body)["messages"] for seen in server.server.seen if b'"messages"' in seen.body]
    assert ran.code == 0, ran.err
    assert ran.json["metadata"]["rounds_used"] == len(asked_for) + 1
    for (name, _, answer), messages in zip(asked_for, requests[1:], strict=True):
        assert answer in json.dumps(messages[-1]), (name, messages[-1])
    ledger = {one["name"]: one for one in ctxtui("mcp", "--json").json["servers"]}
    assert {name: ledger[name]["called"] for name in FOUR} == dict.fromkeys(FOUR, 1)


def test_four_servers_in_a_chat_on_a_terminal(tmp_path: Path) -> None:
    """All are awaited by name, each does what the model calls, and the model looks at a picture."""
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("the magic word is xyzzy\n")
    (work / "p.png").write_bytes(png(8))
    # `environment` has ctxtui's own folder there.
    configured_four(home / "ctxtui", work)
    awaited: set[str] = set()
    with offline() as server:
        asked_for = asked_of_four(work, server.url)
        calls = [{"calls": [{"name": name, "input": given}]} for name, given, _ in asked_for]
        picture = {"calls": [{"name": "mcp__files__read_media_file", "input": {"path": str(work / "p.png")}}]}
        answers = [*calls, picture, {"text": "Done with all four."}]
        server.server.provider.playback = parse_script("\n".join(map(json.dumps, answers)))
        where = ("--provider", "anthropic", "--base-url", server.url, "--model", "claude-opus-5-5")
        with run(home, "chat", *where, cwd=work, size=(80, 24)) as terminal:
            screen = Screen(terminal, (80, 24))

            def is_ready(text: str) -> bool:
                (line,) = [row for row in text.splitlines() if "starting MCP servers" in row] or [""]
                awaited.update(name for name in FOUR if name in line)
                return "type a message" in text and "answers" in text

            screen.until(is_ready, "the servers are not ready", 120)
            terminal.type(b"Use each of your servers, then look at p.png.\r")
            screen.until(lambda text: "Done with all four." in text, "the model is not done", 120)
        requests = [json.loads(seen.body)["messages"] for seen in server.server.seen if b'"messages"' in seen.body]
    assert awaited == set(FOUR)
    for (name, _, answer), messages in zip(asked_for, requests[1:], strict=False):
        assert answer in json.dumps(messages[-1]), (name, messages[-1])
    (result,) = requests[-1][-1]["content"]
    assert [part["type"] for part in result["content"]] == ["text", "image"]


async def test_on_the_screen(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = repository(tmp_path)
    monkeypatch.chdir(work)
    configured(Path(os.environ["CTXTUI_HOME"]), work)
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "user.md").write_text(KNOWN)
    flags = ["files=auto", f"memory={memory}", "tips=false"]
    with offline() as server:
        server.server.provider.playback = parse_script(script(work))
        wish = ModelChoice("anthropic", "claude-opus-5-5", server.url)
        app = make_chat(wish, load(flags, cwd=work, env={}, user=Path(os.environ["CTXTUI_HOME"]) / "config.toml"), work)
        async with app.run_test(size=(140, 50)) as pilot:
            screen = app.screen
            assert isinstance(screen, ChatScreen)
            await until(pilot, lambda: screen.state.host.runner is not None)
            await say(screen, pilot, TASK, wait=False)
            await asked_for_leave(screen, pilot)
            assert "write_file docs/notes/mcp-size.md" in shown(screen) and not (work / "docs" / "notes").exists()
            # While it waits: what the context holds, what it cost, how full the window is. Each comes when it is known.
            for words in (" of 24.6k", "call 5", "$0."):
                await until(pilot, lambda words=words: words in shown(screen))  # type: ignore[misc]
            await reply(screen, pilot, "y")
            await until(pilot, lambda: not screen.state.is_running and len(screen.state.host.session.calls) == 7)
            await pilot.press("escape")
            every = ("≡ memory", "¶ document", "ƒ tools", "next call", "read", "It is 8: `FAILED`", "32.8k by setting")
            # Each comes when it is worked out.
            for words in (*every, "saves"):
                await until(pilot, lambda words=words: words in shown(screen))  # type: ignore[misc]
            usage = [call.usage for call in screen.state.host.session.calls.values()]
    assert (work / "docs" / "notes" / "mcp-size.md").read_text() == NOTE
    assert all(one is not None and one.input < WINDOW for one in usage)
    assert all(one is not None and one.cache_read > 0.9 * one.input for one in usage[2:]), "the cache holds"
