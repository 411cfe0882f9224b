"""How full a context is, and will be: one figure on every pane, list and command, whatever no block stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP, TRUNCATE
from ctxtui.services.config.config import load
from ctxtui.transcripts.formats.ctxtui import write
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.advice import AdviceScreen
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.tui.lists.policies import PoliciesScreen
from ctxtui.tui.start import make_app
from ctxtui.views.text import numbers
from ctxtui.views.text.span import plain
from ctxtui.views.transcript import staged_pane
from tests.cases.sessions import Story, use
from tests.corpus import CORPUS
from tests.one_truth.commands import said
from tests.one_truth.screens import worked_out
from tests.tui.waiting import until

POLICY = "externalize_large"
HAPPY = CORPUS / "claude_code" / "happy-cli__400429ba.jsonl"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def recording(alone: Path) -> Path:
    """One that lacks system prompt and tools, and whose later reports have 2,500 tokens that no block stands for."""
    story = Story()
    story.user("first question about src/shop/cart.py")
    story.call(use("t1", "Read", path="src/shop/cart.py"))
    story.results(("t1", "line of code\n" * 900)).call("The cart is fine.")
    story.hidden_tokens += 2_500
    story.user("second question").call(use("t2", "Read", path="src/shop/cart.py"))
    story.results(("t2", "line of code\n" * 900)).call(use("t3", "Read", path="notes.md"))
    story.results(("t3", "a note of many words\n" * 1_200)).call("It is as it was.")
    path = alone / "full.jsonl"
    path.write_bytes(write(story.session))
    return path


def curated(path: Path, *more: str) -> dict[str, Any]:
    tokens: dict[str, Any] = said("curate", str(path), "--policy", POLICY, "--dry-run", *more)["tokens"]
    assert tokens["after"] == tokens["body"] + tokens["client"] + tokens["residual"]
    assert tokens["before"] - tokens["after"] == tokens["freed"]
    return tokens


def test_the_commands_say_what_is_reported(recording: Path) -> None:
    shown = said("show", str(recording))
    assert shown["residual"] > 2_000 and shown["categories"]["not_recorded"] > 13_000
    here, then = curated(recording), curated(recording, "--after")
    assert here["before"] == here["reported"] == shown["context_tokens"]
    assert 0 < then["before"] - here["before"] < 30, "the answer comes to it"
    for told in (said("why", str(recording))["ahead"], said("preflight", str(recording))["advice"]):
        assert told and {one["before_tokens"] for one in told} == {then["before"]}
        assert {one["after_tokens"] for one in told if one["policies"] == [POLICY]} == {then["after"]}


async def listed(screen: InspectorScreen, pilot: Pilot[None], key: str, kind: type[ListScreen[Any, Any]]) -> Any:
    """The list that `key` opens, once it has rows that are worked out."""
    await pilot.press(key)

    def there() -> bool:
        top = pilot.app.screen
        rows = top.pane.rows if isinstance(top, kind) else ()
        return bool(rows) and all(getattr(row, "worked", True) for row in rows)

    await until(pilot, there)
    return pilot.app.screen


async def agrees(path: Path, kind: str, number: int = 0) -> tuple[int, int]:
    """Stages an edit of the largest result of a call and asks every place how full that is; the figures without it and
    with it."""
    app = make_app(str(path), load(()))
    async with app.run_test(size=(160, 50)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await worked_out(screen, pilot)
        panels = screen.panels
        if number:
            screen.state.to_call("main", number)
        await until(pilot, lambda: screen.edits.is_editable() and panels.scene is not None and panels.scene.counted)
        scene, desk = panels.scene, screen.edits.staging_area
        assert scene is not None and desk is not None and panels.header.content is not None
        assert panels.header.content.used == scene.figures.context_tokens == scene.call.usage.input  # type: ignore[union-attr]
        context = screen.edits.context_of(scene)
        results = [n for n, item in enumerate(context.items) if item.block.kind == "tool_result"]
        largest = max(results, key=lambda at: len(context.items[at].block.body))
        given = {"head": 200, "tail": 0} if kind == TRUNCATE else {}
        screen.edits.stage([make(kind, context.targets([largest]), given)])
        await until(pilot, lambda: bool(panels.staged.content and panels.staged.content.moments))
        staging, pane = panels.staging, panels.staged.content
        assert staging is not None and pane is not None
        without, after = staging.without, staging.after
        header, what = panels.header.content, panels.context.content
        assert header is not None and what is not None
        assert (header.used, header.after) == (what.total, what.after) == (without, after)
        assert without - after == staging.freed == -sum(staging.by_category.values()) > 1_000
        assert sum(part.after or 0 for part in what.parts) + what.residual == pytest.approx(after, abs=2)
        frees = next(plain(line) for line in staged_pane.lines(pane, 60, 20) if "frees" in plain(line))
        assert f"next call {numbers.tokens(after)}, {100 * after / pane.usable:.0f} %" in frees
        assert panels.why.content is not None and panels.why.content.composition.total == without
        assert panels.next_call is not None and panels.next_call.input == pytest.approx(after, rel=0.02)
        advice = await listed(screen, pilot, "exclamation_mark", AdviceScreen)
        await until(pilot, lambda: advice.is_complete)
        rows = advice.pane.rows
        assert {row.what.tag.after + row.freed for row in rows if row.what.tag is not None} == {after}
        assert {one.tag.before for one in advice.findings.priced if one.tag is not None} == {after}
        # A warning (a secret) says what is at stake, not what its edits free.
        priced = (row.what.tag is not None and not (row.finding and row.finding.finding.warning) for row in rows)
        advice.pane.move_to([*priced].index(True))
        await pilot.pause()
        assert f"next call {numbers.tokens(after)} → " in "".join(map(plain, advice.board.draw(100, 6)))
        policies = await listed(screen, pilot, "L", PoliciesScreen)
        row = next(one for one in policies.pane.rows if one.has_gain)
        assert row.share == pytest.approx((after - row.freed) / pane.usable)
        return without, after


@pytest.mark.parametrize("kind", [DROP, TRUNCATE])
async def test_every_place_says_the_same_under_staged_edits(recording: Path, kind: str) -> None:
    without, _ = await agrees(recording, kind)
    assert without == curated(recording, "--after")["before"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [136, 205])
async def test_a_recorded_session_with_a_large_residual(number: int) -> None:
    if not HAPPY.exists():
        pytest.skip("the corpus is absent")
    shown = said("show", str(HAPPY), "--call", str(number))
    assert shown["residual"] > 10_000
    assert curated(HAPPY, "--call", str(number))["before"] == shown["context_tokens"]
    without, _ = await agrees(HAPPY, DROP, number)
    assert without == curated(HAPPY, "--call", str(number), "--after")["before"]
