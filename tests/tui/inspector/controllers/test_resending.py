"""A call sent again from the Inspector: the price first, nothing before `y`, the answers side by side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from textual.pilot import Pilot

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.core.session import MAIN
from ctxtui.curation.policies.tool_results import CLEARED
from ctxtui.offline import Provider, Server, offline
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.resend import ResendScreen
from tests.cases.inspect import HandMade, app_of
from tests.cases.sessions import Story
from tests.services.chat.test_resending import LOAD, playback, session
from tests.tui.inspector.test_inspector import settled, until
from tests.tui.waiting import do


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The offline provider, which plays the session, in the place of Anthropic."""
    made = Server(Provider(playback=playback(session())))
    with offline(made) as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        yield made


def seen(pilot: Pilot[None]) -> str:
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


async def asked(pilot: Pilot[None]) -> InspectorScreen:
    screen = pilot.app.screen
    assert isinstance(screen, InspectorScreen)
    await settled(screen, pilot)
    await until(
        pilot, lambda: screen.state.complete and screen.edits.staging_area is not None and screen.edits.check_ready()
    )
    return screen


async def sent(pilot: Pilot[None]) -> ResendScreen:
    await do(pilot, "SendAgain")
    await until(pilot, lambda: "again to" in seen(pilot))
    await pilot.press("enter")
    await until(pilot, lambda: "send?" in seen(pilot))
    await pilot.press("y")
    await until(pilot, lambda: isinstance(pilot.app.screen, ResendScreen))
    found = pilot.app.screen
    assert isinstance(found, ResendScreen)
    return found


async def test_unchanged_it_does_the_same_and_the_price_came_first(server: Server) -> None:
    async with app_of(HandMade(session())).run_test(size=(120, 40)) as pilot:
        screen = await asked(pilot)
        screen.state.go(4)
        await do(pilot, "SendAgain")
        await until(pilot, lambda: "again to" in seen(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "send?" in seen(pilot))
        assert "at most" in seen(pilot) and "$" in seen(pilot) and not server.seen, "nothing left yet"
        await pilot.press("n")
        assert not server.seen
        found = await sent(pilot)
        await until(pilot, lambda: "the same tools with the same arguments" in seen(pilot))
        assert seen(pilot).count("seven_2.txt") == 2 and len(server.seen) == 1 and found.pane.lines
        await pilot.press("escape")
        assert pilot.app.screen is screen


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_under_staged_edits_the_model_does_something_else(server: Server, size: tuple[int, int]) -> None:
    made = session()
    async with app_of(HandMade(made)).run_test(size=size) as pilot:
        screen = await asked(pilot)
        scene = screen.panels.scene
        assert scene is not None
        context = screen.edits.context_of(scene)
        at = next(n for n, item in enumerate(context.items) if LOAD.encode() in item.block.body)
        screen.edits.stage([make(REPLACE, context.targets([at]), {"text": CLEARED})])
        await sent(pilot)
        await until(pilot, lambda: "another next step" in seen(pilot))
        assert b"nowhere else" not in server.seen[-1].body and len(made.thread_calls(MAIN)) == 9


async def test_a_recording_without_prompt_and_tools_says_why_not(server: Server) -> None:
    async with app_of(HandMade(Story().user("hi").call("hello").session)).run_test(size=(120, 40)) as pilot:
        await asked(pilot)
        await do(pilot, "SendAgain")
        await pilot.press("enter")
        await until(pilot, lambda: "lacks system prompt" in seen(pilot))
        assert not server.seen
