"""Edits that wait until the cache has expired, or for a miss that comes anyway, leave with the first request after it:
a chat with the offline provider, whose clock a test sets, so that both are held to the second."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ctxtui.agent import progress as mo
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.edit_log import EXPIRY, MISS
from ctxtui.core.session import MAIN
from ctxtui.curation.context import Context
from ctxtui.offline import Provider, Server, SetClock, serving
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import next_call_of
from ctxtui.services.editing.overlay import ThreadEdits
from tests.services.chatting import Chat, config, hosted

LIFE = 300.0


@dataclass
class Room:
    """A chat about a large file, the clock of both sides, its overlay, and the bodies that left."""

    chat: Chat
    clock: SetClock
    server: Server
    overlay: ThreadEdits

    @property
    def last(self) -> bytes:
        """The last request that asked for an answer."""
        return [one.body for one in self.server.seen if one.status == 200 and b'"stream"' in one.body][-1]

    @property
    def read(self) -> int:
        """Tokens that the last call read from the cache, as it was reported."""
        usage = self.chat.host.session.thread_calls(MAIN)[-1].usage
        assert usage is not None
        return usage.cache_read

    def stage(self) -> None:
        """Stage that the large result goes."""
        session = self.chat.host.session
        context = Context(session.tree, session.threads[MAIN].tip)
        large = next(n for n, item in enumerate(context.items) if b"line 7 of a large file" in item.block.body)
        self.overlay.stage_all([make(DROP, context.targets([large]))])

    def expiry(self) -> float:
        """When the cache expires, as the price tag's moment has it (Unix seconds)."""
        found = next_call_of(self.chat.host.session, Counter(), self.chat.host.config.settings)
        assert found is not None and found.question.expiry is not None
        return found.question.expiry


@asynccontextmanager
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    work = tmp_path / "work"
    work.mkdir()
    (work / "large.txt").write_text("".join(f"line {n} of a large file\n" for n in range(900)))
    clock, overlay = SetClock(), ThreadEdits()
    async with serving(Server(Provider(clock=clock))) as running:
        host = Host(ModelChoice("anthropic", "offline", running.url), config(tmp_path), work, clock)
        host.overlay = lambda: overlay
        async with hosted(host) as chat:
            made = Room(chat, clock, running.server, overlay)
            await chat.say("read large.txt")
            clock.advance(10)
            await chat.say("what is in it?")
            yield made


@pytest.mark.parametrize(("until", "why"), [(EXPIRY, "has expired"), (MISS, "would be missed anyway")])
async def test_what_waits_leaves_with_the_first_request_after_the_cache_expired(
    tmp_path: Path, until: str, why: str
) -> None:
    async with room(tmp_path) as here:
        here.stage()
        assert here.overlay.postpone(until) and not here.overlay.ready
        before = here.expiry()
        here.clock.now = before - 2
        await here.chat.say("still warm?")
        assert b"line 7 of a large file" in here.last and here.read > 1000, "the cache was still there"
        assert here.overlay.waiting and not here.overlay.applied
        # That request has used the cache: it lives from then on.
        again = here.expiry()
        assert again > before + LIFE - 12
        here.clock.now = again + 1
        await here.chat.say("and now?")
        assert b"line 7 of a large file" not in here.last and here.read == 0, "it had expired for the provider, too"
        assert not here.overlay.waiting and len(here.overlay.applied) == 1
        told = [one.text for one in here.chat.moments(mo.Notice) if one.kind == "edits"]
        assert told == ["1 waiting edit is sent with this request: the cache " + why]


async def test_the_expiry_that_is_shown_is_the_providers_to_the_second(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        expiry = here.expiry()
        started = here.chat.host.session.thread_calls(MAIN)[-1].started
        assert expiry == pytest.approx(started + LIFE, abs=1.0)
        here.clock.now = expiry - 1
        await here.chat.say("one second before")
        assert here.read > 1000
        here.clock.now = here.expiry() + 1
        await here.chat.say("one second after")
        assert here.read == 0


async def test_what_waits_for_a_miss_leaves_when_the_model_is_another_one(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        here.stage()
        here.overlay.postpone(MISS)
        here.clock.advance(20)
        here.chat.host.change_model("claude-sonnet-4-5")
        await here.chat.say("who are you?")
        assert b"line 7 of a large file" not in here.last
        told = [one.text for one in here.chat.moments(mo.Notice) if one.kind == "edits"]
        assert told == ["1 waiting edit is sent with this request: the cache would be missed anyway"]


async def test_what_waits_for_expiry_does_not_leave_with_another_miss(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        here.stage()
        here.overlay.postpone(EXPIRY)
        here.clock.advance(20)
        here.chat.host.change_model("claude-sonnet-4-5")
        await here.chat.say("who are you?")
        assert b"line 7 of a large file" in here.last and here.overlay.waiting


async def test_what_was_set_to_wait_no_longer_is_only_staged(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        here.stage()
        here.overlay.postpone(EXPIRY)
        here.overlay.postpone("")
        here.clock.advance(1000)
        await here.chat.say("and now?")
        assert b"line 7 of a large file" in here.last
        assert len(here.overlay.ready) == 1 and not here.overlay.applied
