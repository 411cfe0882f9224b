"""`w` on the screen of a chat: what waits is seen to wait, and leaves with the first request after it. The offline
provider and the chat have one clock, which the test sets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ctxtui.offline import Provider, RunningProvider, Server, SetClock, serving
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.tui.chat.screen import ChatScreen
from ctxtui.tui.start import make_chat
from tests.sampling import few
from tests.services.chatting import config
from tests.tui.test_chat import say as said
from tests.tui.test_chat import shown, until

Opened = tuple[ChatScreen, Pilot[None]]
LARGE = b"line 7 of a large file"


@asynccontextmanager
async def provider(tmp_path: Path) -> AsyncIterator[tuple[RunningProvider, SetClock]]:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "large.txt").write_text("".join(f"line {n} of a large file\n" for n in range(900)))
    clock = SetClock()
    async with serving(Server(Provider(clock=clock))) as running:
        yield running, clock


@asynccontextmanager
async def chatting(
    tmp_path: Path, running: RunningProvider, clock: SetClock, name: str = "", size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Opened]:
    wish = ModelChoice("anthropic", "offline", running.url, name)
    app = make_chat(wish, config(tmp_path), tmp_path / "work", clock)
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        await until(pilot, lambda: screen.state.host.runner is not None and screen.edits.overlay is not None)
        yield screen, pilot


async def say(screen: ChatScreen, pilot: Pilot[None], words: str) -> None:
    """Say it from wherever the keys go."""
    screen.enter_prompt()
    await pilot.pause()
    before = len(screen.state.host.session.calls)
    await said(screen, pilot, words, wait=False)
    await until(pilot, lambda: not screen.state.is_running and len(screen.state.host.session.calls) > before)


async def drop_large(screen: ChatScreen, pilot: Pilot[None]) -> None:
    """Stage that the large result goes, with the keys; its price is there then."""
    await until(pilot, lambda: screen.panels.scene is not None and screen.panels.scene.counted)
    await pilot.press("escape")
    pane = screen.panels.transcript
    data = pane.data
    assert data is not None and data.scene is not None
    tree = data.scene.session.tree
    rows = [n for n in range(data.count) if data.entry(n) > 0 and LARGE in tree[data.entry(n)].block.body]
    pane.move_to(rows[0])
    await pilot.press("d")
    await until(
        pilot, lambda: screen.panels.staged.content is not None and len(screen.panels.staged.content.moments) == 3
    )


def last(running: RunningProvider) -> bytes:
    return [one.body for one in running.server.seen if one.status == 200 and b'"stream"' in one.body][-1]


def read(screen: ChatScreen) -> int:
    usage = screen.state.host.session.thread_calls("main")[-1].usage
    assert usage is not None
    return usage.cache_read


@pytest.mark.parametrize("size", few([(80, 24), (120, 40)]))
async def test_what_waits_for_expiry_is_seen_to_wait_and_leaves_with_the_first_request_after_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with (
        provider(tmp_path) as (running, clock),
        chatting(tmp_path, running, clock, size=size) as (screen, pilot),
    ):
        await say(screen, pilot, "read large.txt")
        await drop_large(screen, pilot)
        overlay = screen.edits.overlay
        assert overlay is not None
        clock.advance(48)
        await pilot.press("w")
        assert "1 waits for expiry in 4:12" in shown(screen)
        clock.advance(12)
        screen._tick()
        await until(pilot, lambda: "1 waits for expiry in 4:00" in shown(screen))
        await pilot.press("a")
        assert overlay.waiting and not overlay.applied, "`a` is for what leaves now"
        await say(screen, pilot, "still warm?")
        assert LARGE in last(running) and read(screen) > 1000 and overlay.waiting
        await until(pilot, lambda: "1 waits for expiry in 5:00" in shown(screen))
        clock.advance(301)
        screen._tick()
        await until(pilot, lambda: "1 waits for expiry: reached" in shown(screen))
        await say(screen, pilot, "and now?")
        assert LARGE not in last(running) and read(screen) == 0
        assert not overlay.waiting and len(overlay.applied) == 1
        noted = [one.text for one in screen.state.host.session.happenings if one.kind == "edits"]
        assert noted == ["1 waiting edit is sent with this request: the cache has expired"]
        await until(
            pilot, lambda: "wait" not in str(screen.panels.staged.content and screen.panels.staged.content.waits)
        )


async def test_w_goes_round_the_moments_and_a_applies_what_leaves_now(tmp_path: Path) -> None:
    async with provider(tmp_path) as (running, clock), chatting(tmp_path, running, clock) as (screen, pilot):
        await say(screen, pilot, "read large.txt")
        await drop_large(screen, pilot)
        overlay = screen.edits.overlay
        assert overlay is not None and not overlay.waiting
        await pilot.press("w")
        assert [*overlay.waiting.values()] == ["expiry"]
        await pilot.press("w")
        assert [*overlay.waiting.values()] == ["miss"] and "1 waits for next miss" in shown(screen)
        await pilot.press("w")
        assert not overlay.waiting and "applies them now" in shown(screen)
        await pilot.press("a")
        assert len(overlay.applied) == 1
        await say(screen, pilot, "and now?")
        assert LARGE not in last(running)


async def test_what_waits_is_kept_when_the_program_ends(tmp_path: Path) -> None:
    async with provider(tmp_path) as (running, clock):
        async with chatting(tmp_path, running, clock) as (screen, pilot):
            await say(screen, pilot, "read large.txt")
            await drop_large(screen, pilot)
            await pilot.press("w")
            desk = screen.edits.staging_area
            await until(pilot, lambda: desk is not None and not desk.unsaved)
            name = screen.state.host.session.about.id
        clock.advance(100)
        async with chatting(tmp_path, running, clock, name) as (screen, pilot):
            await until(pilot, lambda: "1 waits for expiry in 3:20" in shown(screen))
            await say(screen, pilot, "still warm?")
            assert LARGE in last(running) and read(screen) > 1000
            clock.advance(400)
            await say(screen, pilot, "and now?")
            assert LARGE not in last(running)
