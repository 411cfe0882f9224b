"""Sub-agents: threads of the session with a context of their own, side by side, ended with their turn, on record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from ctxtui.agent import events as ev
from ctxtui.agent.child import AGENT, Caller, ChildResult, ChildTask, OwnTool
from ctxtui.agent.events import ToolLeave
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import MAIN
from ctxtui.curation.legality.legality import check
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.continue_from import find_continuation
from ctxtui.services.chat.host import Host
from ctxtui.services.config.paths import database
from ctxtui.store.sessions.in_flight import pending_events
from ctxtui.store.store import Store
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.providers.served import Served, served
from tests.services.chatting import MODEL, answer, chat, config, hosted, mo, text, use

Say = Callable[[dict[str, Any]], Any]


@asynccontextmanager
async def provider(replies: Say) -> AsyncIterator[Served]:
    """Answers each request with what `replies` makes of its body: an event stream, or a coroutine that sends one."""

    async def messages(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        assert check("anthropic", body) == []
        made = replies(json.loads(body))
        if asyncio.iscoroutine(made):
            made = await made
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(made)
        await response.write_eof()
        return response

    async with served({"/v1/messages": messages}) as server:
        yield server


def last_of(body: dict[str, Any]) -> Any:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[0].get("text", content[0])


def asked(body: dict[str, Any]) -> str:
    """The first words of a request's talk."""
    content = body["messages"][0]["content"]
    return str(content if isinstance(content, str) else content[0]["text"])


async def test_an_agent_starts_agents_side_by_side_and_all_is_on_record(tmp_path: Path) -> None:
    together = asyncio.Barrier(2)
    count = iter(range(100))

    def reply(body: dict[str, Any]) -> Any:
        async def of_child() -> bytes:
            # Neither answers before both were asked.
            await together.wait()
            return answer(f"c{next(count)}", text(f"done: {asked(body)}"))

        if asked(body) in ("left", "right"):
            return of_child()
        if len(body["messages"]) == 1:
            calls = [use(f"t{n}", AGENT, task=words, label=f"the {words}") for n, words in enumerate(("left", "right"))]
            return answer("m1", text("I start two."), *calls)
        return answer("m2", text("both came"))

    async with provider(reply) as server, chat(server, tmp_path, agents="true") as made:
        made.host.feed(ev.UserSaid("start two"))
        for _ in range(2):
            await made.until(lambda: bool(state.planned) if (state := made.host.runner.state) else False)  # type: ignore[union-attr]
            runner = made.host.runner
            assert runner is not None
            made.host.feed(ev.Permitted(runner.state.to_ask[0], ToolLeave.ONCE))
        await made.rest()
        session = made.host.session
        assert [(t.id, t.label, t.parent) for t in session.threads.values()][1:] == [
            ("agent-1", "the left", MAIN),
            ("agent-2", "the right", MAIN),
        ]
        results = made.moments(mo.ToolResultsAdded)[0].results
        assert [one.text for one in results] == ["done: left", "done: right"]
        # Nothing of the parent's talk, and none of its tools that ask.
        child = next(one for one in server.bodies if asked(json.loads(one)) == "left")
        offered = {tool["name"] for tool in json.loads(child).get("tools", ())}
        assert "read_file" in offered and not offered & {AGENT, "write_file", "run_command"}
        id_ = session.about.id
    with Store.open(database(tmp_path / "home")) as store:
        kept = store.load(id_)
    assert {t.id: t.label for t in kept.threads.values()} == {MAIN: "", "agent-1": "the left", "agent-2": "the right"}
    assert [len(kept.thread_calls(thread)) for thread in (MAIN, "agent-1", "agent-2")] == [2, 1, 1]
    call = kept.thread_calls("agent-1")[0]
    assert call.skeleton is not None
    body = encode(Request(tuple(kept.tree.items(call.sent_head)), call.skeleton))
    assert body in server.bodies, "what a sub-agent was sent is on record byte for byte"
    past = find_continuation(id_, "agent-1", 0, made.host.config.settings, tmp_path)
    assert not past.stored and past.origin is not None and past.origin.thread == "agent-1"


