"""Growth on the screen: the chart, the sentences, the phases; narrow, wide, without colour, and in trouble."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import pytest
from textual.pilot import Pilot

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.library.growth import growth_report
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.workers.session_report import Report
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.growth import GrowthScreen
from ctxtui.views.lists import growth as views
from tests.cases.growing import rounds
from tests.cases.inspect import HandMade, app_of
from tests.tui.inspector.test_inspector import settled, until
from tests.tui.waiting import do

T = TypeVar("T")


class WithGrowth(HandMade):
    """A source whose growth is worked out here, or that says why it cannot be."""

    trouble = ""

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        assert kind.name == "growth" and kind.about == "main"
        if self.trouble:
            raise CtxtuiError(self.trouble)
        return growth_report(make_account(self.session, Counter(), Settings()), choose_call(self.session, kind.about))  # type: ignore[return-value]


def seen(pilot: Pilot[None]) -> str:
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


async def opened(source: HandMade, pilot: Pilot[None]) -> GrowthScreen:
    screen = pilot.app.screen
    assert isinstance(screen, InspectorScreen)
    await settled(screen, pilot)
    await until(pilot, lambda: screen.state.complete)
    await do(pilot, "Phases")
    await until(pilot, lambda: isinstance(pilot.app.screen, GrowthScreen))
    found = pilot.app.screen
    assert isinstance(found, GrowthScreen)
    await until(pilot, lambda: found.pane.rows is not None)
    return found


@pytest.mark.parametrize(("size", "theme"), [((80, 24), "dark"), ((120, 40), "mono"), ((200, 60), "light")])
async def test_chart_sentences_and_phases_stand_together(size: tuple[int, int], theme: str) -> None:
    source = WithGrowth(rounds(40))
    async with app_of(source, theme=theme).run_test(size=size) as pilot:
        await opened(source, pilot)
        await until(pilot, lambda: "linear: +424 a call" in seen(pilot))
        text = seen(pilot)
        assert "phases" in text and "user" in text and "▲" in text, "the chart marks the call shown"
        assert "10 rounds more reach" in text
        if size[1] >= 40:
            assert "quadratically: twice the calls" in text and "what grew" in text


async def test_where_it_cannot_be_worked_out_the_rest_still_stands() -> None:
    source = WithGrowth(rounds(6))
    source.trouble = "the process that measures growth ended"
    async with app_of(source).run_test(size=(120, 40)) as pilot:
        await opened(source, pilot)
        await until(pilot, lambda: "▲ the process that measures growth ended" in seen(pilot))
        assert "phases" in seen(pilot)


async def test_a_wrong_phase_rule_is_named_and_the_chart_still_stands() -> None:
    source = WithGrowth(rounds(6))
    source.settings = replace(source.settings, phases="(")
    async with app_of(source).run_test(size=(120, 40)) as pilot:
        screen = await opened(source, pilot)
        await until(pilot, lambda: "▲ setting phases: phase rule '(': not a regular expression" in seen(pilot))
        assert screen._chart.chart is not None and len(screen._chart.chart.parts) == 6
        assert "No call is recorded" not in seen(pilot)


async def test_in_a_small_terminal_a_key_shows_every_sentence() -> None:
    source = WithGrowth(rounds(40))
    async with app_of(source).run_test(size=(80, 24)) as pilot:
        screen = await opened(source, pilot)
        await until(pilot, lambda: "more: tab" in seen(pilot))
        report = screen._sentences.report
        assert report is not None
        every = [one.name for one in views.sentences(report)]
        assert {"what grew", "carry", "again"} <= {*every}
        await pilot.press("tab")
        await until(pilot, lambda: all(f" {name} " in seen(pilot) for name in every))
        assert "more: tab" not in seen(pilot) and "phases" in seen(pilot)
        await pilot.press("tab")
        await until(pilot, lambda: "more: tab" in seen(pilot))
