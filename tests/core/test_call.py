"""The answer of a call is what the model said, whatever edits its context left under."""

from __future__ import annotations

import pytest

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, answer_items, answer_nodes_in, answer_path, answer_start
from ctxtui.core.session import MAIN
from ctxtui.core.tree import ROOT, Tree

USER, ASSISTANT = Place("messages", "user"), Place("messages", "assistant")
ASKED = [Item(block.text("one"), USER), Item(block.text("two"), ASSISTANT), Item(block.text("three"), USER)]
SAID = [Item(block.text("four"), ASSISTANT), Item(block.text("five"), ASSISTANT)]


@pytest.mark.parametrize("left", [ASKED, ASKED[1:], [*ASKED, *ASKED], ASKED[:2], []])
def test_it_goes_on_from_the_agents_own_context_where_another_one_left(left: list[Item]) -> None:
    tree = Tree()
    raw, sent = tree.extend(ROOT, ASKED), tree.extend(ROOT, left)
    call = Call("a", MAIN, raw, sent, tree.extend(raw, SAID))
    assert answer_start(tree, call) == raw
    assert answer_items(tree, call) == SAID
    assert len(answer_path(tree, call)) == len(SAID)
    # A recording that knows only what left.
    assert answer_items(tree, Call("a", MAIN, ROOT, sent, tree.extend(sent, SAID))) == SAID


@pytest.mark.parametrize("left", [ASKED, ASKED[1:], ASKED[:1]])
def test_an_answer_stands_behind_what_left_as_far_as_it_was_sent_again(left: list[Item]) -> None:
    tree = Tree()
    raw, sent = tree.extend(ROOT, ASKED), tree.extend(ROOT, left)
    call = Call("a", MAIN, raw, sent, tree.extend(raw, SAID))
    grown = tree.extend(sent, [*SAID, Item(block.text("six"), USER)])
    assert [item.block.digest for item in SAID] == [tree[n].block.digest for n in answer_nodes_in(tree, call, grown)]
    assert len(answer_nodes_in(tree, call, tree.extend(sent, [SAID[0], Item(block.text("six"), USER)]))) == 1
    assert answer_nodes_in(tree, call, sent) == answer_nodes_in(tree, call, tree.extend(ROOT, SAID)) == []


def test_none_where_there_is_none_or_it_goes_on_from_neither() -> None:
    tree = Tree()
    raw = tree.extend(ROOT, ASKED)
    other = tree.extend(ROOT, SAID)
    for head in (ROOT, raw, other):
        assert answer_path(tree, Call("a", MAIN, raw, raw, head)) == []
