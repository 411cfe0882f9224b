"""`ctxtui mcp serve`: an agent asks for its own context, in the words of the commands; it only reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client

from ctxtui.cli.agent.serve import RUN, server_for
from ctxtui.core.session import Described
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store
from tests.cases.sessions import Story


async def test_an_agent_asks_for_its_own_context(home: Path) -> None:
    session = Story().user("where is the needle?").call("in the haystack").session
    session.fold([Described(id="chat-1", title="t", source="ctxtui", client="ctxtui chat", cwd=str(Path.cwd()))])
    with Store.open(database()) as store:
        store.import_session(session, SourceInfo(format="ctxtui"))
        store.put_artifact("chat-1", "output-1.1", b"all of it")
    async with Client(server_for(Settings())) as client:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert RUN not in offered and set(offered) >= {
            "composition", "dead_weight", "next_call", "ahead", "pins", "search", "recall",
        }  # fmt: skip
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in offered.values())

        async def told(tool: str, **given: object) -> str:
            result = await client.call_tool(tool, given)
            return str(getattr(result.content[0], "text", ""))

        assert "call 1" in (await told("composition", session="chat-1")).lower()
        assert await told("recall", name="{{REF:output-1.1}}") == "all of it"
        assert "nothing is kept under 'x'" in await told("recall", name="x")
        assert "no such file, session" in await told("pins", session="--help"), "a name is never an option"
    async with Client(server_for(Settings(), runs=True)) as client:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(offered[RUN].input_schema["properties"]) == {
            "task", "max_rounds", "max_tokens", "max_context_messages", "max_tool_result_length",
        }  # fmt: skip


@pytest.mark.slow
async def test_the_search_over_sessions(home: Path) -> None:
    session = Story().user("where is the needle?").call("in the haystack").session
    session.fold([Described(id="chat-1", title="t", source="ctxtui", client="ctxtui chat")])
    with Store.open(database()) as store:
        store.import_session(session, SourceInfo(format="ctxtui"))
    async with Client(server_for(Settings())) as client:
        result = await client.call_tool("search", {"query": "needle"})
        assert "needle" in str(getattr(result.content[0], "text", ""))
