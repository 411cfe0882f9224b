"""`ctxtui.record()` in frameworks that ask by httpx or an SDK: every byte of a request is on record once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sysconfig
from pathlib import Path

import pytest

from ctxtui.services.recordings.open import load
from tests.clients.client import ROOT, Client
from tests.clients.lab import lab
from tests.clients.mini_swe_agent import MINI_SWE_AGENT
from tests.clients.pydantic_ai import PYDANTIC_AI
from tests.clients.registry import ASKED, left_out
from tests.clients.test_attached import bodies_at_the_provider, bodies_on_record

_BEGIN = """\
import sys
# Ours behind the framework's own packages, whose versions count.
sys.path += [{root!r}, {ours!r}]
import ctxtui
"""
_LITELLM = """\
import asyncio
import litellm
said = [{"role": "user", "content": "say what cerulean is"}]
given = dict(model="anthropic/claude-sonnet-4-5", messages=said, max_tokens=200)
with ctxtui.record(session="run") as run:
    litellm.completion(**given)
    for _ in litellm.completion(**given, stream=True):
        pass
    asyncio.run(litellm.acompletion(**given))
assert not run.troubles, run.troubles
"""
_PYDANTIC_AI = """\
from pydantic_ai import Agent
agent = Agent("anthropic:claude-sonnet-4-5", instructions="You help.")

@agent.tool_plain
def bash(command: str) -> str:
    '''Run a command.'''
    return "done"

with ctxtui.record(session="run") as run:
    agent.run_sync("run `ls`")
    with agent.run_stream_sync("say what cerulean is") as told:
        told.get_output()
assert not run.troubles, run.troubles
"""
_LANGCHAIN = """\
import asyncio
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
said = "say what cerulean is"
models = [
    ChatAnthropic(model="claude-sonnet-4-5", max_tokens=200),
    ChatOpenAI(model="gpt-5.6"),
    ChatOpenAI(model="gpt-5.6", use_responses_api=True),
]
with ctxtui.record(session="run") as run:
    for model in models:
        assert "cerulean" in str(model.invoke(said).content)
        assert "cerulean" in "".join(str(one.content) for one in model.stream(said))

    async def ask():
        for model in models:
            await model.ainvoke(said)
            async for _ in model.astream(said):
                pass

    asyncio.run(ask())
assert not run.troubles, run.troubles
"""
LANGCHAIN = dataclasses.replace(
    PYDANTIC_AI,
    name="langchain",
    env={**PYDANTIC_AI.env, "OPENAI_API_KEY": "any", "OPENAI_BASE_URL": "{url}/v1"},
)


@pytest.mark.parametrize(
    ("client", "script"),
    [(MINI_SWE_AGENT, _LITELLM), (PYDANTIC_AI, _PYDANTIC_AI), (LANGCHAIN, _LANGCHAIN)],
    ids=["litellm", "pydantic-ai", "langchain"],
)
def test_a_framework_is_recorded_in_its_own_process(client: Client, script: str, tmp_path: Path) -> None:
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(client.name):
        pytest.skip(f"left out by CLIENTS: {client.name}")
    begin = _BEGIN.format(root=str(ROOT), ours=sysconfig.get_path("purelib"))
    with lab(dataclasses.replace(client, files={"work/agent.py": begin + script}), tmp_path / "lab") as place:
        env = {**place.env, "CTXTUI_HOME": str(place.home / "ctxtui")}
        command = [client.program("python"), "agent.py"]
        place.space.run(command, cwd=place.work, env=env, log=place.printed, seconds=180)
        (recording,) = (place.home / "ctxtui" / "attached").glob("*.jsonl")
        lines = [json.loads(line) for line in recording.read_text().splitlines()]
        arrived = bodies_at_the_provider(place)
        assert len(arrived) >= 3
        assert sorted(bodies_on_record(lines)) == sorted(hashlib.sha256(one).hexdigest() for one in arrived)
        calls = load(recording).session.calls.values()
        asked = [one for one in place.seen() if one.asks]
        assert sorted(call.id for call in calls) == sorted(str(one.answer.get("id")) for one in asked)
