"""The bill over the Inspector: worked out behind the screen, its lines lead to calls."""

from __future__ import annotations

from typing import TypeVar

import pytest

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN, Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import priced
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.workers.session_report import STATEMENT, Report
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.costs.bill import BillPane, BillScreen
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
        assert kind is STATEMENT
        if self.trouble:
            raise CtxtuiError(self.trouble)
        book = book_of(self.session, counted=False)
        book.advance()
        return priced(self.session, book, Settings()).statement()  # type: ignore[return-value]


def shown(screen: BillScreen) -> str:
    return "\n".join(strip.text for strip in screen._compositor.render_strips())


async def test_the_bill_adds_up_and_leads_to_a_rewrite() -> None:
    source = WithBill(agent([1000, 2000, 300], [20, 4000, 20]))
    app = app_of(source)
    async with app.run_test(size=(120, 40)) as pilot:
        inspector = app.screen
        assert isinstance(inspector, InspectorScreen)
        await settled(inspector, pilot)
        await pilot.press("dollar_sign")
        page = app.screen
        assert isinstance(page, BillScreen)
        pane = page.query_one(BillPane)
        await until(pilot, lambda: pane.row_count > 0)
        await pilot.pause(0.05)
        text = shown(page)
        assert " rewrites (1; 1 after pauses > 5 min)" in text and "list price" in text
        for title in ("the bill", "rewrites", "dearest blocks", "cures"):
            assert title in text
        assert pane.lines[pane.cursor].call == (MAIN, 3)
        await pilot.press("enter")
        assert app.screen is inspector and inspector.state.index == 2


@pytest.mark.parametrize("size", [(80, 24), (30, 6), (200, 60)])
async def test_it_fits_any_screen_and_closes(size: tuple[int, int]) -> None:
    app = app_of(WithBill(compacted()))
    async with app.run_test(size=size) as pilot:
        inspector = app.screen
        await until(pilot, lambda: inspector.state.complete)
        await pilot.press("dollar_sign")
        page = app.screen
        assert isinstance(page, BillScreen)
        await until(pilot, lambda: page.query_one(BillPane).row_count > 0)
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
        assert isinstance(page, BillScreen)
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
