"""Why the cache missed, on the screen."""

from __future__ import annotations

from typing import TypeVar

import pytest

from ctxtui.analysis.cache.miss import STRIPPED, TTL, CacheMiss, DifferingBlock
from ctxtui.analysis.cache.miss_finder import Misses
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.workers.session_report import MISSES, Report
from ctxtui.tui.lists.money import MissesScreen
from ctxtui.views.lists import misses
from ctxtui.views.text.span import plain
from tests.cases.inspect import HandMade, app_of
from tests.cases.sessions import HOSTILE, long_session
from tests.tui.inspector.test_inspector import until

T = TypeVar("T")

OLD = DifferingBlock("memory", "CLAUDE.md", "line one\nuse npm run e2e\nline three")
NEW = DifferingBlock("memory", "CLAUDE.md", "line one\nuse npm test\nline three " + HOSTILE)


def miss(number: int, cause: str, usd: float | None, **more: object) -> CacheMiss:
    fields = {
        "thread": "main",
        "number": number,
        "base": number - 1,
        "at": 1_750_000_000.0,
        "between": 1_749_999_000.0,
        "tokens": 87_500,
        "usd": usd,
        "read": 13_600,
        "shared": 13_641,
        "sizes": (101_100, 101_600),
        "cause": cause,
        "what": "",
        "by": 200.0,
        "life": 300.0,
        "foreseen": cause == TTL,
        "evidence": "only what call 3 had cached was read",
        "block": 3,
        "blocks": 342,
    }
    return CacheMiss(**{**fields, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("room", [100, 110, 120, 200])
def test_what_is_said_of_stripped_thinking_fits_its_column(room: int) -> None:
    one = miss(9, STRIPPED, 1.8, evidence="a new user message, so earlier thinking was dropped; " + "more " * 20)
    row = plain(misses.table([one]).draw(one, room))
    assert "earlier thinking dropped" in row and "…" not in row and len(row) == room


def told(one: CacheMiss) -> str:
    return "\n".join(plain(line) for line in misses.detail(one, [one], 118, 30))


def test_less_that_was_read_than_both_requests_have_in_common_is_explained() -> None:
    far = told(miss(136, STRIPPED, 1.8, read=13_600, shared=81_737))
    assert "differ from token 81,737 on; the cache entry before that ended at 13.6k." in far
    assert "no entry before it" in told(miss(136, STRIPPED, 1.8, read=0, shared=81_737))
    assert "differ from token 13,641 on. 87.5k" in told(miss(136, STRIPPED, 1.8))


def test_blocks_that_have_nothing_in_common_are_not_compared_word_by_word() -> None:
    call = DifferingBlock("tool_call", "read_file b.txt", '{"path":"b.txt"}')
    result = DifferingBlock("tool_result", "read_file a.txt", "line 0 of a\n" * 40)
    other = DifferingBlock("tool_call", "run", "npm install --save-dev everything anew")
    for new in (result, other):
        said = told(miss(5, STRIPPED, 0.1, old=call, new=new))
        assert "word diff" not in said
        assert "read_file b.txt" in said and "−" in said and new.label in said and "+" in said
    assert "word diff" in told(miss(5, STRIPPED, 0.1, old=OLD, new=NEW))


FOUND = Misses(
    (
        miss(9, TTL, 1.86),
        miss(5, "content changed", 1.51, old=OLD, new=NEW),
        miss(7, "model changed", None, what="claude-opus-4 → claude-sonnet-4"),
    ),
    calls=20,
    false_alarms=0,
    usd=53.86,
)


class Told(HandMade):
    """A source whose misses are known."""

    def __init__(self, what: Misses | CtxtuiError) -> None:
        super().__init__(long_session(40))
        self.what = what

    def report(self, kind: Report[T], loaded: Loaded) -> T:
        assert kind is MISSES
        if isinstance(self.what, CtxtuiError):
            raise self.what
        return self.what  # type: ignore[return-value]


def shown(screen: MissesScreen) -> str:
    return "\n".join(strip.text for strip in screen._compositor.render_strips())


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (200, 60)])
async def test_the_list_and_the_miss_under_the_cursor(size: tuple[int, int]) -> None:
    app = app_of(Told(FOUND))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: getattr(getattr(app.screen, "state", None), "complete", False))
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, MissesScreen) and app.screen.misses is not None)
        screen = app.screen
        assert isinstance(screen, MissesScreen)
        await pilot.pause(0.1)
        text = shown(screen)
        assert "TTL 5m" in text and "87.5k" in text and "$1.86" in text
        assert "entries lived 5m" in text and "fix" in text
        await pilot.press("right_square_bracket")
        await pilot.pause(0.05)
        text = shown(screen)
        assert "content changed" in text and "token 13,641" in text
        assert "\x1b" not in text.replace("\x1b[", "") and "\u202e" not in text
        if size[1] >= 40:
            assert "run e2e" in text and "+" in text and "unchanged" not in text.splitlines()[0], "the word diff"
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert app.screen.state.index == 4, "to call 5"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (Misses((), 320, 0, 1.0), "No misses in 320 calls."),
        (Misses((), 0, 0, None), "Misses are unknown: no call's cache reads could be forecast."),
        (CtxtuiError("the file is gone"), "the file is gone"),
    ],
)
async def test_without_misses_and_with_trouble(what: Misses | CtxtuiError, words: str) -> None:
    app = app_of(Told(what))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: getattr(getattr(app.screen, "state", None), "complete", False))
        await pilot.press("c")
        await until(pilot, lambda: words in shown(app.screen))  # type: ignore[arg-type]
        await pilot.press("escape")
        assert not isinstance(app.screen, MissesScreen)


def test_sums_that_lack_a_price_say_so() -> None:
    whole = plain(misses.heading(Misses(FOUND.misses[:2], usd=53.86)))
    assert "$3.37 lost of $53.86" in whole and "≥" not in whole
    assert "≥ $3.37 lost of ≥ $53.86" in plain(misses.heading(Misses(FOUND.misses, usd=53.86, unpriced=1)))
