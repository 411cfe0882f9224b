"""A chat that another process hosts: told who has it, never recovered, gone on with as a branch."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from ctxtui.agent import events as ev
from ctxtui.agent import progress as mo
from ctxtui.core.errors import InUse
from ctxtui.core.session import MAIN
from ctxtui.core.tree import Tree
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.resume import hosted_by, is_unfinished, unfinished_here
from ctxtui.services.library.library import SessionLibrary
from ctxtui.store import leases
from ctxtui.store.host_process import hosting
from ctxtui.store.store import Store
from ctxtui.store.writer import InFlight, SessionResumed, Writer
from tests.services.chat.test_host import PART, database, hanging
from tests.services.chatting import answer, chat, config, provider, text


def go_on_and_wait(path: Path, id_: str, pipe: Connection) -> None:
    """A process that hosts the chat, in the middle of a turn, until it is killed."""
    leases.claim(path, id_, mine := hosting(time.time()))
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
        assert hosted_by(id_, settings) == ""
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        other = spawn.Process(target=go_on_and_wait, args=(path, id_, theirs), daemon=True)
        other.start()
        assert ours.poll(30)
        with pytest.raises(InUse) as told:
            Host(ModelChoice(name=id_), config(tmp_path), tmp_path / "work").open()
        assert told.value.pid == other.pid and told.value.session == id_
        assert f"process {other.pid} since" in hosted_by(id_, settings)
        assert not is_unfinished(id_, settings) and unfinished_here(tmp_path / "work", settings) == ""
        (home,) = [one for one in SessionLibrary(settings, tmp_path).stored(()) if one.stored == id_]
        assert home.live
        async with chat(server, tmp_path, ModelChoice(name=id_, call=1)) as made:
            await made.say("a branch")
            assert made.host.session.about.id != id_
        assert other.pid is not None
        os.kill(other.pid, signal.SIGKILL)
        other.join(10)
        assert hosted_by(id_, settings) == "" and is_unfinished(id_, settings)
        async with chat(server, tmp_path, ModelChoice(name=id_)) as made:
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
            Host(ModelChoice(name=id_), config(tmp_path), tmp_path / "work").open()
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
        host = Host(ModelChoice(name=id_), config(tmp_path), tmp_path / "work")
        host.open()
        assert hosted_by(id_, config(tmp_path).settings)
        assert await host.close()
        assert hosted_by(id_, config(tmp_path).settings) == ""
