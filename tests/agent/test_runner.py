"""Errors that nobody foresees end the turn, or are the result of the tool, and the next turn goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ctxtui.agent import progress as mo
from ctxtui.agent.events import Event, Interrupted, Prepared
from ctxtui.curation.legality.legality import check
from tests.services.chatting import answer, chat, provider, text, use


def failing(*arguments: Any) -> Any:
    raise KeyError("n")


async def failing_later(*arguments: Any) -> Any:
    raise KeyError("n")


@pytest.mark.parametrize(
    ("owner", "name", "work"),
    [
        ("_around", "judge", failing_later),
        ("_around", "before", failing_later),
        ("_around", "attached", failing_later),
        ("_around", "make_reader", failing),
        ("conversation", "editor", failing),
        ("client", "send", failing),
    ],
)
async def test_an_unforeseen_error_ends_the_turn_and_the_next_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str, name: str, work: Any
) -> None:
    async with provider([answer("m1", text("hello"))]) as server, chat(server, tmp_path) as made:
        with monkeypatch.context() as patch:
            patch.setattr(getattr(made.host.runner, owner), name, work)
            await made.say("hi")
        (noted,) = made.moments(mo.Notice)
        assert noted.kind == "error" and noted.text == "KeyError: 'n'" and not server.bodies
        assert len(made.moments(mo.TurnEnded)) == 1 and len(made.moments(mo.CallFailed)) == (owner == "client")
        await made.say("again")
        assert b"hi" in server.bodies[0] and b"again" in server.bodies[0] and not check("anthropic", server.bodies[0])


@pytest.mark.parametrize("name", ["plan", "run"])
async def test_an_unforeseen_error_of_a_tool_is_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    call = use("t1", "write_file", path="b.txt", content="") if name == "plan" else use("t1", "list_dir")
    async with provider([answer("m1", call), answer("m2", text("ok"))]) as server, chat(server, tmp_path) as made:
        assert made.host.tools is not None
        monkeypatch.setattr(made.host.tools.files, name, failing_later)
        await made.say("hi")
        assert b"the tool failed: KeyError: 'n'" in server.bodies[1]


async def test_an_interrupt_before_the_request_has_begun_ends_the_turn_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provider([answer("m1", text("hello"))]) as server, chat(server, tmp_path) as made:
        runner = made.host.runner
        assert runner is not None
        feed = runner.feed

        def feed_and_interrupt(event: Event) -> None:
            feed(event)
            if isinstance(event, Prepared):
                feed(Interrupted())

        with monkeypatch.context() as patch:
            patch.setattr(runner, "feed", feed_and_interrupt)
            async with asyncio.timeout(5):
                await made.say("hi")
        await made.say("again")
        assert b"hi" in server.bodies[-1] and b"again" in server.bodies[-1]
