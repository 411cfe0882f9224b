"""Where notes stand: by content, whatever the recording becomes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.content.notes import PlacedNote, locate_notes, target_of
from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.edit import Target
from ctxtui.core.note import Note
from ctxtui.core.tree import ROOT, Tree
from tests.cases.sessions import every_category, with_subagents

USER = Place("messages", "user")


@given(st.lists(st.sampled_from("aab"), min_size=1, max_size=12))
def test_a_target_counts_the_equals_before_it(words: list[str]) -> None:
    tree = Tree()
    head = tree.extend(ROOT, [Item(block.text(word), USER) for word in words])
    for at, node in enumerate(tree.path(head)):
        assert target_of(tree, node) == Target(block.text(words[at]).digest, words[:at].count(words[at]))


def test_a_note_stands_where_its_block_first_is() -> None:
    session = every_category()
    call = session.thread_calls("main")[2]
    node = session.tree.path(call.sent_head)[-1]
    note = Note("x", target=target_of(session.tree, node), bookmark=True)
    made = locate_notes(session, [note])
    assert made.nodes[node] == note
    (one,) = made.order
    assert (one.thread, one.call, one.is_found) == ("main", 3, True)
    assert session.tree[one.node].block.digest == note.target.digest
    assert made.at_calls() == {("main", 3)}


def test_notes_are_in_the_order_of_the_calls_and_lost_ones_last() -> None:
    session = with_subagents()
    ids = [ids[0] for ids in session.order.values()]
    notes = [Note("x", target=Target("0" * 32, 0), text="gone")]
    notes += [Note("x", call=id_, text="here") for id_ in reversed(ids)] + [Note("x", call="nowhere", text="gone")]
    made = locate_notes(session, notes)
    assert [one.note.call for one in made.order][: len(ids)] == ids
    assert [one.is_found for one in made.order] == [True] * len(ids) + [False] * 2
    assert made.order[-1] in (PlacedNote(notes[0]), PlacedNote(notes[-1]))
    assert set(made.calls) == set(ids)


def test_an_equal_block_later_is_another_one() -> None:
    tree_session = every_category()
    tree = tree_session.tree
    head = tree_session.threads["main"].tip
    again = tree.extend(head, [Item(tree[tree.path(head)[1]].block, USER)])
    assert target_of(tree, again).occurrence == target_of(tree, tree.path(head)[1]).occurrence + 1
    note = Note("x", target=target_of(tree, again), bookmark=True)
    assert set(locate_notes(tree_session, [note]).nodes) == {again}
