"""What one watches stays in view while one edits, at every size."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from textual.pilot import Pilot

from ctxtui.analysis.cache.next_call import NextCallForecast
from ctxtui.core.session import Session
from ctxtui.curation.price.price_tag import Breakage
from ctxtui.tui.inspector.screen import SessionScreen
from ctxtui.views.text.span import plain
from ctxtui.views.transcript import staged_pane
from tests.cases.sessions import Story, use
from tests.tui.inspector.test_inspector import opened
from tests.tui.test_waiting_edits import chatting, provider, say
from tests.tui.waiting import until

SIZES = ((80, 24), (120, 40), (200, 60))


def session() -> Session:
    """Two questions; the first one's file is long."""
    story = Story()
    story.user("first question about src/shop/cart.py")
    story.call(use("t1", "Read", path="src/shop/cart.py"))
    story.results(("t1", "line of code\n" * 400))
    story.call("The cart is fine.")
    story.user("second question").call("Yes.")
    return story.session


def at(screen: SessionScreen, words: str) -> None:
    """Put the cursor on the first row that says `words`."""
    rows = screen.panels.transcript.data
    assert rows is not None and rows.scene is not None
    tree = rows.scene.session.tree
    entries = [rows.entry(index) for index in range(rows.count)]
    bodies = [tree[entry].block.body.decode() if entry > 0 else "" for entry in entries]
    screen.panels.transcript.move_to(next(n for n, body in enumerate(bodies) if words in body))


def shown(screen: SessionScreen) -> NextCallForecast | None:
    """The forecast that is on the screen, as far as it is of now."""
    coming = screen.panels.next_call
    return coming if coming is not None and not coming.outdated else None


def pane(screen: SessionScreen, name: str) -> list[str]:
    """The lines of a pane as they are painted; none where it has no place."""
    box = screen.panels.layout.boxes.get(name)
    if box is None:
        return []
    rows = [strip.text for strip in screen._compositor.render_strips()][box.y : box.y + box.height]
    return [row[box.x : box.x + box.width].rstrip() for row in rows]


async def resized(screen: SessionScreen, pilot: Pilot[None], width: int, height: int) -> None:
    """Give the terminal another size, and wait until the panes have theirs."""
    await pilot.resize_terminal(width, height)
    await until(pilot, lambda: screen.panels.header.size.width == width)


async def at_each_size(screen: SessionScreen, pilot: Pilot[None], heaviest: tuple[int, ...] = (200,)) -> None:
    """The forecast, the categories, and where there is room the heaviest blocks are there; nothing says zero."""
    for width, height in SIZES:
        await resized(screen, pilot, width, height)
        await until(pilot, lambda: screen.panels.has_space_for("next-call") and screen.panels.next.size.height > 3)
        forecast = "\n".join(pane(screen, "next-call"))
        assert "next call" in forecast and "$" in forecast, (width, forecast)
        assert "expires" in forecast or "expired" in forecast or "nothing is cached" in forecast, (width, forecast)
        categories = pane(screen, "context")
        assert len(categories) >= 5 and any("tool result" in row or "←" in row for row in categories), categories
        if width in heaviest:
            assert any("heaviest" in row for row in pane(screen, "heaviest"))
        edits = pane(screen, "staged")
        assert edits and not any(" 0 " in row or "$0.000 " in row for row in edits), edits


async def test_the_forecast_stays_while_edits_are_staged_and_applied() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        assert shown(screen) is None, "an old recording says what the call was charged"
        at(screen, "second question")
        await pilot.press("p")
        await until(pilot, lambda: shown(screen) is not None)
        untouched = shown(screen)
        assert untouched is not None
        await at_each_size(screen, pilot, (120, 200))
        assert not any("$" in row for row in pane(screen, "staged")), "a pin changes no price"
        await pilot.press("u")
        at(screen, "first question")
        await pilot.press("b")
        await until(pilot, lambda: shown(screen) not in (None, untouched))
        marked = shown(screen)
        assert (
            marked is not None and marked.marker_count == untouched.marker_count + 1 and marked.input == untouched.input
        )
        await pilot.press("u")
        at(screen, "line of code")
        await pilot.press("d")
        await until(
            pilot, lambda: screen.panels.staged.content is not None and bool(screen.panels.staged.content.moments)
        )
        await at_each_size(screen, pilot)
        dropped = shown(screen)
        assert dropped is not None and dropped.input < untouched.input and dropped.read < untouched.read
        assert any("frees" in row for row in pane(screen, "staged"))
        what = screen.panels.staged.content
        assert what is not None
        behind = replace(what, staging=what.staging.with_breakage(Breakage(at=3, tokens=0, cached=90)))
        for room in (30, 60):
            rows = [plain(line) for line in staged_pane.lines(behind, room, 20)]
            assert any("breaks nothing" in row for row in rows) and not any(" 0 " in row for row in rows), rows
        await pilot.press("a")
        await until(pilot, lambda: shown(screen) is not None)
        applied = shown(screen)
        assert applied is not None
        for name in ("read", "write", "fresh", "input"):
            was, now = getattr(dropped, name), getattr(applied, name)
            assert abs(was - now) <= max(20, 0.02 * was), f"what was foretold of the staged edits holds: {name}"
        await at_each_size(screen, pilot)


async def test_this_call_is_one_key_away_whatever_is_staged() -> None:
    async with opened(session()) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        at(screen, "line of code")
        await pilot.press("d")
        await until(pilot, lambda: screen.panels.has_space_for("next-call"))
        for there in ("this-call", "next-call", "this-call"):
            await pilot.press("K")
            await until(pilot, lambda there=there: screen.panels.has_space_for(there))  # type: ignore[misc]
            assert screen.panels.has_space_for("staged")
        await pilot.press("a")
        await pilot.press("K")
        await until(pilot, lambda: screen.panels.has_space_for("next-call"))


async def test_edits_that_were_sent_take_one_line(tmp_path: Path) -> None:
    async with provider(tmp_path) as (running, clock), chatting(tmp_path, running, clock) as (screen, pilot):
        await say(screen, pilot, "read large.txt")
        await until(pilot, lambda: screen.panels.scene is not None and screen.panels.scene.counted)
        await pilot.press("escape")
        at(screen, "read large.txt")
        await pilot.press("b")
        await until(pilot, lambda: shown(screen) is not None)
        foretold = shown(screen)
        assert foretold is not None
        await pilot.press("a")
        at(screen, "line 7 of a large file")
        await pilot.press("t", "a")
        await say(screen, pilot, "and now?")
        await until(pilot, lambda: bool(screen.panels.staged.content and screen.panels.staged.content.active))
        await until(pilot, lambda: screen.panels.has_space_for("next-call"))
        staging, header = screen.panels.staging, screen.panels.header.content
        assert staging is not None and header is not None
        assert header.used == staging.following.context_tokens, "as without edits the header has the next request"
        for width, height in SIZES:
            await resized(screen, pilot, width, height)
            assert screen.panels.layout.boxes["staged"].height == 1 and screen.panels.has_space_for("next-call")
            assert "2 edits active · E" in plain(screen.panels.staged.notes())
            assert any("heaviest" in row for row in pane(screen, "heaviest")) or width == 80
