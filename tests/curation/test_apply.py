"""Law 4: apply then revert is nothing; originals never change; no policy removes a pinned block."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.edit import DROP, PIN, REPLACE, Edit, Target
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply import USER, apply, target_of

USER_TEXT = Place("messages", "user")
WORDS = ["a", "b", "c", "d"]
ITEMS = st.lists(st.sampled_from(WORDS).map(lambda w: Item(block.text(w), USER_TEXT)), max_size=8)
NEW = {made.digest: made for made in (block.text("new 1"), block.text("new 2"))}


@st.composite
def logs(draw: st.DrawFn) -> list[Edit]:
    log: list[Edit] = []
    for n in range(draw(st.integers(0, 8))):
        if log and draw(st.integers(0, 3)) == 0:
            old = draw(st.sampled_from(log))
            log.append(Edit(f"e{n}", old.kind, old.target, reverts=old.id))
            continue
        target = Target(block.text(draw(st.sampled_from([*WORDS, "gone"]))).digest, draw(st.integers(0, 2)))
        kind = draw(st.sampled_from([DROP, REPLACE, PIN]))
        instead = draw(st.sampled_from([*NEW, "unknown"])) if kind == REPLACE else ""
        log.append(Edit(f"e{n}", kind, target, draw(st.sampled_from([USER, "window", "provider"])), n, instead))
    return log


def tree_of(items: list[Item]) -> tuple[Tree, int]:
    tree = Tree()
    return tree, tree.extend(ROOT, items)


def words(items: object) -> list[str]:
    return [one.item.block.value()["text"] for one in items]  # type: ignore[attr-defined]


@given(ITEMS, logs())
def test_apply_then_revert_is_nothing(items: list[Item], log: list[Edit]) -> None:
    tree, head = tree_of(items)
    plain = apply(tree, head, [])
    back = [Edit(f"r{n}", e.kind, e.target, reverts=e.id) for n, e in enumerate(log) if not e.reverts]
    alone = [replace(e, reverts="") for e in log if not e.reverts]
    assert apply(tree, head, [*alone, *back], NEW) == plain
    assert plain.sent == tuple(items)


@given(ITEMS, logs())
def test_originals_never_change_and_every_block_is_accounted_for(items: list[Item], log: list[Edit]) -> None:
    tree, head = tree_of(items)
    before = list(tree.nodes())
    found = apply(tree, head, log, NEW)
    assert list(tree.nodes()) == before
    assert tree.items(head) == items
    kept = {one.node for one in found.items}
    assert sorted(kept | {node for node, _ in found.dropped}) == tree.path(head)
    for one in found.items:
        if one.edit is None:
            assert one.item == Item(tree[one.node].block, tree[one.node].place)
        else:
            assert one.item.block.digest == one.edit.replacement


@given(ITEMS, logs())
def test_no_other_author_removes_a_pinned_block(items: list[Item], log: list[Edit]) -> None:
    tree, head = tree_of(items)
    found = apply(tree, head, log, NEW)
    changed = [*found.dropped, *((one.node, one.edit) for one in found.items if one.edit)]
    pinned = {one.node for one in found.items if one.pinned}
    alone = apply(tree, head, [e for e in log if e.kind == PIN], NEW)
    assert all(by.author == USER for node, by in changed if node in pinned)
    pins = {one.node for one in alone.items if one.pinned}
    assert all(by.author == USER for node, by in found.dropped if node in pins)
    assert all(e.author != USER for e in found.held)


@given(ITEMS, logs(), ITEMS)
def test_edits_stay_on_their_blocks_when_the_client_appends(
    items: list[Item], log: list[Edit], more: list[Item]
) -> None:
    tree, head = tree_of(items)
    found = apply(tree, head, log, NEW)
    later = apply(tree, tree.extend(head, more), log, NEW)
    assert later.items[: len(found.items)] == found.items
    assert {e.id for e in later.asleep} <= {e.id for e in found.asleep}


def edit(kind: str, word: str, occurrence: int = 0, author: str = USER, **more: str) -> Edit:
    target = Target(block.text(word).digest, occurrence)
    return Edit(f"{kind} {word} {occurrence} {author}", kind, target, author, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ([edit(DROP, "a", 1)], ["a", "b", "c"]),
        ([edit(DROP, "a"), edit(DROP, "a", 1)], ["b", "c"]),
        ([edit(REPLACE, "b", replacement=block.text("new 1").digest)], ["a", "new 1", "a", "c"]),
        ([edit(DROP, "b"), edit(REPLACE, "b", replacement=block.text("new 1").digest)], ["a", "new 1", "a", "c"]),
        ([edit(REPLACE, "b", replacement=block.text("c").digest), edit(DROP, "b")], ["a", "a", "c"]),
        ([edit(PIN, "b"), edit(DROP, "b", author="window")], ["a", "b", "a", "c"]),
        ([edit(DROP, "b", author="window"), edit(PIN, "b")], ["a", "b", "a", "c"]),
        ([edit(PIN, "b"), edit(DROP, "b")], ["a", "a", "c"]),
        ([edit(DROP, "gone"), edit(REPLACE, "a", replacement="unknown")], ["a", "b", "a", "c"]),
    ],
)
def test_what_becomes_of_a_context(log: list[Edit], expected: list[str]) -> None:
    tree, head = tree_of([Item(block.text(w), USER_TEXT) for w in ("a", "b", "a", "c")])
    assert words(apply(tree, head, log, NEW).items) == expected


def test_edits_without_effect_say_why() -> None:
    tree, head = tree_of([Item(block.text(w), USER_TEXT) for w in ("a", "b")])
    asleep, held = edit(DROP, "a", 1), edit(DROP, "b", author="window")
    found = apply(tree, head, [asleep, edit(PIN, "b"), held])
    assert (found.asleep, found.held) == ((asleep,), (held,))
    assert [one.pinned for one in found.items] == [False, True]


def test_a_target_names_its_occurrence() -> None:
    tree, head = tree_of([Item(block.text(w), USER_TEXT) for w in ("a", "b", "a")])
    nodes = tree.path(head)
    assert [target_of(tree, head, node).occurrence for node in nodes] == [0, 0, 1]
    with pytest.raises(ValueError, match="not in list"):
        target_of(tree, nodes[0], nodes[2])
