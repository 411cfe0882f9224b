"""What a word means: by key and by mouse, with the arithmetic of the call that is shown."""

from __future__ import annotations

from textual.widgets._tooltip import Tooltip

from ctxtui.tui.dialogs.explain import ExplainScreen, explain
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.snapshot import Snapshot
from ctxtui.views.text.signs import CATEGORY
from tests.cases.inspect import app_on
from tests.cases.sessions import every_category
from tests.tui.inspector.controllers.test_staging import at, session
from tests.tui.inspector.test_inspector import opened, settled, text, until
from tests.views.glossary.arithmetic_law import broken, claims


def shown(screen: ExplainScreen) -> str:
    return "\n".join(strip.text for strip in screen._compositor.render_strips())


async def test_a_key_explains_what_stands_there_with_its_sum() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.press("equals_sign")
        await pilot.pause()
        page = pilot.app.screen
        assert isinstance(page, ExplainScreen) and page.spot is not None
        assert page.spot.pane == "transcript", "it begins where the cursor is"
        context = screen.panels.context.content
        assert context is not None
        await pilot.hover(Snapshot, offset=next((spot.x, spot.y) for spot in page.spots if spot.text == "reported"))
        assert f"{context.total:,} reported = " in shown(page)
        before = page.spot
        await pilot.press("right")
        assert page.spot != before
        await pilot.press("escape")
        assert pilot.app.screen is screen


async def test_every_title_head_and_row_of_the_side_panes_is_explained() -> None:
    async with opened(every_category(), (200, 60)) as (screen, pilot):
        await pilot.press("equals_sign")
        await pilot.pause()
        page = pilot.app.screen
        assert isinstance(page, ExplainScreen)
        said = {(spot.pane, spot.text) for spot in page.spots}
        boards = [one for one in screen.panels.widgets() if isinstance(one, Board) and one.region.area and one.title]
        assert len(boards) >= 7
        assert [board.id for board in boards if (board.id, board.title) not in said] == []
        rows = {("context", sign.name) for sign in CATEGORY if sign.name in ("system", "user", "tool result")}
        call = {("this-call", word) for word in ("read", "write", "fresh", "answer", "uncached", "saves", "took")}
        marks = {("calls", word) for word in ("read", "write", "fresh", "miss", "turn")}
        assert (rows | call | marks) - said == set()


async def test_every_sum_that_is_written_holds_and_is_of_figures_on_the_screen() -> None:
    async with opened(session(), (160, 50)) as (screen, pilot):
        await until(pilot, lambda: screen.edits.staging_area is not None)
        before = screen.panels.header.content
        assert before is not None
        for staged in (False, True):
            if staged:
                at(screen, "line of code")
                await pilot.press("d")
                await until(pilot, lambda: screen.panels.staging is not None and screen.panels.staging.counted)
                await until(pilot, lambda: "accept" in text(screen))
            await pilot.press("equals_sign")
            await pilot.pause()
            page = pilot.app.screen
            assert isinstance(page, ExplainScreen)
            said = {told for spot in page.spots for told, _ in explain(screen, spot)}
            assert sum(len(list(claims(told))) for told in said) >= 6
            assert [claim for told in said for claim in broken(told)] == []
            await pilot.press("escape")
        header, context = screen.panels.header.content, screen.panels.context.content
        assert header is not None and context is not None and header.used == context.total
        assert context.total > (before.used or 0), "the next call has the answer, too"
        assert header.after == context.after
        assert context.after == sum(part.after or 0 for part in context.parts) + context.residual


async def test_the_mouse_at_rest_on_a_word_explains_it() -> None:
    app = app_on(every_category())
    async with app.run_test(size=(120, 40), tooltips=True) as pilot:
        screen = app.screen
        await settled(screen, pilot)  # type: ignore[arg-type]
        tooltip = screen.query_one(Tooltip)
        for step in range(20):
            # What is laid out anew while the mouse rests takes the explanation away.
            await pilot.hover("#context", offset=(3 + step % 3, 0))
            await pilot.pause(0.7)
            if tooltip.display:
                break
        assert "The units that a model reads" in str(tooltip.render()) and tooltip.region.height > 2
