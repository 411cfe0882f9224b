"""Why the context is so big, on the screen: the line, the way there, and the safe cut that it names."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from ctxtui.curation.policies.risk import loses_text
from ctxtui.curation.price.advice import Advice
from ctxtui.services.editing.policy_proposals import Proposals
from ctxtui.tui.inspector.controllers import why
from ctxtui.tui.inspector.controllers.why import WhyController
from ctxtui.tui.inspector.reasons import KEY
from tests.tui.inspector.test_inspector import opened, text, until
from tests.tui.lists.test_advice import results
from tests.views.inspector.test_why_so_big import reads

ROOT = Path(__file__).resolve().parents[4]


async def test_the_line_says_why_and_goes_there() -> None:
    async with opened(reads().session) as (screen, pilot):
        reasons, owner = screen.panels.reasons, screen.owner(WhyController)
        assert "results" in text(screen).splitlines()[1]
        await until(pilot, lambda: screen.edits.is_editable())
        owner._search()
        await until(pilot, lambda: reasons.groups is not None)
        assert "npm output" in text(screen).splitlines()[1]
        await pilot.press("shift+tab", "enter")
        await pilot.pause(0.05)
        node = screen.panels.transcript.node
        assert node and screen.panels.scene is not None
        assert screen.panels.transcript.has_focus, "the heaviest block, as no cut is known yet"
        owner._search()
        await until(pilot, lambda: reasons.subject is not None)
        assert reasons.cut is None and KEY not in text(screen).splitlines()[1], "nothing that frees tokens is safe here"


async def test_a_safe_cut_is_named_and_gone_to() -> None:
    async with opened(results()) as (screen, pilot):
        reasons, owner = screen.panels.reasons, screen.owner(WhyController)
        await until(pilot, lambda: screen.edits.is_editable())
        owner._search()
        await until(pilot, lambda: reasons.subject is not None)
        await until(pilot, lambda: f"{KEY} " in text(screen).splitlines()[1])
        scene = screen.panels.scene
        assert reasons.cut is not None and scene is not None
        assert not loses_text(screen.edits.context_of(scene), reasons.cut.edits)
        await pilot.press("shift+tab", "enter")
        await until(pilot, lambda: "lists the advice" in text(screen))
        assert screen.panels.transcript.has_focus, "the first block of the cut"


async def test_a_cut_that_loses_text_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.curation.policies.risk.loses_text", lambda context, edits: True)
    async with opened(results()) as (screen, pilot):
        reasons = screen.panels.reasons
        await until(pilot, lambda: screen.edits.is_editable())
        screen.owner(WhyController)._search()
        await until(pilot, lambda: reasons.subject is not None)
        assert reasons.cut is None and KEY not in text(screen).splitlines()[1]


async def test_a_cut_of_other_edits_is_not_shown() -> None:
    async with opened(results()) as (screen, pilot):
        reasons, owner = screen.panels.reasons, screen.owner(WhyController)
        await until(pilot, lambda: screen.edits.is_editable())
        owner._search()
        await until(pilot, lambda: f"{KEY} " in text(screen).splitlines()[1])
        said, subject = text(screen).splitlines()[1], reasons.subject
        await pilot.press("d")
        await until(pilot, lambda: "searching" in text(screen).splitlines()[1] or reasons.subject != subject)
        await until(pilot, lambda: reasons.subject == owner._subject != subject)
        await pilot.press("u")
        await until(pilot, lambda: reasons.subject == owner._subject)
        await until(pilot, lambda: "looking" not in text(screen).splitlines()[1])
        assert said.strip()


async def test_a_recording_that_is_followed_gets_its_cut_too() -> None:
    async with opened(results(), live=True) as (screen, pilot):
        reasons, owner = screen.panels.reasons, screen.owner(WhyController)
        assert screen.state.live
        await until(pilot, lambda: screen.edits.is_editable())
        owner._search()
        await until(pilot, lambda: reasons.subject is not None)
        assert reasons.cut is not None


async def test_a_cut_that_nobody_can_use_any_more_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = Event(), Event()

    def advice(self: Proposals, horizon: int, stopped: Callable[[], bool]) -> list[Advice]:
        begun.set()
        until = time.monotonic() + 20
        while not stopped() and time.monotonic() < until:
            time.sleep(0.01)
        if time.monotonic() < until:
            ended.set()
        return []

    async with opened(reads().session) as (screen, pilot):
        await until(pilot, lambda: screen.edits.is_editable())
        monkeypatch.setattr(Proposals, "advice", advice)
        owner = screen.owner(WhyController)
        owner._search()
        await until(pilot, begun.is_set)
        monkeypatch.setattr(owner, "_search", lambda: None)
        await pilot.press("d")
        await until(pilot, ended.is_set)
        assert screen.edits.overlay is not None and screen.edits.overlay.staged


async def test_among_very_many_blocks_it_is_not_looked_for_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why, "_MAX_AUTOMATIC_BLOCKS", 3)
    async with opened(reads().session) as (screen, pilot):
        reasons, owner = screen.panels.reasons, screen.owner(WhyController)
        await until(pilot, lambda: screen.edits.is_editable())
        owner._search()
        await until(pilot, lambda: reasons.groups is not None)
        assert owner._search_subject is None and reasons.subject is None
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: "what it does" in text(pilot.app.screen))  # type: ignore[arg-type]


_SEARCHES = """
import asyncio, sys, threading
from tests.tui.inspector.test_inspector import opened, until
from tests.views.inspector.test_why_so_big import reads
from ctxtui.tui.inspector.controllers.why import WhyController

HEAVY = ("ctxtui.services.editing.policy_proposals", "ctxtui.analysis.content.heavy_groups")
found = {}

class Sees:
    def find_spec(self, name, path, target=None):
        if name in HEAVY:
            found[name] = threading.current_thread() is threading.main_thread()

async def main():
    async with opened(reads().session) as (screen, pilot):
        await until(pilot, lambda: screen.edits.is_editable())
        screen.owner(WhyController)._search()
        await until(pilot, lambda: screen.panels.reasons.subject is not None)
        await until(pilot, lambda: screen.panels.reasons.groups is not None)

sys.meta_path.insert(0, Sees())
asyncio.run(main())
assert found, "loaded before: nothing was seen"
print(sorted(name for name, in_main in found.items() if in_main))
"""


@pytest.mark.slow
def test_what_searches_is_loaded_where_no_frame_waits_for_it() -> None:
    run = subprocess.run([sys.executable, "-c", _SEARCHES], capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.stdout.strip() == "[]", run.stdout + run.stderr[-2000:]
