"""A chat that is edited, goes on, and is edited again: with real keys, the offline provider and its log."""

from __future__ import annotations

from pathlib import Path

from ctxtui.tui.chat.screen import ChatScreen
from tests.tui.test_chat import shown
from tests.tui.test_waiting_edits import chatting, provider, say
from tests.tui.waiting import until


def rows_of(screen: ChatScreen) -> list[int]:
    """The rows of blocks."""
    data = screen.panels.transcript.data
    assert data is not None
    return [row for row in range(data.count) if data.entry(row) > 0]


def row_of(screen: ChatScreen, kind: str, nth: int = -1) -> int:
    """The `nth` row of a block of this kind."""
    data = screen.panels.transcript.data
    assert data is not None
    return [row for row in rows_of(screen) if data.readings.tree[data.entry(row)].kind == kind][nth]


def answered(screen: ChatScreen) -> str:
    """What the prompt's line says."""
    return "".join(span.text for span in screen.line.edit.hint)


def go_to(screen: ChatScreen, node: int) -> None:
    data = screen.panels.transcript.data
    assert data is not None
    screen.panels.transcript.move_to(data.index_of(node))
    assert screen.panels.transcript.node == node


def blocks_of(screen: ChatScreen) -> list[int]:
    """The nodes that have rows, of which every one is a block that a key can act on."""
    data = screen.panels.transcript.data
    assert data is not None
    found = [data.entry(row) for row in rows_of(screen)]
    for node in found:
        go_to(screen, node)
        assert screen.edits.positions(), answered(screen)
    return found


async def test_every_block_can_be_edited_after_edits_were_sent(tmp_path: Path) -> None:
    async with provider(tmp_path) as (running, clock), chatting(tmp_path, running, clock) as (screen, pilot):
        (tmp_path / "work" / "app.py").write_text("def f():\n    return 1\n")
        await say(screen, pilot, "read the file app.py")
        await say(screen, pilot, "list the files")
        await pilot.press("escape")
        overlay = screen.edits.overlay
        assert overlay is not None
        screen.panels.transcript.move_to(row_of(screen, "tool_use", 0))
        await pilot.press("d", "a")
        await say(screen, pilot, "thank you")
        await until(pilot, lambda: screen.panels.scene is not None and screen.panels.scene.call.edited)
        await pilot.press("escape")
        nodes = blocks_of(screen)
        assert len(set(screen.edits.blocks_of(nodes))) == len(nodes) > 18
        await pilot.press("left_square_bracket", "right_square_bracket")
        for node, keys in ((nodes[8], "pb"), (nodes[9], "pd"), (nodes[-5], "pd"), (nodes[-1], "pd")):
            for key in keys:
                go_to(screen, node)
                await pilot.press(key)
                assert overlay.staged and not answered(screen).startswith("✗"), (node, key, answered(screen))
                await pilot.press("X")
        screen.panels.transcript.move_to(row_of(screen, "tool_result"))
        await pilot.press("d")
        assert "dropped: list_dir ." in answered(screen) and " ✗ " in shown(screen)
        while overlay.in_force:
            await pilot.press("u")
        assert blocks_of(screen) == nodes
        await pilot.press("p")
        assert len(overlay.staged) == 1
