"""The segments that an opened block begins with."""

from __future__ import annotations

import pytest

from ctxtui.analysis.book import Book
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core import block
from ctxtui.core.category import INDEX
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from ctxtui.views.inspector.map.context_map import context_map
from ctxtui.views.model.scene import Scene, scene_at
from ctxtui.views.text import cells
from ctxtui.views.text.span import plain
from ctxtui.views.transcript import open_block
from ctxtui.views.transcript.row_index import RowIndex
from tests.analysis.labels.test_figures import labels
from tests.analysis.sessions import Script
from tests.cases import systems
from tests.cases.sessions import MODEL, quick_measure


def scene_of(text: str) -> Scene:
    script = Script(MODEL)
    script.hear(block.text(text)).call(block.text("on it"), usage=Usage(fresh=9000, output=9))
    book = Book(script.session, model_table(), quick_measure, labels)
    book.advance()
    running = RunningTotals(book, MODEL)
    running.advance()
    return scene_at(book, running, script.session.thread_calls(), 0, 0.75)


def drawn(text: str, room: int = 90) -> list[str]:
    scene = scene_of(text)
    node = next(n for n in scene.session.tree.path(scene.head) if scene.session.tree[n].block.kind == "text")
    return [plain(line) for line in open_block.segment_lines(scene, node, text, room)]


def figures(lines: list[str]) -> dict[str, str]:
    return {line[2:26].strip(): line[26:33].strip() for line in lines[:-1]}


def test_few_segments_stand_one_by_one_with_their_first_words() -> None:
    lines = drawn(systems.reminder(2) + "Mend it.")
    assert [line[:26].strip() for line in lines[:-1]] == [
        "› reminder",
        "≡ memory file",
        "≡ memory file",
        "› reminder",
        "no label",
    ]
    assert "Contents of /home/me/p0/CLAUDE.md" in lines[1]
    assert set(lines[-1]) == {"┄"}


def test_many_segments_stand_by_label_with_their_number() -> None:
    scene, lines = scene_of(systems.feedback(15)), drawn(systems.feedback(15))
    assert list(figures(lines)) == ["15 × trial", "15 × code", "15 × metrics", "15 × reasoning", "no label"]
    node = scene.session.tree.path(scene.head)[1]
    assert sum(float(tokens) for tokens in figures(lines).values() if "k" not in tokens) <= scene.running.block_tokens(
        node
    )


@pytest.mark.parametrize("room", [10, 40, 72, 120])
def test_no_line_is_wider_than_its_room(room: int) -> None:
    for line in drawn(systems.reminder(3) + "\x1b[31mred", room):
        assert cells.width(line) <= room
        assert "\x1b" not in line


def test_a_plain_block_has_none() -> None:
    assert drawn("only words") == []


def test_a_block_is_shown_where_most_of_it_counts() -> None:
    scene = scene_of(systems.reminder(3, lines=20))
    tree, head = scene.session.tree, scene.head
    node = next(n for n in tree.path(head) if tree[n].block.kind == "text")
    memory, user = INDEX["memory"], INDEX["user"]
    assert (tree[node].category, scene.running.category(node)) == (user, memory)
    assert set(context_map(scene, tree.path(head), None, 4000).shown) >= {memory}
    rows = RowIndex(tree)
    rows.show(head, hidden=frozenset({user}), moved=scene.running.moved_categories)
    assert list(rows.entries) == [node]
    rows.show(head, hidden=frozenset({memory}))
    assert list(rows.entries) == [node], "nothing was counted yet"
    rows.show(head, hidden=frozenset({memory}), moved=scene.running.moved_categories)
    assert list(rows.entries) == []
