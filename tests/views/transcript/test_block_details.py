"""What a row and an open block say beside their content: stays, carry, stability, repeats."""

from __future__ import annotations

from ctxtui.analysis.content.duplicates import IDENTICAL, WORKSPACE, Duplicate
from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.tree import Tree
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import plain
from ctxtui.views.transcript.block_details import details, if_on_path
from tests.cases.scenes import rows_of, study_of, text_of
from tests.cases.sessions import Story, compacted, long_session, use

TEXT = "\n".join(f"line {n} says something of its own" for n in range(30))


def read_twice() -> Story:
    story = Story().user("go")
    for id_ in ("t1", "t2"):
        story.call(use(id_, "Read", file_path="/w/a.py")).results((id_, TEXT))
    return story.call("done")


def shown(story: Story, index: int = -1):  # type: ignore[no-untyped-def]
    study = study_of(story.session)
    rows, known = rows_of(study, index), study.thread("main")
    rows.lifetimes, rows.repeats = known.lifetimes, known.repeated
    return rows


def test_a_row_is_marked_where_both_blocks_stand_in_the_context() -> None:
    assert [line.count("↓") for line in text_of(shown(read_twice())) if " Read line 0" in line] == [1, 0]
    assert not any("↓" in line for line in text_of(shown(read_twice(), 1)))


def test_an_open_block_says_how_long_it_stayed_and_what_stands_for_it() -> None:
    for pane, screen in ((49, 80), (73, 120)):
        rows = shown(read_twice())
        index = next(
            i for i in range(rows.count) if "Read line 0" in plain(rows.line(i, 0, Grid.for_pane(73, 120), " "))
        )
        before = len(text_of(rows, pane, screen))
        rows.toggle(index)
        lines = text_of(rows, pane, screen)
        height = rows.height(index, Grid.for_pane(pane, screen))
        assert len(lines) == before + height - 1
        told = " ".join(" ".join(lines[index + 1 : index + height]).replace("│", " ").split())
        assert "since call 2, in 2 calls:" in told and "carried" in told and "cacheable: not known yet" in told
        assert "↓ a.py was read again later" in told or "↓ /w/a.py was read again later" in told
        grid = Grid.for_pane(pane, screen)
        assert all(len(plain(line)) <= grid.body for line in rows.details(index, grid.body))


def test_nothing_of_a_block_is_said_of_a_row_that_is_none() -> None:
    story = read_twice()
    rows = shown(story)
    # What came since is not counted yet: the tree has more nodes than there are totals.
    story.user("more").call("done").user("and more").call("done")
    assert rows.scene is not None
    assert not any(details(rows.scene, entry, rows.lifetimes, None, 80) for entry in (-1, -2, -3))


def test_stability_is_told_in_words() -> None:
    study = study_of(long_session(30))
    rows = rows_of(study)
    rows.lifetimes = study.thread("main").lifetimes
    told = " ".join(plain(line) for line in rows.details(1, 200))
    assert "cacheable: high, unchanged with everything before it in 29 of 29 further calls" in told


def test_what_stands_for_a_block_must_stand_on_the_path() -> None:
    session = read_twice().session
    tree: Tree = session.tree
    path = tree.path(session.thread_calls()[-1].sent_head)
    other, gone = Duplicate(path[3], IDENTICAL, path[1]), Duplicate(path[3], IDENTICAL, len(tree) - 1)
    assert if_on_path(tree, path, other) == other and if_on_path(tree, path[:2], other) == other
    assert if_on_path(tree, path, gone) is None and if_on_path(tree, path, None) is None
    file = Duplicate(path[3], WORKSPACE, 0, path="a.py")
    assert if_on_path(tree, path, file) == file


def test_what_a_recording_lacks_has_the_same_name_in_its_row_and_when_it_is_opened() -> None:
    with_system = Story().add(Item(blocks.text("You are careful."), Place("system"))).user("go").call("done")
    for story, lacks in ((with_system, "tools"), (Story().user("go").call("done"), "system prompt and tools")):
        rows = shown(story)
        rows.toggle(0)
        row, opened, *_ = text_of(rows, 150)
        assert f"not recorded {lacks}, inferred" in row and opened.endswith(f"most likely {lacks}."), (row, opened)


def test_an_open_block_is_drawn_again_for_another_call() -> None:
    study = study_of(compacted())
    rows, known = rows_of(study, 0), study.thread("main")
    rows.toggle(0)
    for index in range(len(known.calls)):
        rows.show(study.scene("main", index), known.boundaries, known.ledger, rows.shown)
        row, *lines = text_of(rows, 150)[:8]
        assert ("re-attached" in row) == any("Re-attached" in line for line in lines)
