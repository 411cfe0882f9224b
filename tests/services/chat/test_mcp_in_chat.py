"""A chat whose MCP server crashes, hangs or brings an image goes on; an interrupt reaches the server."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ctxtui.agent import events as ev
from ctxtui.agent import progress as mo
from ctxtui.agent.child import OwnTool
from ctxtui.services.agent_tools.own_tools import OwnTools
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.mcp.connection import ServerConnection, ServerState
from tests.services.chatting import Chat, Served, answer, chat, provider, text, use
from tests.services.mcp.small_server import png
from tests.warm import warm_python

SMALL = Path(__file__).parent.parent / "mcp" / "small_server.py"


@asynccontextmanager
async def chatting(
    tmp_path: Path, script: list[Any], **more: Any
) -> AsyncIterator[tuple[Chat, Served, ServerConnection]]:
    """A chat with the small server, all of whose tools may run."""
    python, *words = warm_python()
    one = f"small = {{command = {json.dumps(python)}, args = {json.dumps([*words, str(SMALL)])}, timeout = 60}}"
    async with provider(script) as server, chat(server, tmp_path, mcp=f"{{{one}}}", **more) as made:
        host = made.host
        assert host.runner is not None and host.tools is not None
        names = frozenset(name for name in host.tool_names if name.startswith("mcp__"))
        assert names
        host.runner.state = replace(host.runner.state, allowed=names)
        yield made, server, host.tools.servers.connection("small")


def results(server: Served, request: int) -> list[Any]:
    """The results in the last message of a request."""
    return list(json.loads(server.bodies[request])["messages"][-1]["content"])


async def test_a_servers_tools_are_counted_as_far_as_the_setting_offers_them(tmp_path: Path) -> None:
    async with chatting(tmp_path, [], tools="mcp__small__picture") as (made, _, _):
        off, on = [await made.host.offer_server("small", on) for on in (False, True)]
        assert made.host.tool_names == ("mcp__small__picture",)
    assert on == "the model is offered 1 tool of the MCP server small" and off == f"{on} no longer"


async def test_a_server_that_is_new_is_offered_in_a_chat_that_continues(tmp_path: Path) -> None:
    python, *words = warm_python()
    one = f"small = {{command = {json.dumps(python)}, args = {json.dumps([*words, str(SMALL)])}, timeout = 60}}"
    async with provider([answer("m1", text("hi")), answer("m2", text("seen"))]) as server:
        async with chat(server, tmp_path) as made:
            await made.say("hoi")
            id_ = made.host.session.about.id
        async with chat(server, tmp_path, ModelChoice(session=id_), mcp=f"{{{one}}}") as made:
            await made.say("and?")
        first, second = (json.loads(body) for body in server.bodies)
    assert "mcp__small__add" in [tool["name"] for tool in second["tools"]]
    assert second["tools"][: len(first["tools"])] == first["tools"] and second["messages"][0] == first["messages"][0]


async def test_an_image_is_sent_as_an_image(tmp_path: Path) -> None:
    script = [answer("m1", use("t1", "mcp__small__picture")), answer("m2", text("black"))]
    async with chatting(tmp_path, script, mcp_images="on") as (made, server, _):
        await made.say("look")
        (told,) = results(server, 1)
        words, image = told["content"]
        assert words["text"].startswith("a picture:\n[image 1: image/png, 3 x 2, ")
        data = base64.b64encode(png(3)).decode()
        assert image == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


async def test_an_image_is_left_out_where_nobody_knows_whether_the_model_sees(tmp_path: Path) -> None:
    script = [answer("m1", use("t1", "mcp__small__picture")), answer("m2", text("what?"))]
    async with chatting(tmp_path, script) as (made, server, _):  # the server is on this machine
        await made.say("look")
        (told,) = results(server, 1)
        assert (
            isinstance(told["content"], str)
            and "the setting mcp_images is off, or auto with a local model" in told["content"]
        )


async def test_a_server_that_crashes_does_not_take_the_chat_down(tmp_path: Path) -> None:
    script = [
        answer("m1", use("t1", "mcp__small__die")),
        answer("m2", text("it died")),
        answer("m3", use("t3", "mcp__small__add", a=2, b=2)),
        answer("m4", text("four")),
    ]
    async with chatting(tmp_path, script) as (made, server, one):
        await made.say("go")
        (died,) = results(server, 1)
        assert died["is_error"] and died["content"] == "the MCP server small ended: dying"
        assert one.state == ServerState.FAILED and not made.host.runner.state.is_running
        await made.say("add then")
        assert results(server, 3)[0]["content"] == "4" and one.state == ServerState.READY, "it is started again"


async def test_an_interrupt_reaches_a_server_that_hangs_and_the_chat_goes_on(tmp_path: Path) -> None:
    script = [
        answer("m1", use("t1", "mcp__small__hang", seconds=600)),
        answer("m2", use("t2", "mcp__small__add", a=2, b=2)),
        answer("m3", text("four")),
    ]
    async with chatting(tmp_path, script) as (made, server, one):
        made.host.feed(ev.UserSaid("go"))
        await made.until(lambda: bool(made.moments(mo.ToolBegan)))
        await made.until(lambda: "hanging" in one.log_text())
        made.host.feed(ev.Interrupted())
        await made.rest()
        async with asyncio.timeout(30):
            while "cancelled" not in one.log_text():
                await asyncio.sleep(0.02)
        await made.say("add then")
        assert results(server, 2)[0]["content"] == "4" and one.state == ServerState.READY


async def test_a_name_that_a_server_and_the_user_give_is_offered_once_and_runs_the_users_tool(tmp_path: Path) -> None:
    name = "mcp__small__add"
    async with chatting(tmp_path, []) as (made, _, _):
        tools = made.host.tools
        assert tools is not None and tools.names.count(name) == 1
        caller, mine = tools.own.caller, OwnTool(name=name, description="Mine.", run=lambda *_: "mine", asks=False)
        tools.own = OwnTools([mine])
        tools.own.caller = caller
        assert [one["description"] for one in map(dict, tools.definitions) if one["name"] == name] == ["Mine."]
        call = ev.ToolCall("t1", name, {})
        assert not tools.asks(name) and (await tools.run(call, None)).text == "mine"
