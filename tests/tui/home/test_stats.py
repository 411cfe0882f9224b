"""Stats on Home: one table at a time, and sessions come in as they are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.app import App

from ctxtui.analysis.money.usage_stats import WorstMiss
from ctxtui.services.config.config import load
from ctxtui.services.config.paths import database
from ctxtui.services.counting.count_cache import CountCache
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.totals.stat_changes import parse_change
from ctxtui.services.library.totals.stats import WAYS, make_stats
from ctxtui.services.worker import Worker
from ctxtui.services.workers.summary_worker import make
from ctxtui.services.workers.totals_worker import StatsMaker, StatsSoFar
from ctxtui.tui.lists.costs import stats as screen_of
from ctxtui.tui.lists.costs.stats import StatsScreen
from ctxtui.tui.theme.theme import apply_theme
from ctxtui.views.lists.costs.stats import NONE_YET
from ctxtui.views.model.session_summary import MISSED, CallSpent, SessionSummary
from tests.cases.claude_code_requests import parallel
from tests.services.library.test_stats import DAY, NEW, OLD, REPORT, reporting
from tests.services.library.test_tool_ledger import session
from tests.tui.home.test_home import text
from tests.tui.home.test_tool_ledger import until


class Made:
    """Stats of which the half is not read at first."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closed = False
        self.more: list[SessionSummary] = []

    def attempt(self, method: object, by: str, age: float = 0.0, change: str = "") -> StatsSoFar:
        """The second time they are whole."""
        self.asked.append(by)
        known = OLD if len(self.asked) == 1 else [*OLD, *NEW, session("tools", "yz"), *self.more]
        # Day 10 is today; NEW has calls of day 9, OLD of day 1.
        since = 10 * DAY - age if age else 0.0
        changed = parse_change(change) if change else None
        found = make_stats(known, 10.0 * DAY, by=by, since=since, changed=changed, list_changes=True)
        return StatsSoFar(found, int(len(self.asked) == 1), reread_reason="once more, after an upgrade")

    def close(self) -> None:
        """They are not asked any more."""
        self.closed = True


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_way_has_its_table(size: tuple[int, int]) -> None:
    app, source = App[None](), Made()
    apply_theme(app, {}, "dark", "unicode")
    async with app.run_test(size=size) as pilot:
        screen = StatsScreen(source)
        screen.reload_seconds = 0.01  # type: ignore[misc]
        await app.push_screen(screen)
        await until(pilot, lambda: "11 sessions" in text(app))
        assert "not read yet" not in text(app) and "$19.00" in text(app)
        for way in WAYS[1:]:
            await pilot.press("tab")
            head = "server, tool" if way == "tool" else way.replace("-", " ")
            await until(pilot, lambda head=head: head in text(app))  # type: ignore[misc]
        await pilot.press("tab")
        await until(pilot, lambda: "No miss cost money" in text(app))
        await pilot.press("tab")
        await until(pilot, lambda: "client-version=2.1.10" in text(app))
        await pilot.press("tab")
        await until(pilot, lambda: "project" in text(app))
        await pilot.press("shift+tab", "shift+tab", "shift+tab", "S")
        await until(pilot, lambda: "5 hours" in text(app) and "↓" in text(app))
        await pilot.press("escape")
        await until(pilot, lambda: source.closed)
    assert {*WAYS, ""} == set(source.asked)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_quota_that_was_reported_has_a_table_behind_the_ways(size: tuple[int, int]) -> None:
    app, source = App[None](), Made()
    apply_theme(app, {}, "dark", "unicode")
    source.asked.append("")  # all is read
    source.more = [reporting("q", REPORT, source="claude code")]
    async with app.run_test(size=size) as pilot:
        await app.push_screen(StatsScreen(source))
        await until(pilot, lambda: "12 sessions" in text(app))
        await pilot.press("shift+tab", "shift+tab", "shift+tab")
        await until(pilot, lambda: "resets" in text(app) and "32 %" in text(app))
        assert "codex" in text(app) and "5 hours" in text(app) and "660, $6.00" not in text(app)
        await pilot.press("S")
        await until(pilot, lambda: "↓" in text(app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_change_is_chosen_or_typed_and_held_against_what_was_before(size: tuple[int, int]) -> None:
    app, source = App[None](), Made()
    apply_theme(app, {}, "dark", "unicode")
    source.asked.append("")  # all is read
    async with app.run_test(size=size) as pilot:
        await app.push_screen(StatsScreen(source))
        await until(pilot, lambda: "11 sessions" in text(app))
        await pilot.press("shift+tab")
        await until(pilot, lambda: "5 → 5" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "cost of a call" in text(app))
        shown = text(app)
        assert "before and after  client-version=2.1.10" in shown and (
            "5 → 5 sessions" in shown or "5 sessions, 10 calls → 5" in shown
        )
        assert "−$0.500" in shown and ("no difference shown" in shown or "chance" in shown)
        await pilot.press("escape")
        await until(pilot, lambda: "5 → 5" in text(app))
        await pilot.press("D")
        for key in "lately":
            await pilot.press(key)
        await pilot.press("enter")
        await until(pilot, lambda: "'lately' is not a change" in text(app))
        await pilot.press("D")
        for key in "tag=small":
            await pilot.press({"=": "equals_sign"}.get(key, key))
        await pilot.press("enter")
        await until(pilot, lambda: "before and after  tag=small" in text(app) and "−$0.483" in text(app))


async def test_only_the_calls_of_the_last_days() -> None:
    app, source = App[None](), Made()
    apply_theme(app, {}, "dark", "unicode")
    source.asked.append("")
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(StatsScreen(source))
        await until(pilot, lambda: "11 sessions" in text(app))
        await pilot.press("w")
        await until(pilot, lambda: "last 1 d · 5 sessions" in text(app))
        await pilot.press("w", "w")
        await until(pilot, lambda: "last 30 d · 1" in text(app))
        await pilot.press("w", "w")
        await until(pilot, lambda: "last" not in text(app).splitlines()[0] and "11 sessions" in text(app))


class Missed:
    """Stats with a miss, of a session that is not counted."""

    def attempt(self, method: object, by: str, age: float = 0.0, change: str = "") -> StatsSoFar:
        """With a session of which only the usage is known."""
        spent = (CallSpent("a", 110, 100, 90, 1.0, started=1, marks=MISSED, lost=0.75),)
        known = SessionSummary(key="/w/known.jsonl", title="the dear one", known=True, spent=spent, cwd="/known")
        used = replace(NEW[0], usage_only=True, cwd="/used")
        return StatsSoFar(make_stats([known, used], 0.0, by=by), 1)

    def close(self) -> None:
        """Nothing is open."""


async def test_what_is_not_counted_yet_is_no_figure_and_a_miss_is_opened() -> None:
    app, chosen = App[None](), list[WorstMiss | None]()
    apply_theme(app, {}, "dark", "unicode")
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(StatsScreen(Missed()), chosen.append)
        await until(pilot, lambda: "1 not counted yet" in text(app))
        used, known = (next(line for line in text(app).splitlines() if name in line) for name in ("/used", "/known"))
        assert "…" in used and "…" not in known and "$0.750" in known
        await pilot.press("shift+tab", "shift+tab")
        await until(pilot, lambda: "the dear one" in text(app) and "$0.750" in text(app))
        await pilot.press("enter")
        await until(pilot, lambda: bool(chosen))
    assert chosen[0] is not None and (chosen[0].key, chosen[0].call) == ("/w/known.jsonl", 1)


def test_the_screen_has_the_ways_of_the_command() -> None:
    assert screen_of.GROUPINGS == WAYS


def test_the_process_tells_what_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    folder = tmp_path / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    (folder / "0a1b2c3d-0000-4000-8000-000000000000.jsonl").write_bytes(parallel().dump())
    settings = load(()).settings
    worker = Worker(StatsMaker, settings, tmp_path)
    try:
        before = worker.attempt(StatsMaker.make, "model")
        assert before is not None and (before.left, before.unread, before.stats.total.uncounted) == (1, 0, 1)
        used = before.stats.total
        CountCache(database(settings.data_dir), create=True).summary("", 0, 0.0, "")
        answer = make()
        figured = [answer((one, settings)) for one in SessionLibrary(settings, tmp_path).list_fast()]
        after = worker.attempt(StatsMaker.make, "model")
        assert after is not None and after.left == 0 and not after.stats.total.uncounted
        assert (after.stats.total.calls, after.stats.total.usd) == (used.calls, used.usd)
        assert after.stats.total.calls == sum(one.calls for one in figured if one.key.startswith(str(folder)))
    finally:
        worker.close()
    assert worker.attempt(StatsMaker.make, "model") is None


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_without_a_session_it_says_what_is_missing_and_what_to_do(size: tuple[int, int]) -> None:
    class Nothing(Made):
        def attempt(self, method: object, by: str, age: float = 0.0, change: str = "") -> StatsSoFar:
            return StatsSoFar(make_stats([], 0.0, by=by), 0)

    app = App[None]()
    apply_theme(app, {}, "dark", "unicode")
    async with app.run_test(size=size) as pilot:
        await app.push_screen(StatsScreen(Nothing()))
        for _ in range(len(WAYS) + 1):
            await until(pilot, lambda: NONE_YET in text(app))
            await pilot.press("tab")


async def test_what_is_read_once_more_says_why_where_there_is_room() -> None:
    app = App[None]()
    apply_theme(app, {}, "dark", "unicode")
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(StatsScreen(Made()))
        await until(pilot, lambda: "1 not counted yet (once more, after an upgrade)" in text(app))
