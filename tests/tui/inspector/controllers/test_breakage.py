"""What an edit breaks of the cache is one figure and one place: on the line in the transcript, in its gutter, on the
map, in the pane and on the command line. Blocks that were never sent break nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ctxtui.core import edit_json
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP
from ctxtui.curation.price.price_tag import Breakage
from ctxtui.services.config.config import load
from ctxtui.tui.inspector.controllers.rules import describe_breakage
from ctxtui.tui.inspector.navigation import NavigationController
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from ctxtui.views.inspector.map.staged_map import staged_map
from ctxtui.views.text import numbers
from ctxtui.views.text.signs import GUTTER
from tests.cli.conftest import Run, ctxtui, home
from tests.pty_app import REPO
from tests.sampling import few
from tests.tui.inspector.test_inspector import settled, text, until

__all__ = ["ctxtui", "home"]

SAMPLE = REPO / "sessions" / "1-pineapple-evolve.jsonl"


async def dropped(screen: InspectorScreen, pilot: Pilot[None], position: int) -> None:
    """Drop the block at a raw position with the keys; what it breaks is known then."""
    await until(pilot, lambda: screen.edits.staging_area is not None and screen.edits.is_editable())
    scene, rows = screen.panels.scene, screen.panels.transcript.data
    assert scene is not None and rows is not None
    node = screen.edits.context_of(scene).nodes[position]
    screen.panels.transcript.move_to(next(n for n in range(rows.count) if rows.entry(n) == node))
    await pilot.press("d")
    await until(
        pilot, lambda: screen.panels.staged.content is not None and screen.panels.staged.content.is_breakage_known
    )
    await until(pilot, lambda: not screen.state.study.has_pending if screen.state.study is not None else False)


@pytest.mark.parametrize("position", few([7, 13, 25]))
async def test_every_pane_and_the_command_line_tell_the_same(tmp_path: Path, ctxtui: Run, position: int) -> None:
    app = make_app(str(SAMPLE), load([f"data_dir={tmp_path}"], env={}))
    async with app.run_test(size=(150, 45)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        await dropped(screen, pilot, position)
        await until(pilot, lambda: "prefix ends here" in text(screen))
        shown, staging = text(screen), screen.panels.staging
        assert staging is not None and staging.breakage is not None
        at, tokens = staging.breakage.at, numbers.tokens(staging.breakage.tokens)
        assert re.findall(r"prefix ends here · breaks (\S+) cached", shown) == [tokens]
        assert re.findall(r" breaks +(\S+)  of \S+ cached, from block (\d+)", shown) == [(tokens, str(at + 1))]
        # The map's break is where that block begins, what is read ends with the last entry before it; the gutter tells
        # of writing from there on.
        drawn, nodes = staged_map(staging, 200), staging.applied.context.nodes
        begins = staging.scene.reported_position(staging.scene.session.tree[nodes[at]].parent)
        assert drawn.break_at == pytest.approx(begins, rel=0.01) and drawn.segments[0][1] == staging.breakage.still_read
        assert staging.breakage.still_read <= begins + 1
        behind = [staging.is_behind_break(node) for node in nodes]
        assert all(behind[at:]) and behind == sorted(behind)
        first = staging.scene.session.tree[nodes[behind.index(True)]].parent
        assert behind.index(True) == at or staging.scene.reported_position(first) >= staging.breakage.still_read
        # A click on the map goes to the block that is drawn there.
        for node in [n for n in nodes if n != nodes[position] and staging.scene.running.block_tokens(n)]:
            token = staged_map(staging, 200, node).cursor_at
            assert token is not None
            screen.owner(NavigationController).to_token(token)
            assert screen.panels.transcript.node == node
        below = shown[shown.index("prefix ends here") :].splitlines()[1:6]
        assert any(line.startswith(GUTTER["write"].glyph) for line in below)
        assert screen.edits.overlay is not None
        (tmp_path / "edits.jsonl").write_bytes(edit_json.dumps(screen.edits.overlay.staged))
    for more in ((), ("--after",)):
        told = ctxtui("curate", SAMPLE, "--edits", tmp_path / "edits.jsonl", "--dry-run", "--json", *more).json
        assert (told["tokens"]["broken"], told["breaks_at_block"]) == (staging.breakage.tokens, at + 1)
        lines = ctxtui("curate", SAMPLE, "--edits", tmp_path / "edits.jsonl", "--dry-run", *more).err
        assert f"breaks   {tokens} cached tokens, from block {at + 1} on" in lines


def test_the_row_of_a_break_without_cached_tokens_says_so() -> None:
    words = "".join(span.text for span in describe_breakage(Breakage(3, 0, 80_000), 0.0))
    assert "no cached tokens are lost" in words and "written again" not in words
    assert "1.0k of 80.0k cached tokens are written again" in "".join(
        span.text for span in describe_breakage(Breakage(3, 1000, 80_000), None)
    )


async def test_a_block_that_was_never_sent_breaks_nothing(tmp_path: Path, ctxtui: Run) -> None:
    app = make_app(str(SAMPLE), load([f"data_dir={tmp_path}"], env={}))
    async with app.run_test(size=(150, 45)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await settled(screen, pilot)
        scene = screen.panels.scene
        assert scene is not None
        await until(pilot, lambda: screen.edits.staging_area is not None and screen.edits.is_editable())
        context = screen.edits.context_of(scene)
        sent = scene.session.tree[scene.call.sent_head].depth
        assert len(context) > sent, "the answer came, and no request has sent it"
        overlay = screen.edits.overlay
        assert overlay is not None
        screen.edits.stage([make(DROP, context.targets([len(context) - 1]))])
        await until(pilot, lambda: "breaks nothing of the prefix" in text(screen))
        assert "prefix ends here" not in text(screen)
        (tmp_path / "edits.jsonl").write_bytes(edit_json.dumps(overlay.staged))
    told = ctxtui("curate", SAMPLE, "--after", "--edits", tmp_path / "edits.jsonl", "--dry-run", "--json").json
    assert (told["tokens"]["broken"], told["breaks_at_block"]) == (0, None) and told["tokens"]["freed"] > 0
