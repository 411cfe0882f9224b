"""What `=` says of figures on Home and in every list: each figure has its sum, and each sum holds when it is done
again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxtui.services.config.config import load
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.dialogs.explain import explain, painted_lines, spots_of
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from tests.cases import claude_code_requests
from tests.corpus import every_recording
from tests.one_truth import screens
from tests.one_truth.test_every_figure import SAMPLES, alone, session_of
from tests.tui.waiting import do
from tests.views.glossary.arithmetic_law import broken, claims

__all__ = ["alone"]

LISTS = {
    "misses": "c",
    "total": "dollar_sign",
    "cost by tool": "dollar_sign,tab,tab",
    "cost by category": "dollar_sign,tab,tab,tab",
    "threads": "dollar_sign,left",
    "heaviest": "W",
    "stale": "W,tab",
    "duplicates": "W,tab,tab",
    "tools": "W,left",
    "phases": "Phases",
    "advice": "exclamation_mark",
    "what would go": "exclamation_mark,enter",
    "policies": "exclamation_mark,L",
    "diff": "P",
}
WORDS_ONLY = frozenset({"title", "turn", "call", "sessions", "summary"})
"""What a figure may count that is made of nothing: the number of a call or turn, an age, how often one is quoted."""
SETTINGS = frozenset({"about", "entry"})
"""Panes of settings and of words."""


def told(app: CtxtuiApp) -> Iterator[tuple[str, str, str, str]]:
    """(pane, figure, word, sum) of every figure on the screen."""
    screen = app.screen
    for spot in spots_of(screen, painted_lines(screen)):
        if spot.figure and spot.pane not in SETTINGS:
            yield spot.pane, spot.text, spot.entry.word, explain(screen, spot)[1][0]


async def walked(path: Path, *, home: bool, also: str = "") -> dict[str, list[tuple[str, str, str, str]]]:
    """What is told of the figures of each screen."""
    app = make_app(None if home else str(path), load(()))
    found: dict[str, list[tuple[str, str, str, str]]] = {}
    async with app.run_test(size=screens.SIZE) as pilot:
        if home:
            await screens.steady(app, pilot)
            found["home"] = list(told(app))
            await pilot.press("enter")
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await screens.worked_out(screen, pilot)
        await screens.steady(app, pilot)
        for name, key in LISTS.items():
            for one in key.split(","):
                # Without a key: a command of the palette.
                await (pilot.press(one) if len(one) == 1 or one.islower() else do(pilot, one))
                await screens.steady(app, pilot)
            if app.screen is not screen:
                found[name] = list(told(app))
            while app.screen is not screen:
                await pilot.press("escape")
    return found


def held(found: dict[str, list[tuple[str, str, str, str]]]) -> int:
    """How many claims hold; raises where one does not, or where a figure of a list has no sum."""
    sums = {said for rows in found.values() for *_, said in rows}
    assert [claim for said in sums for claim in broken(said)] == []
    lacking = {
        (screen, pane, text, word)
        for screen, rows in found.items()
        for pane, text, word, said in rows
        if not said and word not in WORDS_ONLY
    }
    assert lacking == set()
    return sum(len(list(claims(said))) for said in sums)


async def test_home_and_every_list_tell_the_sum_of_each_figure(alone: Path) -> None:
    path = alone / ".claude" / "projects" / "-home-dev-shop" / "compacted.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(claude_code_requests.compacted().dump())
    found = await walked(path, home=True)
    assert set(found) == {"home", *LISTS}
    assert held(found) >= 30


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
async def test_the_sums_of_a_sample_hold(sample: Path) -> None:
    assert held(await walked(sample, home=False)) >= 30


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
async def test_the_sums_of_a_recording_hold(path: Path, alone: Path) -> None:
    held(await walked(session_of(path, alone), home=False))
