"""`ctxtui mcp serve`: an agent asks for its own context, in the words of the commands; it only reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client

from ctxtui.cli.agent import serve
from ctxtui.cli.agent.serve import RUN, STAGE, server_for
from ctxtui.core.edit import Edit, active_edits
from ctxtui.core.session import Described
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store
from tests.cases.sessions import Story, use
from tests.warm import warm_ctxtui


async def test_an_agent_asks_for_its_own_context(home: Path) -> None:
    session = Story().user("where is the needle?").call("in the haystack").session
    session.fold([Described(id="chat-1", title="t", source="ctxtui", client="ctxtui chat", cwd=str(Path.cwd()))])
    with Store.open(database()) as store:
        store.import_session(session, SourceInfo(format="ctxtui"))
        store.put_artifact("chat-1", "output-1.1", b"all of it")
    async with Client(server_for(Settings())) as client:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert RUN not in offered and set(offered) >= {
            "composition", "dead_weight", "next_call", "ahead", "pins", "blocks", "search", "recall",
        }  # fmt: skip
        assert STAGE not in offered
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in offered.values())

        async def told(tool: str, **given: object) -> str:
            result = await client.call_tool(tool, given)
            return str(getattr(result.content[0], "text", ""))

        assert "call 1" in (await told("composition", session="chat-1")).lower()
        assert await told("recall", name="{{REF:output-1.1}}") == "all of it"
        assert "nothing is stored under 'x'" in await told("recall", name="x")
        assert "no such file, session" in await told("pins", session="--help"), "a name is never an option"
    async with Client(server_for(Settings(), [RUN])) as client:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(offered[RUN].input_schema["properties"]) == {
            "task", "max_rounds", "max_tokens", "max_context_messages", "max_tool_result_length", "servers",
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


async def told(client: Client, tool: str, **given: object) -> str:
    result = await client.call_tool(tool, given)
    return str(getattr(result.content[0], "text", ""))


async def test_an_agent_proposes_edits_where_the_user_lets_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "CTXTUI", warm_ctxtui())
    story = Story(hidden_tokens=0).user("where is the needle?").call(use("1", "Read", path="hay"))
    session = story.results(("1", "hay and straw\n" * 300)).call("in the haystack").session
    session.fold([Described(id="chat-1", title="t", source="ctxtui", client="ctxtui chat", cwd=str(Path.cwd()))])
    with Store.open(database()) as store:
        store.import_session(session, SourceInfo(format="ctxtui"))

    def edits() -> list[Edit]:
        with Store.open(database(), readonly=True) as store:
            return active_edits(store.edits("chat-1", "main"))

    async with Client(server_for(Settings(), [STAGE])) as client:
        assert "`stage` proposes" in str(client.instructions)
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert not offered[STAGE].annotations or not offered[STAGE].annotations.read_only_hint
        name = (await told(client, "blocks", session="chat-1")).split()[0]
        answer = await told(client, STAGE, session="chat-1", drop=[name, "--json"])
        assert "no block '--json'" in answer and edits() == [], "a name is never an option"
        answer = await told(client, STAGE, session="chat-1", drop=[name])
        assert "by agent" in answer and "frees" not in answer and "1 edit staged: in the inspector" in answer
        assert "former name" not in answer
        assert [(edit.kind, edit.author) for edit in edits()] == [("drop", "agent")]
        assert "1 edit reverted" in await told(client, "unstage", session="chat-1") and edits() == []


async def test_tasks_use_the_servers_that_the_user_lets_them_use(home: Path) -> None:
    async with Client(server_for(Settings(), [RUN], ["fi*"])) as client:
        answer = await told(client, RUN, task="x", servers=["github"])
    assert "tasks may use only fi*, not github" in answer
    async with Client(server_for(Settings(), [RUN])) as client:
        answer = await told(client, RUN, task="x", servers=["nobody"])
    assert "no MCP server 'nobody'" in answer


@pytest.mark.parametrize("name", ["~/key.txt", "../home/key.txt", "link.txt"])
async def test_a_task_brings_no_file_along_from_outside(home: Path, name: str) -> None:
    (home / "key.txt").write_text("xyzzy")
    Path("link.txt").symlink_to(home / "key.txt")
    async with Client(server_for(Settings(), [RUN])) as client:
        assert "may attach only files of this directory" in await told(client, RUN, task=f"say @{name}")
