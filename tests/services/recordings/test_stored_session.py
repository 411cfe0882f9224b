"""A stored session that another process goes on with is followed: calls, sub-agents, what waits for an answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from ctxtui.agent import events as ev
from ctxtui.agent.child import Caller, ChildTask, OwnTool
from ctxtui.core.block_content import read
from ctxtui.core.session import MAIN, Session
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.config.paths import database
from ctxtui.services.recordings.follow import Follower
from ctxtui.services.recordings.stored_session import StoredSession
from ctxtui.store.store import Store
from tests.providers.served import served
from tests.services.chatting import MODEL, answer, config, hosted, text, use


def said(session: Session, thread: str) -> list[str]:
    return [read(item.block).text for item in session.tree.items(session.threads[thread].tip) if item.place.role]


async def until(loaded: StoredSession, there: Callable[[Session], bool]) -> None:
    end = time.monotonic() + 30
    while not there(loaded.session):
        assert time.monotonic() < end, (loaded.session.threads, list(loaded.session.calls))
        loaded.add_news(await asyncio.to_thread(loaded.fetch))
        await asyncio.sleep(0.01)


def shape(session: Session) -> Any:
    tree = session.tree

    def blocks(head: int) -> list[str]:
        return [item.block.digest for item in tree.items(head)]

    calls = {
        id_: (call.thread, blocks(call.sent_head), blocks(call.response_head)) for id_, call in session.calls.items()
    }
    threads = {id_: (one.label, one.parent, blocks(one.tip)) for id_, one in session.threads.items()}
    return session.about, calls, threads, session.order, session.happenings


async def test_what_another_process_does_is_seen_as_it_happens(tmp_path: Path) -> None:
    first, child = asyncio.Event(), asyncio.Event()

    async def provider(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        words = str(body["messages"][0]["content"])
        if "part" in words:
            await child.wait()
            await response.write(answer("c1", text("the part is done")))
        elif len(body["messages"]) == 1:
            await first.wait()
            await response.write(answer("m1", use("t1", "spawn")))
        else:
            await response.write(answer("m2", text("all is done")))
        return response

    async def spawn(given: Any, caller: Caller) -> str:
        return (await caller.agents.start(ChildTask(prompt="do the part", label="a part"))).text

    async with served({"/v1/messages": provider}) as server:
        work = tmp_path / "work"
        work.mkdir()
        host = Host(ModelChoice(provider="anthropic", base_url=server.root, model=MODEL), config(tmp_path), work)
        host.own.tools = (OwnTool(name="spawn", description="Start one.", run=spawn, asks=False),)
        async with hosted(host) as made:
            host.feed(ev.UserSaid("go on"))
            assert host.writer is not None
            await made.until(lambda: bool(host.writer and host.writer.acked))
            id_ = host.session.about.id
            loaded = StoredSession(database(tmp_path / "home"), id_)
            assert loaded.is_hosted and loaded.follows
            # What waits for an answer stands there, in the main thread and in the sub-agent's.
            await until(loaded, lambda session: "go on" in said(session, MAIN))
            assert not loaded.session.calls
            first.set()
            await until(
                loaded, lambda session: "agent-1" in session.threads and "do the part" in said(session, "agent-1")
            )
            assert list(loaded.session.calls) == ["m1"] and loaded.session.threads["agent-1"].label == "a part"
            child.set()
            await until(loaded, lambda session: list(session.calls) == ["m1", "c1", "m2"])
            await made.rest()
        await until(loaded, lambda session: said(session, MAIN)[-1] == "all is done")
    with Store.open(database(tmp_path / "home")) as store:
        assert shape(loaded.session) == shape(store.load(id_))
    assert not loaded.is_hosted and not loaded.fetch()
    follower = Follower()
    follower.watch(loaded)
    assert follower.poll() == []


async def test_a_database_that_goes_away_leaves_what_is_shown(tmp_path: Path) -> None:
    async def provider(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(answer("m1", text("hello")))
        return response

    async with served({"/v1/messages": provider}) as server:
        work = tmp_path / "work"
        work.mkdir()
        host = Host(ModelChoice(provider="anthropic", base_url=server.root, model=MODEL), config(tmp_path), work)
        async with hosted(host) as made:
            await made.say("hi")
    path = database(tmp_path / "home")
    loaded = StoredSession(path, host.session.about.id)
    before = shape(loaded.session)
    path.write_bytes(b"no database any more")
    assert not loaded.more() and shape(loaded.session) == before and not loaded.is_hosted