def own(run: Any, name: str = "spawn") -> OwnTool:
    return OwnTool(name=name, description="Start agents.", run=run, asks=False)


async def with_tool(server: Served, tmp_path: Path, tool: OwnTool, **settings: Any) -> Host:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    host = Host(
        ModelChoice(provider="anthropic", base_url=server.root, model=MODEL), config(tmp_path, **settings), work
    )
    host.own.tools = (tool,)
    return host


async def test_esc_ends_all_of_them_and_keeps_what_was_heard(tmp_path: Path) -> None:
    streaming = asyncio.Barrier(4)

    async def endless(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        if "go" in asked(body):
            await response.write(answer("m1", use("t1", "spawn")))
            return response
        whole = answer(f"c-{asked(body)}", text("words that come in and never end " * 20))
        await response.write(whole[: len(whole) // 2])
        await streaming.wait()
        await asyncio.Event().wait()
        return response

    async def spawn(given: Any, caller: Caller) -> str:
        await caller.agents.start_all([ChildTask(prompt=f"part {n}") for n in range(3)])
        return "never"

    async with served({"/v1/messages": endless}) as server:
        host = await with_tool(server, tmp_path, own(spawn))
        async with hosted(host) as made:
            host.feed(ev.UserSaid("go"))
            await streaming.wait()
            await made.until(lambda: len(made.moments(mo.CallBegan)) == 4)
            host.feed(ev.Interrupted())
            await made.rest()
            await made.until(lambda: len(made.moments(mo.CallEnded)) == 4)
            told = {news.thread for news in made.news if isinstance(news.moment, mo.TurnEnded)}
            assert told == {MAIN, "agent-1", "agent-2", "agent-3"}
            id_ = host.session.about.id
    with Store.open(database(tmp_path / "home")) as store:
        kept = store.load(id_)
    for thread in ("agent-1", "agent-2", "agent-3"):
        [call] = kept.thread_calls(thread)
        assert call.error == "interrupted" and kept.tree.items(call.response_head, call.raw_head)
    assert pending_events(database(tmp_path / "home"), id_) == [] or all(
        one.thread == MAIN for one in pending_events(database(tmp_path / "home"), id_)
    )


async def test_closing_a_chat_keeps_what_its_agents_heard(tmp_path: Path) -> None:
    heard = asyncio.Event()

    async def half(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        if "go" in asked(body):
            await response.write(answer("m1", use("t1", "spawn")))
            return response
        whole = answer("c1", text("half of an answer " * 30))
        await response.write(whole[: len(whole) // 2])
        heard.set()
        await asyncio.Event().wait()
        return response

    async def spawn(given: Any, caller: Caller) -> str:
        return (await caller.agents.start(ChildTask(prompt="part"))).text

    async with served({"/v1/messages": half}) as server:
        host = await with_tool(server, tmp_path, own(spawn))
        async with hosted(host) as made:
            host.feed(ev.UserSaid("go"))
            await heard.wait()
            await made.until(lambda: len(made.moments(mo.CallBegan)) == 2)
            id_ = host.session.about.id
    with Store.open(database(tmp_path / "home")) as store:
        kept = store.load(id_)
    assert kept.thread_calls("agent-1")[0].error == "interrupted"


async def test_limits_hold_and_what_cannot_begin_says_so(tmp_path: Path) -> None:
    count = iter(range(100))
    seen: list[ChildResult] = []
    faults: list[Exception] = []

    def reply(body: dict[str, Any]) -> bytes:
        n = next(count)
        if asked(body) == "go":
            done = len(body["messages"]) > 1
            return answer(f"m{n}", text("over") if done else use("t1", "spawn"))
        return answer(f"m{n}", use(f"t{n}", "list_dir"))

    async def spawn(given: Any, caller: Caller) -> str:
        seen.append(await caller.agents.start(ChildTask(prompt="on and on", tools=("list_dir",), rounds=3)))
        seen.append(await caller.agents.start(ChildTask(prompt="too dear", budget_usd=0.0)))
        for task in (ChildTask(prompt=" "), ChildTask(prompt="x", tools=("list_dirs",))):
            try:
                await caller.agents.start(task)
            except CtxtuiError as error:
                faults.append(error)
        raise RuntimeError("the tool itself fails")

    async with provider(reply) as server:
        host = await with_tool(server, tmp_path, own(spawn))
        async with hosted(host) as made:
            await made.say("go")
            [result] = made.moments(mo.ToolResultsAdded)[-1].results
    assert seen[0].rounds == 3 and seen[0].why == "3 rounds in this turn"
    assert seen[0].usage.input == 300 and seen[0].thread == "agent-1"
    assert seen[1].rounds == 0 and "over $0" in seen[1].why
    assert "empty" in str(faults[0]) and isinstance(faults[1], NotFound) and "list_dirs" in str(faults[1])
    assert result.is_error and "RuntimeError: the tool itself fails" in result.text


async def test_the_others_wait_for_the_first_ones_answer_where_they_are_to_read_its_cache(tmp_path: Path) -> None:
    order: list[str] = []

    def reply(body: dict[str, Any]) -> bytes:
        order.append(asked(body))
        if asked(body) == "go":
            return answer(f"m{len(order)}", text("over") if len(body["messages"]) > 1 else use("t1", "spawn"))
        return answer(f"m{len(order)}", text("done"))

    async def spawn(given: Any, caller: Caller) -> str:
        tasks = [ChildTask(prompt=f"part {n}", system="same") for n in range(4)]
        done = await caller.agents.start_all(tasks, after_first=True)
        return " ".join(one.thread for one in done)

    async with provider(reply) as server:
        host = await with_tool(server, tmp_path, own(spawn))
        async with hosted(host) as made:
            await made.say("go")
            [result] = made.moments(mo.ToolResultsAdded)[-1].results
    assert result.text == "agent-1 agent-2 agent-3 agent-4" and order[:2] == ["go", "part 0"]


async def test_an_agent_has_no_agents(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> bytes:
        if asked(body) == "go":
            over = len(body["messages"]) > 1
            return answer(f"m{over}", text("over") if over else use("t1", "spawn"))
        last = last_of(body)
        return answer("c2", text(last["content"])) if isinstance(last, dict) else answer("c1", use("t2", "spawn"))

    async def spawn(given: Any, caller: Caller) -> str:
        return (await caller.agents.start(ChildTask(prompt="part", tools=("spawn",)))).text

    async with provider(reply) as server:
        host = await with_tool(server, tmp_path, own(spawn))
        async with hosted(host) as made:
            await made.say("go")
            [result] = made.moments(mo.ToolResultsAdded)[-1].results
    assert "a sub-agent cannot start agents" in result.text


@pytest.mark.parametrize("name", ["read_file", "recall", "run_command"])
async def test_a_tool_of_ones_own_takes_no_other_tools_place(tmp_path: Path, name: str) -> None:
    host = Host(ModelChoice("offline"), config(tmp_path), tmp_path)
    host.own.tools = (own(lambda given, caller: "", name),)
    with pytest.raises(CtxtuiError, match=f"there is a tool {name} of ctxtui already"):
        host.open()


async def test_policies_of_an_agent_with_another_model_aim_at_its_window(tmp_path: Path) -> None:
    host = Host(ModelChoice("offline"), config(tmp_path), tmp_path)
    async with hosted(host):
        own_model = host.chat_model
        assert own_model is not None
        small = replace(own_model, window=own_model.window // 4)
        usable = [host.children.request_editor("agent-1", model).usable for model in (own_model, small)]
    assert 0 < usable[1] < usable[0] == host.files.usable_tokens
