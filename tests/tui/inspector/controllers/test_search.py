"""Searching in the Inspector as one uses it."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from ctxtui.core.session import Session
from ctxtui.tui.commands import EVERYWHERE
from ctxtui.tui.inspector.commands import INSPECTOR
from ctxtui.tui.inspector.controllers.search import SearchController
from ctxtui.tui.inspector.screen import InspectorScreen
from tests.cases.sessions import Story, every_category, use
from tests.tui.inspector.test_inspector import opened, text, until

LONG = "\n".join(f"line {n} of the log" + (" NEEDLE here" if n in (3, 400, 1900) else "") for n in range(2000))


def searched() -> Session:
    story = Story()
    story.user("find the needle please")
    story.call("I look for it.", use("t1", "Bash", command="grep -n needle log\ncat log"))
    story.results(("t1", LONG))
    story.call("It is on three lines.").user("and where else?")
    story.call("The **needle** is there:\n\n    needle()\n").tip()
    return story.session


async def typed(pilot: Pilot[None], screen: InspectorScreen, words: str) -> None:
    await pilot.press("slash", *words)
    # The last letter may still be on its way when the key is done.
    await until(
        pilot,
        lambda: (
            screen.owner(SearchController)._last_text == words
            and screen.owner(SearchController)._sightings is not None
            and screen.owner(SearchController)._sightings.done
        ),
    )
    await pilot.pause(0.05)


def marked(screen: InspectorScreen) -> list[str]:
    """The texts of the transcript that are drawn as hits."""
    palette = screen.panels.transcript.look.palette
    grounds = {palette.style(words).bgcolor for words in ("accent-ink on-accent", "accent-ink on-warn")}
    pane = screen.panels.transcript
    strips = [pane.render_line(y) for y in range(pane.size.height)]
    return [s.text for strip in strips for s in strip if s.style and s.style.bgcolor in grounds and s.style.bgcolor]


async def test_n_goes_round_and_opens_what_is_folded() -> None:
    async with opened(searched()) as (screen, pilot):
        await pilot.press("up", "up", "enter")
        folds, node = dict(screen.panels.transcript.data.opened), screen.panels.transcript.node
        await typed(pilot, screen, "needle")
        assert " of 7" in text(screen)
        await pilot.press("enter")
        seen = []
        for number in range(9):
            await pilot.press("n")
            seen.append(screen.owner(SearchController)._hit_index)
            assert "needle" in [one.lower() for one in marked(screen)], number
        assert seen == [(seen[0] + number) % 7 for number in range(9)]
        await pilot.press("N")
        assert screen.owner(SearchController)._hit_index == (seen[-1] - 1) % 7
        await pilot.press("escape")
        assert screen.panels.transcript.data.opened == folds
        assert marked(screen) == []
        assert not screen.owner(SearchController).is_active
        assert screen.panels.transcript.node != 0 and node is not None


async def test_a_hit_far_down_is_shown_with_the_line_before() -> None:
    async with opened(searched()) as (screen, pilot):
        await typed(pilot, screen, "line 1900")
        shown = text(screen)
        assert "1 of 1" in shown
        assert "1,899 lines above" in shown and "line 1899 of the log" in shown and "line 1900 of the log" in shown
        assert "line 1900" in marked(screen)


async def test_esc_in_the_prompt_puts_all_back() -> None:
    async with opened(searched()) as (screen, pilot):
        transcript = screen.panels.transcript
        await pilot.press("up", "up", "up")
        before = transcript.cursor, transcript.viewport.top, dict(transcript.data.opened)
        await typed(pilot, screen, "line 400")
        assert transcript.data.opened != before[2]
        await pilot.press("escape")
        await pilot.pause(0.05)
        assert (transcript.cursor, transcript.viewport.top, transcript.data.opened) == before
        assert screen.focused is transcript


async def test_n_goes_to_hits_alone_and_without_a_search_nowhere() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press("home")
        await typed(pilot, screen, "zzzz")
        assert "no hit" in text(screen)
        await pilot.press("enter", "n")
        assert screen.state.index == 0
        await pilot.press("escape", "n")
        assert screen.state.index == 0 and "next event: }" in text(screen), "an old key says where it is"


async def test_an_expression_and_what_is_none() -> None:
    async with opened(searched()) as (screen, pilot):
        await typed(pilot, screen, "(400|1900) of")
        assert "no hit" in text(screen)
        await pilot.press("ctrl+x")
        await until(
            pilot,
            lambda: bool(screen.owner(SearchController)._sightings and screen.owner(SearchController)._sightings.done),
        )
        await pilot.pause(0.05)
        assert "of 3" in text(screen)
        await pilot.press("left_square_bracket")
        await pilot.pause(0.05)
        assert "not a regular expression" in text(screen)


async def test_hits_of_other_calls_are_told_and_found_there() -> None:
    async with opened(searched()) as (screen, pilot):
        await pilot.press("home")
        await typed(pilot, screen, "needle")
        assert "of 2" in text(screen) and "2 blocks in other calls" in text(screen)
        await pilot.press("enter", "end")
        await pilot.pause(0.05)
        assert "7 hits" in text(screen) or "of 7" in text(screen)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10), (120, 40)])
async def test_every_size_can_search(width: int, height: int) -> None:
    async with opened(searched(), (width, height)) as (screen, pilot):
        await typed(pilot, screen, "NEEDLE")
        assert len(screen.owner(SearchController)._hits) == 3
        await pilot.press("enter", "n", "n")
        assert "NEEDLE" in marked(screen)


async def test_keys_are_in_the_line_of_keys_and_the_help() -> None:
    async with opened(searched()) as (screen, pilot):
        names = [command.name for command in screen.commands_now()]
        assert "search" in names and "next event" in names and "next hit" not in names
        await typed(pilot, screen, "needle")
        await pilot.press("enter")
        names = [command.name for command in screen.commands_now()]
        assert "next hit" in names and "next event" in names


def test_no_two_commands_of_the_inspector_share_a_key() -> None:
    keys = [key for command in (*INSPECTOR, *EVERYWHERE) for key in command.keys]
    assert [key for key in set(keys) if keys.count(key) > 1] == []
