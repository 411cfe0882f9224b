"""A chat that another process hosts: told who has it, never recovered, gone on with as a branch."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from ctxtui.agent import events as ev
from ctxtui.agent import progress as mo
from ctxtui.core.errors import InUse, Malformed
from ctxtui.core.session import MAIN
from ctxtui.core.tree import Tree
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.resume import host_place, is_unfinished, unfinished_here
from ctxtui.services.library.library import SessionLibrary
from ctxtui.store import leases
from ctxtui.store.host_process import begin_hosting
from ctxtui.store.sessions.in_flight import pending_events
from ctxtui.store.store import Store
from ctxtui.store.writer import InFlight, SessionResumed, Writer
from tests.services.chat.test_host import PART, database, hanging
from tests.services.chatting import answer, chat, config, provider, text


def go_on_and_wait(path: Path, id_: str, pipe: Connection) -> None:
    """A process that hosts the chat, in the middle of a turn, until it is killed."""
    leases.claim(path, id_, mine := begin_hosting(time.time()))
    writer = Writer(path, Tree(), host=mine)
    writer.put(SessionResumed(id_))
    writer.put(InFlight("", 1.0, "said", "said elsewhere"))
    assert writer.wait(10)
    pipe.send(os.getpid())
    time.sleep(60)


async def test_a_chat_of_another_process_is_refused_until_that_is_killed(tmp_path: Path) -> None:
    script = [answer("m1", text("one")), answer("b1", text("branched")), answer("m2", text("two"))]
    async with provider(script) as server:
        async with chat(server, tmp_path) as made:
            await made.say("first")
            id_ = made.host.session.about.id
        path, settings = database(tmp_path), config(tmp_path).settings
        assert host_place(id_, settings) == ""
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        other = spawn.Process(target=go_on_and_wait, args=(path, id_, theirs), daemon=True)
        other.start()
        assert ours.poll(30)
        with pytest.raises(InUse) as told:
            Host(ModelChoice(session=id_), config(tmp_path), tmp_path / "work").open()
        assert told.value.pid == other.pid and told.value.session == id_
        assert f"process {other.pid} since" in host_place(id_, settings)
        assert not is_unfinished(id_, settings) and unfinished_here(tmp_path / "work", settings) == ""
        (home,) = [one for one in SessionLibrary(settings, tmp_path).join_stored(()) if one.stored == id_]
        assert home.live
        async with chat(server, tmp_path, ModelChoice(session=id_, call=1)) as made:
            await made.say("a branch")
            assert made.host.session.about.id != id_
        assert other.pid is not None
        os.kill(other.pid, signal.SIGKILL)
        other.join(10)
        assert host_place(id_, settings) == "" and is_unfinished(id_, settings)
        async with chat(server, tmp_path, ModelChoice(session=id_)) as made:
            assert made.host.recovered.replayed == 1
            await made.say("second")
        with Store.open(path) as store:
            back = store.load(id_)
        every = [str(item.block.body) for item in back.tree.items(back.threads[MAIN].tip)]
        words = ("said elsewhere", "second", "a branch")
        assert [sum(one in body for body in every) for one in words] == [1, 1, 0]


async def test_an_answer_that_comes_in_here_is_not_recovered_there(tmp_path: Path) -> None:
    part = PART[: PART.index(b"read_file") + 300]
    async with provider([answer("m0", text("zero")), hanging(part)]) as server, chat(server, tmp_path) as made:
        await made.say("zero")
        made.host.feed(ev.UserSaid("tell"))
        await made.until(lambda: len(made.moments(mo.PieceReceived)) > 3)
        writer = made.host.writer
        assert writer is not None and writer.wait(5)
        id_ = made.host.session.about.id
        with pytest.raises(InUse) as told:
            Host(ModelChoice(session=id_), config(tmp_path), tmp_path / "work").open()
        assert told.value.pid == os.getpid()
        assert not is_unfinished(id_, config(tmp_path).settings)
        with Store.open(database(tmp_path)) as store:
            assert list(store.load(id_).calls) == ["m0"]
        made.host.feed(ev.Interrupted())
        await made.rest()


async def test_a_chat_that_was_opened_and_never_begun_lets_go(tmp_path: Path) -> None:
    async with provider([answer("m1", text("one"))]) as server:
        async with chat(server, tmp_path) as made:
            await made.say("first")
            id_ = made.host.session.about.id
        host = Host(ModelChoice(session=id_), config(tmp_path), tmp_path / "work")
        host.open()
        assert host_place(id_, config(tmp_path).settings)
        assert await host.close()
        assert host_place(id_, config(tmp_path).settings) == ""


async def test_a_chat_that_could_not_be_opened_lets_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with provider([answer("m1", text("one"))]) as server:
        async with chat(server, tmp_path) as made:
            await made.say("first")
            id_ = made.host.session.about.id

        def fail(*_: object) -> None:
            raise Malformed("damaged")

        with monkeypatch.context() as patch:
            patch.setattr("ctxtui.services.chat.continue_from.open_named", fail)
            with pytest.raises(Malformed):
                Host(ModelChoice(session=id_), config(tmp_path), tmp_path / "work").open()
        assert host_place(id_, config(tmp_path).settings) == ""


async def test_what_two_hosts_left_that_did_not_know_of_each_other_is_all_on_record(tmp_path: Path) -> None:
    """The disk was full when they came, so that neither could say that it is there; both were killed."""
    script = [answer("m1", text("one")), answer("m2", text("two")), answer("m3", text("three"))]
    part = PART[: PART.index(b"read_file") + 300]
    sent = json.dumps({"at": 1.0, "attempt": 1, "dialect": "anthropic"})
    async with provider(script) as server:
        async with chat(server, tmp_path) as made:
            await made.say("first")
            id_ = made.host.session.about.id
        path = database(tmp_path)
        hosts = [Writer(path, Tree(), host=begin_hosting(time.time())) for _ in range(3)]
        for name, writer in zip("abc", hosts, strict=True):
            writer.put(SessionResumed(id_))
            writer.put(InFlight("m1", 1.0, "said", f"{name} asks"))
            assert writer.wait(5)
        for (kind, data), number in (
            (("sent", sent), 0),
            (("heard", part), 0),
            (("sent", sent), 2),
            (("queue", '["later"]'), 1),
        ):
            hosts[number].put(InFlight("m1", 2.0, kind, data))
            assert hosts[number].wait(5)
        hosts[2].put(InFlight("m1", 3.0, "draft", "c drafts"))
        assert all(writer.close() for writer in hosts)
        async with chat(server, tmp_path, ModelChoice(session=id_)) as made:
            found = made.host.recovered
            assert len(found.others) == 2 and found.draft == "c drafts" and found.queue == ("later",)
            await made.say("go on")
            assert b"c asks" in server.bodies[1] and b"later" in server.bodies[1] and b"a asks" not in server.bodies[1]
        left = {event.kind: event.data for event in pending_events(path, id_)}
        assert left == {"draft": "c drafts", "queue": "[]"}
        with Store.open(path) as store:
            back = store.load(id_)
        tree, ends = back.tree, {call.id: call for call in back.calls.values() if call.error}
        whole = [[str(item.block.body) for item in tree.items(one.response_head)] for one in ends.values()]
        assert [sum("asks" in body for body in bodies) for bodies in whole] == [1, 1], "each begins where it began"
        said = [body for bodies in whole for body in bodies if "asks" in body or "a long story" in body]
        assert ["a asks" in "".join(said), "b asks" in "".join(said), "a long story" in "".join(said)] == [True] * 3
        async with chat(server, tmp_path, ModelChoice(session=id_)) as made:
            assert not made.host.recovered.others and not made.host.recovered.replayed
            await made.say("and on")
        assert str(server.bodies[2]).count("c asks") == 1
