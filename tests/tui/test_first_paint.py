"""What is imported when the first frame is painted, in an interpreter of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases.claude_code import generate
from tests.sampling import few

HEAVY = set("anthropic openai mcp aiohttp tiktoken sqlite_utils genai_prices pydantic httpx2".split())
NOT_FOR_HOME = set("agent analysis cache curation offline pricing providers store tokens transcripts wire".split())
"""Rooms that Home needs only once it reads sessions; their import would take as long as its first frame."""
SLOW = {"hashlib", "sqlite3", "tomllib", "ctxtui.core.block", "ctxtui.core.canonical"}
"""What takes 1 to 4 ms to import (a first frame has some 30 of its own), and Home's does without."""
RUN = """
import asyncio, json, sys
from ctxtui.services.config.config import load
from ctxtui.tui.start import make_app

async def main(name):
    app = make_app(name, load())
    async with app.run_test(size=(120, 40)) as pilot:
        first = set(sys.modules)
        await pilot.pause(1.5)
        print(json.dumps([sorted(first), sorted(set(sys.modules))]))

asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))
"""
CHAT = """
import asyncio, json, sys
from pathlib import Path
from ctxtui.services.config.config import load
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.tui.start import make_chat

async def main():
    app = make_chat(ModelChoice("offline"), load(), Path.cwd())
    async with app.run_test(size=(120, 40)) as pilot:
        first = set(sys.modules)
        # The provider is met behind the first frame; what counts and prices would come at once after it.
        for _ in range(300):
            await pilot.pause(0.1)
            if "anthropic" in sys.modules:
                break
        await pilot.pause(1.5)
        print(json.dumps([sorted(first), sorted(set(sys.modules))]))

asyncio.run(main())
"""


@pytest.mark.parametrize("what", few(["home", "inspector", "chat"]))
def test_the_first_frame_waits_for_nothing_heavy(what: str, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(generate(n_messages=60, bytes_per_message=300, seed=1))
    env = {**os.environ, "HOME": str(tmp_path), "CTXTUI_HOME": str(tmp_path / "own"), "TEXTUAL_ANIMATIONS": "none"}
    env |= {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    run = CHAT if what == "chat" else RUN
    command = [sys.executable, "-c", run, *([str(path)] if what == "inspector" else [])]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    first, later = (set(names) for names in json.loads(done.stdout.splitlines()[-1]))
    assert "textual" in first
    assert HEAVY & {name.partition(".")[0] for name in first} == set()
    if what == "home":
        assert NOT_FOR_HOME & {name.split(".")[1] for name in first if name.startswith("ctxtui.")} == set()
        assert first & SLOW == set()
    # Counting and pricing have processes of their own: not even later does the screen wait for them. (An SDK that a
    # chat imports in the background brings pydantic along, the offline provider counts in its own thread.)
    apart = {"genai_prices"} if what == "chat" else {"tiktoken", "genai_prices", "pydantic"}
    assert apart & {name.partition(".")[0] for name in later} == set()
