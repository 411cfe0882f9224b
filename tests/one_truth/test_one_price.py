"""One price of one remedy: a finding, advice, `curate --dry-run` and the pane of staged edits say the same of the same
edits, and each figure of a finding follows from the others."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.edit_json import loads
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.recordings.open import load
from tests.cases import claude_code
from tests.corpus import every_recording
from tests.one_truth import commands
from tests.one_truth.test_every_figure import SAMPLES
from tests.sampling import few
from tests.services.editing.test_staging import Table, at_once

HORIZON = 20
NEAR = 1e-9

Told = dict[str, Any]


def told(*words: str) -> Told:
    found: Told = commands.said(*words)
    return found


def sums(one: Told) -> Iterator[str]:
    """Figures of a finding that do not follow from its others."""
    once, per_call, rest = one["once_usd"], one["per_call_usd"], one["rest"]
    if once is not None and one["saves_usd"] != pytest.approx(-(once + (HORIZON - 1) * per_call), abs=NEAR):
        yield f"saves {one['saves_usd']}, {once} once and {per_call} a call"
    so_far, followed = one["lab"]["so_far"], one["lab"]["followed"]
    known = so_far is not None and so_far["usd"] is not None and one["so_far_usd"] is not None
    if known and so_far["usd"] != pytest.approx(-one["so_far_usd"], abs=NEAR):
        yield f"so far {one['so_far_usd']}, the lab {so_far['usd']}"
    if (rest is None) != (followed is None) or (rest and rest["usd"] != followed["usd"]):
        yield f"rest {rest}, followed {followed}"


def curated(one: Told) -> Iterator[str]:
    """Figures that `curate --dry-run` says otherwise."""
    if not one["command"]:
        return
    done = told(*shlex.split(one["command"])[1:], "--dry-run")
    if done["tokens"]["freed"] != one.get("freed_tokens", one.get("before_tokens", 0) - one.get("after_tokens", 0)):
        yield f"frees {done['tokens']['freed']} in curate"
    moment = next((moment for moment in done["moments"] if moment["name"] == one["when"]), None)
    for name in ("once_usd", "per_call_usd") if moment is not None else ():
        if moment is not None and moment[name] != pytest.approx(one[name], abs=NEAR):
            yield f"{name} {one[name]}, {moment[name]} in curate"


class Screen:
    """The pane of staged edits of a session."""

    def __init__(self, path: Path) -> None:
        session, counter = load(path).session, Counter()
        book = book_for(session, counter, Settings())
        count_all(book, counter)
        self.table = Table(session, book)

    def staged(self, one: Told, call: int) -> Iterator[str]:
        """Figures of a finding that the pane says otherwise."""
        table = self.table
        table.call = call - 1
        edits = loads(json.dumps(one["edits"]).encode())
        table.overlay.stage_all(edits)
        for _ in range(3):
            pane = table.desk.pane(table.desk.staging(table.scene), at_once)
            table.work()
        moments = {moment.name: moment for moment in pane.moments}
        best, rest = moments.get(one["when"]), one["rest"]
        if best is not None and best.once != pytest.approx(one["once_usd"], abs=NEAR):
            yield f"once {one['once_usd']}, {best.once} on the screen"
        if (rest is None) != (pane.rest is None):
            yield f"rest {rest}, {pane.rest} on the screen"
        elif rest is not None and pane.rest is not None:
            if list(pane.rest.saved) != rest["saved_tokens"]:
                yield f"saved {rest['saved_tokens'][:3]}, {pane.rest.saved[:3]} on the screen"
            if pane.rest.usd != pytest.approx(rest["usd"], abs=1e-6):
                yield f"rest {rest['usd']}, {pane.rest.usd} on the screen"
        table.overlay.undo()


def unlike(path: Path, *, on_screen: bool = True) -> list[str]:
    """Figures of findings and advice, at the last call and at one in the middle, that differ between two places."""
    found: list[str] = []
    calls = told("findings", str(path))["calls"]
    screen = Screen(path) if on_screen and calls else None
    for call in sorted({calls, calls * 2 // 3} - {0}):
        for one in told("findings", str(path), "--call", str(call), "--horizon", str(HORIZON))["findings"]:
            why = [*sums(one), *curated(one)]
            if one["freed_tokens"] and screen is not None:
                why += screen.staged(one, call)
            found += [f"call {call}, {one['kind']}: {what}" for what in why]
    bill = told("cost", "--why", str(path)) if calls else {"ahead": [], "cures": []}
    for one in bill["ahead"]:
        found += [f"{one['policies']}: {what}" for what in curated(one)]
    best = [one for one in told("findings", str(path))["findings"] if one["kind"] == "cache markers" and one["names"]]
    for one in told("cache", str(path), "--markers")["markers"] if best else ():
        first = one["strategies"][0]
        saved = first["name"], pytest.approx(one["own"] - first["cost"], abs=NEAR)
        if one["thread"] == "main" and one["unit"] == "USD" and (best[0]["names"][0], best[0]["so_far_usd"]) != saved:
            found.append(f"markers {best[0]['names']} {best[0]['so_far_usd']}, {saved} in cache --markers")
    lifetimes = {cure["kind"]: cure["saves"] for cure in bill["cures"] if cure["thread"] == "main"}
    for one in told("findings", str(path))["findings"] if calls else ():
        for kind, said in (("1h entries", "entries of 1 hour would"), ("cache", "no call requested")):
            usd = lifetimes.get(kind)
            if usd is not None and said in one["says"].lower() and usd != pytest.approx(one["so_far_usd"], abs=NEAR):
                found.append(f"{kind}: {one['so_far_usd']}, {usd} in the bill")
    return found


def written(data: bytes, folder: Path) -> Path:
    path = folder / "one.jsonl"
    path.write_bytes(data)
    return path


MADE: dict[str, Callable[[], bytes]] = {
    "a client's transcript": lambda: claude_code.generate(90, 5),
    "one that is compacted": lambda: claude_code.generate(120, 3, compactions=1),
}


@pytest.mark.parametrize("name", few(list(MADE)))
def test_a_remedy_has_one_price(name: str, tmp_path: Path) -> None:
    assert unlike(written(MADE[name](), tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_so_it_has_in_a_sample(sample: Path) -> None:
    assert unlike(sample) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
def test_so_it_has_in_every_recording(path: Path) -> None:
    try:
        load(path)
    except CtxtuiError:
        pytest.skip("holds no context")
    assert unlike(path, on_screen=False) == []
