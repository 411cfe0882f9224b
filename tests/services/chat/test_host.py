"""A hosted chat through the real SDK: turns, tools, interrupts, retries, holds, and what stays on record."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from ctxtui.agent import events as ev
from ctxtui.agent import progress as mo
from ctxtui.agent.turn import TurnPhase
from ctxtui.core.session import MAIN
from ctxtui.curation.legality.legality import check
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.store.sessions.in_flight import pending_events
from ctxtui.store.store import Store
from ctxtui.store.writer import InFlight
from ctxtui.wire import registry
from ctxtui.wire.request import Request
from tests.services.chatting import Chat, answer, chat, provider, text, use


def shown(made: Chat) -> list[bytes]:
    """The requests as the session says them: what the inspector shows."""
    session = made.host.session
    calls = [call for call in session.calls.values() if call.skeleton is not None]
    return [registry.encode(Request(tuple(session.tree.items(c.sent_head)), c.skeleton)) for c in calls if c.skeleton]


def database(tmp_path: Path) -> Path:
    return tmp_path / "home" / "ctxtui.db"


async def test_a_turn_with_parallel_tools_is_shown_and_stored_as_it_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("the answer is 42")
    calls = answer("m1", text("I look."), use("t1", "read_file", path="a.txt"), use("t2", "list_dir"))
    async with provider([calls, answer("m2", text("It is **42**."))]) as server:
        async with chat(server, tmp_path) as made:
            await made.say("what does a.txt say?")
            assert server.bodies == shown(made), "what the inspector shows is what was sent, byte for byte"
            sent = json.loads(server.bodies[1])
            assert sent["messages"][-1]["content"][0]["content"] == "1\tthe answer is 42"
            session = made.host.session
            assert [call.id for call in session.thread_calls(MAIN)] == ["m1", "m2"]
            assert session.calls["m1"].usage and session.calls["m1"].usage.input == 100
            assert session.about.title == "what does a.txt say?"
        with Store.open(database(tmp_path)) as store:
            (row,) = store.sessions()
            back = store.load(row.id)
        assert [c.stop_reason for c in back.thread_calls(MAIN)] == ["tool_use", "end_turn"]
        assert back.tree.items(back.threads[MAIN].tip) == session.tree.items(session.threads[MAIN].tip)
        assert server.headers[0]["authorization"] == "Bearer sk-very-secret"
        for file in (tmp_path / "home").iterdir():
            assert b"sk-very-secret" not in file.read_bytes(), "a key is never stored"


async def test_retries_are_shown_and_the_turn_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.agent.turn.backoff", lambda attempt: 0.01)
    async with provider([529, 500, answer("m1", text("hello"))]) as server, chat(server, tmp_path) as made:
        await made.say("hi")
        assert [one.attempt for one in made.moments(mo.RetryWaits)] == [2, 3]
        assert [one.kind for one in made.host.session.happenings] == ["retry", "retry"]
        assert server.bodies[0] == server.bodies[1] == server.bodies[2]
        assert made.host.session.calls["m1"].extra["attempt"] == 3


async def test_a_refusal_ends_the_turn_in_words(tmp_path: Path) -> None:
    async with provider([400]) as server, chat(server, tmp_path) as made:
        await made.say("hi")
        (noted,) = made.moments(mo.Notice)
        assert noted.kind == "error" and "some_error: no" in noted.text


def hanging(first: bytes) -> Any:
    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(first)
        await asyncio.sleep(30)
        return response

    return reply


PART = answer("m1", text("a long story that is told"), use("t1", "read_file", path="a.txt"))


async def test_an_interrupt_keeps_what_came_and_stays_legal(tmp_path: Path) -> None:
    part = PART[: PART.index(b"read_file") + 300]
    async with provider([hanging(part), answer("m2", text("yes"))]) as server, chat(server, tmp_path) as made:
        made.host.feed(ev.UserSaid("tell"))
        await made.until(lambda: len(made.moments(mo.PieceReceived)) > 0)
        await asyncio.sleep(0.05)
        made.host.feed(ev.Interrupted())
        await made.rest()
        call = made.host.session.calls["m1"]
        assert call.error == "interrupted"
        assert b"a long story" in b"".join(i.block.body for i in made.host.session.tree.items(call.response_head))
        await made.say("go on")
        assert check("anthropic", server.bodies[1]) == []
        assert b"a long story" in server.bodies[1]


async def test_hold_inspect_release(tmp_path: Path) -> None:
    async with provider([answer("m1", text("ok"))]) as server, chat(server, tmp_path) as made:
        made.host.feed(ev.HoldNext())
        made.host.feed(ev.UserSaid("hi"))
        await made.until(lambda: made.phase == TurnPhase.HELD)
        (draft,) = [one.draft for one in made.moments(mo.RequestDrafted)]
        assert not server.bodies
        made.host.feed(ev.Released())
        await made.rest()
        assert server.bodies == [draft.body]


async def test_a_rule_holds(tmp_path: Path) -> None:
    async with provider([answer("m1", text("ok"))]) as server, chat(server, tmp_path) as made:

        async def rule(draft: Any) -> str:
            return "over 10 tokens"

        made.host.judge = rule
        made.host.feed(ev.UserSaid("hi"))
        await made.until(lambda: made.phase == TurnPhase.HELD)
        assert made.moments(mo.DraftHeld)[-1].reason == "over 10 tokens"


async def test_a_write_waits_for_leave(tmp_path: Path) -> None:
    script = [answer("m1", use("t1", "write_file", path="new.txt", content="x")), answer("m2", text("done"))]
    async with provider(script) as server, chat(server, tmp_path) as made:
        made.host.feed(ev.UserSaid("write"))
        await made.until(lambda: bool(made.moments(mo.PermissionRequested)))
        assert not (tmp_path / "work" / "new.txt").exists()
        made.host.feed(ev.Permitted("t1", ev.ToolLeave.ONCE))
        await made.rest()
        assert (tmp_path / "work" / "new.txt").read_text() == "x"


async def test_two_edits_of_one_file_are_asked_for_one_after_the_other_and_both_hold(tmp_path: Path) -> None:
    edits = [use(f"t{n}", "edit_file", path="a.txt", old=str(n), new="x") for n in (1, 2)]
    async with provider([answer("m1", *edits), answer("m2", text("done"))]) as server, chat(server, tmp_path) as made:
        (tmp_path / "work" / "a.txt").write_text("1 2")
        made.host.feed(ev.UserSaid("edit"))
        for n in (1, 2):
            await made.until(lambda n=n: len(made.moments(mo.PermissionRequested)) == n)  # type: ignore[misc]
            asked = made.moments(mo.PermissionRequested)[-1]
            assert asked.call.id == f"t{n}" and asked.planned.after == (b"x 2" if n == 1 else b"x x")
            made.host.feed(ev.Permitted(f"t{n}", ev.ToolLeave.ONCE))
        await made.rest()
        assert (tmp_path / "work" / "a.txt").read_text() == "x x"


async def test_leave_for_the_session_does_not_reach_what_other_programs_obey(tmp_path: Path) -> None:
    writes = [use("t1", "write_file", path="a.txt", content="x"), use("t2", "write_file", path=".git/x", content="x")]
    async with provider([answer("m1", *writes), answer("m2", text("done"))]) as server, chat(server, tmp_path) as made:
        made.host.feed(ev.UserSaid("write"))
        await made.until(lambda: len(made.moments(mo.PermissionRequested)) == 1)
        made.host.feed(ev.Permitted("t1", ev.ToolLeave.SESSION))
        await made.until(lambda: len(made.moments(mo.PermissionRequested)) == 2)
        assert (tmp_path / "work" / "a.txt").exists() and not (tmp_path / "work" / ".git").exists()
        made.host.feed(ev.Permitted("t2", ev.ToolLeave.NEVER))
        await made.rest()
        assert not (tmp_path / "work" / ".git").exists()


async def test_without_a_user_what_other_programs_obey_is_refused(tmp_path: Path) -> None:
    paths = (".git/hooks/pre-commit", ".github/workflows/ci.yml", "ctxtui.toml", "sub/../.mcp.json", "a.txt")
    writes = [use(f"t{n}", "write_file", path=path, content="x") for n, path in enumerate(paths)]
    async with provider([answer("m1", *writes), answer("m2", text("done"))]) as server, chat(server, tmp_path) as made:
        runner = made.host.runner
        assert runner is not None
        runner.state = replace(runner.state, attended=False, allowed=frozenset({"write_file"}))
        await made.say("write")
        assert [path.name for path in (tmp_path / "work").rglob("*")] == ["a.txt"]
        told = [block for message in json.loads(server.bodies[1])["messages"] for block in message["content"]]
        refused = [one for one in told if isinstance(one, dict) and one.get("is_error")]
        assert len(refused) == 4 and not made.moments(mo.PermissionRequested)


async def test_no_tool_begins_before_its_answer_is_on_record(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("x")
    calls = answer(
        "m1", text("I look."), use("t1", "read_file", path="a.txt"), use("t2", "write_file", path="b", content="")
    )
    async with provider([calls, answer("m2", text("ok"))]) as server, chat(server, tmp_path) as made:
        writer = made.host.writer
        assert writer is not None and writer.wait(5)
        with sqlite3.connect(database(tmp_path), isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            made.host.feed(ev.UserSaid("look"))
            await made.until(lambda: len(made.moments(mo.ToolWaits)) == 2)
            assert not made.moments(mo.ToolBegan) and not made.moments(mo.PermissionRequested)
            other.execute("ROLLBACK")
        await made.until(lambda: len(made.moments(mo.PermissionRequested)) == 1)
        with Store.open(database(tmp_path)) as store:
            assert "m1" in store.load(made.host.session.about.id).calls
        made.host.feed(ev.Interrupted())
        await made.rest()


async def test_an_interrupt_ends_a_search_that_would_go_on(tmp_path: Path) -> None:
    calls = answer("m1", use("t1", "grep", pattern="(a|aa)+$"))
    async with provider([calls, answer("m2", text("yes"))]) as server, chat(server, tmp_path) as made:
        (tmp_path / "work" / "a.txt").write_text("a" * 90 + "b\n")
        made.host.feed(ev.UserSaid("look"))
        await made.until(lambda: bool(made.moments(mo.ToolBegan)))
        await asyncio.sleep(0.3)
        made.host.feed(ev.Interrupted())
        assert not made.running, "at once"
        await made.say("go on")
        assert check("anthropic", server.bodies[1]) == []


async def test_an_earlier_message_sent_anew_is_a_branch(tmp_path: Path) -> None:
    script = [answer(f"m{n}", text(f"answer {n}")) for n in (1, 2, 3)]
    async with provider(script) as server, chat(server, tmp_path) as made:
        await made.say("one")
        before = made.host.session.threads[MAIN].tip
        await made.say("two")
        made.host.go_back_to(before)
        await made.say("two, but better")
        last = json.loads(server.bodies[2])["messages"]
        assert [m["content"][0]["text"] for m in last] == ["one", "answer 1", "two, but better"]
        session = made.host.session
        shared = session.tree.common(session.calls["m2"].raw_head, session.calls["m3"].raw_head)
        assert session.tree.holds(shared, before)


async def test_a_chat_goes_on_where_it_was(tmp_path: Path) -> None:
    script = [answer("m1", text("first")), answer("m2", text("second")), answer("m3", text("third"))]
    async with provider(script) as server:
        async with chat(server, tmp_path) as made:
            await made.say("one")
            made.host.keep_draft("half a thou")
            id_ = made.host.session.about.id
        async with chat(server, tmp_path, ModelChoice(session=id_)) as made:
            assert made.host.recovered.draft == "half a thou"
            await made.say("two")
            assert len(made.host.session.calls) == 2
        assert server.bodies[1][: server.bodies[0].rindex(b"]")] == server.bodies[0][: server.bodies[0].rindex(b"]")]
        async with chat(server, tmp_path, ModelChoice(session=id_, call=1)) as made:
            await made.say("other")
            assert made.host.session.about.id != id_ and len(made.host.session.calls) == 1
        assert [m["content"][0]["text"] for m in json.loads(server.bodies[2])["messages"]] == ["one", "first", "other"]


async def test_long_outputs_of_an_earlier_process_can_be_recalled_and_are_not_replaced(tmp_path: Path) -> None:
    recall = answer("m2", {**use("t1", "recall"), "input": {"name": "output-1.1"}})
    async with provider([answer("m1", text("hi")), recall, answer("m3", text("seen"))]) as server:
        async with chat(server, tmp_path) as made:
            await made.say("hoi")
            id_ = made.host.session.about.id
        with Store.open(database(tmp_path)) as store:
            store.put_artifact(id_, "output-1.1", b"all of it")
        async with chat(server, tmp_path, ModelChoice(session=id_)) as made:
            await made.say("what was it?")
            assert made.host.tools is not None and made.host.tools.commands._store_output("more") == "output-2.1"
        assert "all of it" in json.dumps(json.loads(server.bodies[2])["messages"][-1])


async def test_what_waited_and_was_said_is_not_said_again(tmp_path: Path) -> None:
    script = [hanging(PART[:600]), answer("m2", text("two")), answer("m3", text("three"))]
    async with provider(script) as server:
        async with chat(server, tmp_path) as made:
            made.host.feed(ev.UserSaid("one"))
            await made.until(lambda: len(server.bodies) == 1)
            made.host.feed(ev.UserSaid("it waits"))
            made.host.feed(ev.Interrupted())
            await made.rest()
            await made.say("two")
            id_ = made.host.session.about.id
            # As it is on record where the program was killed between the two: it waits, and it was said.
            assert made.host.writer is not None
            made.host.writer.put(InFlight("", 1.0, "queue", '["late"]'))
            made.host.writer.put(InFlight("", 1.0, "said", "late"))
        async with chat(server, tmp_path, ModelChoice(session=id_)) as made:
            assert made.host.recovered.queue == ()
            await made.say("three")
        said = [json.loads(body)["messages"] for body in server.bodies][-1]
        assert [str(said).count(words) for words in ("it waits", "late", "three")] == [1, 1, 1]


async def test_what_was_in_flight_comes_back(tmp_path: Path) -> None:
    """The program ends in the middle of an answer, without a word."""
    part = PART[: PART.index(b"read_file") + 300]
    async with provider([answer("m0", text("zero")), hanging(part), answer("m2", text("yes"))]) as server:
        async with chat(server, tmp_path) as made:
            await made.say("zero")
            made.host.feed(ev.UserSaid("tell"))
            await made.until(lambda: len(made.moments(mo.PieceReceived)) > 3)
            id_, writer = made.host.session.about.id, made.host.writer

            def written() -> set[str]:
                assert writer is not None and writer.wait(5)
                return {event.kind for event in pending_events(database(tmp_path), id_)}

            await made.until(lambda: {"said", "sent", "heard"} <= written())
            copy = tmp_path / "copy"
            copy.mkdir()
            with Store.open(database(tmp_path)) as store:
                store.backup(copy / "ctxtui.db")
        (tmp_path / "home" / "ctxtui.db").unlink()
        (copy / "ctxtui.db").rename(database(tmp_path))
        async with chat(server, tmp_path, ModelChoice(session=id_)) as made:
            found = made.host.recovered
            assert found.partial is not None and found.partial.id == "m1"
            assert "m1" in made.host.session.calls
            await made.say("go on")
            assert check("anthropic", server.bodies[2]) == []
            assert b"a long story" in server.bodies[2] and b"zero" in server.bodies[2]


async def test_no_database_no_silence(tmp_path: Path) -> None:
    """Where nothing can be written the chat goes on, and says so."""
    (tmp_path / "home").write_text("a file where the folder should be")
    async with provider([answer("m1", text("ok"))]) as server:
        made: Chat | None = None
        with pytest.raises(AssertionError):
            async with chat(server, tmp_path) as made:
                await made.say("hi")
                assert "m1" in made.host.session.calls
                writer = made.host.writer
                assert writer is not None
                await made.until(lambda: writer.trouble is not None)
    assert made is not None
