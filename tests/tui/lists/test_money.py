"""Money over the Inspector: worked out behind the screen, in tabs of one list."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
from textual.screen import Screen

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN, Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import priced_account
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.workers.session_report import MISSES, STATEMENT, Report
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.advice import AdviceScreen
from ctxtui.tui.lists.diff import DiffScreen
from ctxtui.tui.lists.money import CategoryCostScreen, MissesScreen, ToolCostScreen, TotalScreen
from ctxtui.tui.lists.threads import ThreadsScreen
from ctxtui.views.text.span import Span
from tests.analysis.money_cases import agent
from tests.cases.inspect import HandMade, app_of
from tests.cases.scenes import rows_of, study_of, text_of
from tests.cases.sessions import book_of, compacted, long_session
from tests.tui.inspector.test_inspector import settled, until

T = TypeVar("T")


class WithBill(HandMade):
    """A source that can add up, or says why it cannot."""

    trouble = ""

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        if self.trouble:
            raise CtxtuiError(self.trouble)
        book = book_of(self.session, counted=False)
        book.advance()
        made = priced_account(self.session, book, Settings())
        if kind is MISSES:
            return made.misses()  # type: ignore[return-value]
        if kind is STATEMENT:
            return made.statement()  # type: ignore[return-value]
        return super().report(kind, loaded)


def shown(screen: Screen[Any]) -> str:
    return "\n".join(strip.text for strip in screen._compositor.render_strips())


TABS = (TotalScreen, MissesScreen, ToolCostScreen, CategoryCostScreen, ThreadsScreen)


async def test_money_is_one_list_whose_tabs_add_up_to_the_same_total() -> None:
    source = WithBill(agent([1000, 2000, 300], [20, 4000, 20]))
    app = app_of(source)
    async with app.run_test(size=(120, 40)) as pilot:
        inspector = app.screen
        assert isinstance(inspector, InspectorScreen)
        await settled(inspector, pilot)
        await pilot.press("dollar_sign")
        page = app.screen
        assert isinstance(page, TotalScreen)
        await until(pilot, lambda: page.pane.row_count > 0)
        await pilot.pause(0.05)
        text, what = shown(page), page.statement
        assert what is not None and what.bill.usd is not None and "list price" in text
        for word in ("carry", "rewrites", "most expensive blocks"):
            assert word in text
        assert "cures" not in text and "! advice" in text, "what would help is the list of advice"
        for kind in (*TABS[1:], TABS[0]):
            await pilot.press("tab")
            await until(pilot, lambda kind=kind: type(app.screen) is kind)  # type: ignore[misc]
            first, tab = shown(app.screen).splitlines()[0], app.screen  # type: ignore[arg-type]
            assert first.split() == "money total misses by tool by category by thread".split()
            if isinstance(tab, ToolCostScreen):
                await until(pilot, lambda tab=tab: bool(tab.rows))  # type: ignore[misc]
                assert sum(row.usd or 0.0 for row in tab.rows) == pytest.approx(what.bill.usd)
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: isinstance(app.screen, AdviceScreen))


async def test_misses_are_one_key_away_and_p_shows_the_two_requests_where_they_part() -> None:
    source = WithBill(agent([1000, 2000, 300], [20, 4000, 20]))
    app = app_of(source)
    async with app.run_test(size=(120, 40)) as pilot:
        inspector = app.screen
        assert isinstance(inspector, InspectorScreen)
        await settled(inspector, pilot)
        await pilot.press("c")
        page = app.screen
        assert isinstance(page, MissesScreen)
        await until(pilot, lambda: bool(page.rows))
        row = page.pane.row
        assert row is not None and (row.thread, row.number) == (MAIN, 3)
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and app.screen.pane.data is not None)
        diff = app.screen
        assert isinstance(diff, DiffScreen) and diff.pane.data is not None
        assert f"call {row.base} → {row.number}" in shown(diff)
        data, tree = diff.pane.data, source.session.tree
        every = [one for at in range(len(data.rows)) if (one := data.change(at)) is not None]
        assert data.change(diff.pane.cursor) is next(one for one in every if tree[one.after or 0].depth >= row.block)
        await pilot.press("escape")
        assert app.screen is page, "back to the misses"
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and app.screen.pane.data is not None)
        await pilot.press("o")
        await until(pilot, lambda: app.screen is inspector)
        await pilot.press("c", "enter")
        await until(pilot, lambda: app.screen is inspector and inspector.state.index == 2)


@pytest.mark.parametrize("size", [(80, 24), (30, 6), (200, 60)])
async def test_it_fits_any_screen_and_closes(size: tuple[int, int]) -> None:
    app = app_of(WithBill(compacted()))
    async with app.run_test(size=size) as pilot:
        inspector = app.screen
        await until(pilot, lambda: inspector.state.complete)
        await pilot.press("dollar_sign")
        page = app.screen
        assert isinstance(page, TotalScreen)
        await until(pilot, lambda: page.pane.row_count > 0)
        assert all(strip.cell_length == size[0] for strip in page._compositor.render_strips())
        await pilot.press("escape")
        assert app.screen is inspector


async def test_what_cannot_be_added_up_is_said() -> None:
    source = WithBill(long_session(4))
    source.trouble = "the file is [gone]"
    app = app_of(source)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: getattr(getattr(app.screen, "state", None), "complete", False))
        await pilot.press("dollar_sign")
        page = app.screen
        assert isinstance(page, TotalScreen)
        await until(pilot, lambda: "the file is [gone]" in shown(page))


def session_of() -> Session:
    return agent([1000, 2000, 300], [20, 20, 20])


def test_an_open_block_says_what_it_costs_now_and_so_far() -> None:
    session = session_of()
    rows = rows_of(study_of(session))
    index = next(i for i in range(rows.count) if session.tree[max(0, rows.entry(i))].block.kind == "tool_result")
    rows.toggle(index)
    (line,) = [one for one in text_of(rows, 120, 200) if "so far" in one and "this call" in one]
    assert "this call \u00b7 $" in line


async def test_a_subscription_s_tokens_stand_in_the_header() -> None:
    class Subscribed(WithBill):
        def study(self, session: Session):  # type: ignore[no-untyped-def]
            made = super().study(session)
            made.subscription = True
            return made

    app = app_of(Subscribed(session_of()))
    async with app.run_test(size=(120, 40)) as pilot:
        inspector = app.screen
        assert isinstance(inspector, InspectorScreen)
        await settled(inspector, pilot)
        head = inspector._compositor.render_strips()[0].text
        assert " tokens " in head and head.rstrip().endswith("list")


async def test_a_message_that_does_not_fit_on_a_list_ends_in_an_ellipsis() -> None:
    app = app_of(WithBill(agent([1000, 2000, 300], [20, 4000, 20])))
    async with app.run_test(size=(80, 24)) as pilot:
        inspector = app.screen
        assert isinstance(inspector, InspectorScreen)
        await settled(inspector, pilot)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, MissesScreen))
        page = app.screen
        assert isinstance(page, MissesScreen)
        page.message_line.show_message([Span("a message " * 30)])
        await until(pilot, lambda: "a message" in shown(page))
        (row,) = (line for line in shown(page).splitlines() if "a message" in line)
        assert row.rstrip().endswith("…")
