"""What takes its time to work out is kept until the recording has more."""

from __future__ import annotations

from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.workers.session_report import MISSES, STATEMENT, Report
from tests.cases.inspect import HandMade, app_of
from tests.cases.sessions import long_session
from tests.tui.inspector.test_inspector import until


class Counting(HandMade):
    asked = 0

    def report(self, kind: Report[object], loaded: Loaded) -> object:  # type: ignore[override]
        self.asked += 1
        return kind.name


async def test_misses_and_bill_are_worked_out_once() -> None:
    source = Counting(long_session(4))
    app = app_of(source)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: getattr(getattr(app.screen, "state", None), "complete", False))
        state = app.screen.state  # type: ignore[attr-defined]
        assert state.report(MISSES) == state.report(MISSES) != state.report(STATEMENT) and source.asked == 2
        state.loaded = Loaded(long_session(5), "another.jsonl")
        state.report(MISSES)
        assert source.asked == 3, "the recording is another one now"
