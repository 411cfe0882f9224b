"""`ctxtui exec -- python agent.py`, as one uses it: each request is seen as it leaves, one is held, a stale result is
dropped from it, and the agent goes on."""

from __future__ import annotations

import asyncio
import os
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from ctxtui.offline import Provider, Server
from ctxtui.offline.http.hosting import serving
from ctxtui.services.attach.control import Control
from ctxtui.services.attach.held_requests import read_status
from ctxtui.services.config.config import load as load_config
from ctxtui.services.recordings.open import load
from ctxtui.tui.commands.situation import ATTACHED
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from tests.attach.test_keep_warm import warming
from tests.tui.inspector.test_inspector import settled, text, until
from tests.warm import warm_ctxtui, warm_python

AGENT = """\
import time, anthropic
from pathlib import Path
client = anthropic.Anthropic(max_retries=0, api_key="k")
listing = "a stale listing " * 100
said = [
    {"role": "user", "content": "list the folder"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": listing}]},
]
tools = [{"name": "ls", "description": "Lists.", "input_schema": {"type": "object", "properties": {}}}]
for words in ("", "what now?", "and then?"):
    if words:
        while not Path(words.replace("?", "")).exists():
            time.sleep(0.05)
        said.append({"role": "user", "content": words})
    asked = dict(model="claude-sonnet-4-5", max_tokens=99, tools=tools, messages=said)
    with client.messages.stream(**asked) as stream:
        answer = stream.get_final_message()
    said.append({"role": "assistant", "content": "I see."})
print("done")
"""


async def test_one_works_sees_holds_drops_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text(AGENT)
    async with serving(Server(Provider())) as provider:
        command = [*warm_ctxtui(), "exec", "--", *warm_python(), "agent.py"]
        env = {**os.environ, "ANTHROPIC_BASE_URL": provider.url}
        agent = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            folder, seen = tmp_path / "ctxtui" / "attached", provider.server.seen
            async with asyncio.timeout(120):
                while not any(
                    load(path).session.calls for path in folder.glob("*.jsonl") if path.stat().st_size > 5000
                ):
                    await asyncio.sleep(0.05)
            (path,) = folder.glob("*.jsonl")
            app = make_app(str(path), load_config(cwd=tmp_path))
            async with app.run_test(size=(80, 24)) as pilot:
                screen = app.screen
                assert isinstance(screen, InspectorScreen)
                await settled(screen, pilot)
                await until(pilot, lambda: ATTACHED in screen._command_context().facts)
                await pilot.press("ctrl+o")
                await until(pilot, lambda: "will be held" in text(screen))
                await until(pilot, lambda: read_status(path).next)
                Path("what now").touch()
                await until(pilot, lambda: screen.line.is_asking and "what now?" in text(screen))
                assert len(seen) == 1
                await pilot.press("escape")
                data = screen.panels.transcript.data
                assert data is not None and screen.state.study is not None
                tree = screen.state.study.session.tree
                rows = [
                    n for n in range(data.count) if data.entry(n) > 0 and b"stale" in tree[data.entry(n)].block.body
                ]
                screen.panels.transcript.move_to(rows[0])
                await until(pilot, screen.edits.is_editable)
                await pilot.press("d")
                await until(pilot, lambda: screen.edits.overlay is not None and bool(screen.edits.overlay.staged))
                await pilot.press("ctrl+o")
                await until(pilot, lambda: "apply 1 edit" in text(screen))
                await pilot.press("a")
                Path("and then").touch()
                await until(pilot, lambda: screen.state.count == 3)
            assert (await asyncio.to_thread(agent.wait, 60)) == 0
            # The first one left as the agent sent it, the others without the listing, though it sent it each time.
            assert [b"stale" in one.body for one in seen] == [True, False, False]
            assert b"and then?" in seen[2].body
            # What is on record of each is what left, byte for byte.
            assert all(sha256(one.body).hexdigest() in path.read_text() for one in seen)
            calls = load(path).session.thread_calls()
            assert [call.extra.get("edits", {}).get("released") for call in calls] == [None, "apply", None]
        finally:
            agent.kill()
            agent.wait()


async def test_the_next_call_pane_says_how_the_cache_is_kept_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "ctxtui" / "attached"
    folder.mkdir(parents=True)
    async with warming(folder, cap=0.005) as run:
        await run.ask()
        await run.pause(900)
        assert run.warm.count == 1
        await run.loaded()
        control = Control(folder, "r", run.gate.handle)
        await control.start()
        app = make_app(str(run.path), load_config(cwd=tmp_path))
        async with app.run_test(size=(120, 40)) as pilot:
            screen = app.screen
            assert isinstance(screen, InspectorScreen)
            await until(pilot, lambda: "the cache is not kept warm: the limit of $0.005 is reached" in text(screen))
            await until(pilot, lambda: f"kept warm 1×, ${run.warm.usd:.3f} of $0.005" in text(screen))
        await control.close()
