"""A tree in columns is the tree that it was made of, and grows as that would."""

from __future__ import annotations

import pickle
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block, packed_tree
from ctxtui.core.block import Block, Item, Place
from ctxtui.core.packed_tree import pack, unpack_into
from ctxtui.core.tree import ROOT, Node, Tree
from tests.core.test_tree import ASSISTANT, CALL, RESULT, USER, said

MEMBERS = "id parent block kind place category depth message turn turn_start turn_state opens_turn".split()
LATER = Place("messages", "user", "summary")

contexts = st.lists(
    st.lists(
        st.sampled_from(
            [
                *said("user", block.text("a"), block.text("ä" * 300)),
                *said("assistant", block.text("b"), CALL),
                *said("user", RESULT),
                *said("user", block.text("so far"), mark="summary"),
            ]
        ),
        max_size=12,
    ),
    max_size=5,
)


def packed(tree: Tree) -> Tree:
    sent = pack(tree, zlib.compress)
    assert sent is not None
    made = Tree()
    unpack_into(made, pickle.loads(pickle.dumps(sent)), zlib.decompress)
    return made


def members(node: Node) -> list[object]:
    return [getattr(node, name) for name in MEMBERS]


def same(one: Tree, other: Tree) -> None:
    assert len(one) == len(other)
    assert [members(node) for node in one.nodes()] == [members(node) for node in other.nodes()]
    assert [members(one[at]) for at in range(len(one))] == [members(other[at]) for at in range(len(one))]
    assert [one.digest(at) for at in range(len(one))] == [other.digest(at) for at in range(len(one))]
    assert [one.looks(at) for at in range(len(one))] == [(node.kind, node.category) for node in other.nodes()]
    assert [other.looks(at) for at in range(len(one))] == [(node.kind, node.category) for node in one.nodes()]
    assert [node.id for node in one.nodes(2, 5)] == [node.id for node in other.nodes(2, 5)]
    assert list(one.blocks) == list(other.blocks) and list(one.blocks.values()) == list(other.blocks.values())
    for a in range(len(one)):
        assert one.path(a) == other.path(a) and one.items(a) == other.items(a)
        for b in range(0, len(one), 3):
            shared = one.common(a, b)
            assert shared == other.common(a, b) and one.path(a, shared) == other.path(a, shared)
            assert one.holds(a, b) == other.holds(a, b)


@given(contexts, contexts)
def test_it_is_the_same_tree_and_grows_alike(before: list[list[Item]], after: list[list[Item]]) -> None:
    whole = Tree()
    for one in before:
        whole.extend(ROOT, one)
    columns = packed(whole)
    same(columns, whole)
    for one in before + after:
        assert columns.extend(ROOT, one) == whole.extend(ROOT, one)
    same(columns, whole)
    same(packed(columns), whole)


def test_blocks_are_found_by_digest_and_by_no_other_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_tree, "_PIECE", 64)
    monkeypatch.setattr(packed_tree, "_MADE", 3)
    tree = Tree()
    head = tree.extend(ROOT, [Item(block.text(f"word {n}"), USER if n % 2 else ASSISTANT) for n in range(40)])
    columns = packed(tree)
    for digest, one in tree.blocks.items():
        assert columns.blocks[digest] == one and digest in columns.blocks
        assert columns.blocks.get(digest.upper()) is None or digest.upper() == digest
    for no in ("", "0" * 32, "f" * 32, "no", "ü"):
        assert no not in columns.blocks and columns.blocks.get(no) is None
    new = block.text("new")
    columns.child(head, new, LATER)
    assert columns.blocks[new.digest] == new and len(columns.blocks) == 41 and list(columns.blocks)[-1] == new.digest


def test_a_digest_of_another_kind_is_not_packed() -> None:
    tree = Tree()
    tree.child(ROOT, Block("short", "text", b"{}"), USER)
    assert pack(tree, zlib.compress) is None


def test_a_tree_in_which_something_stands_takes_no_other() -> None:
    tree = Tree()
    tree.extend(ROOT, said("user", block.text("a")))
    sent = pack(tree, zlib.compress)
    assert sent is not None
    with pytest.raises(ValueError, match="already"):
        unpack_into(tree, sent, zlib.decompress)


def test_nodes_that_are_not_there() -> None:
    tree = Tree()
    tree.extend(ROOT, said("user", block.text("a")))
    columns = packed(tree)
    assert columns[-1].id == tree[-1].id
    for at in (3, -4):
        with pytest.raises(IndexError):
            columns[at]
