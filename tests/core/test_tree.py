"""The tree: one path per context, whatever the order of arrival."""

import random

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.tree import ROOT, PathItems, Tree

USER, ASSISTANT = Place("messages", "user"), Place("messages", "assistant")


def said(role: str, *parts: block.Block, mark: str = "") -> list[Item]:
    place = Place("messages", role, mark)
    return [Item(block.header(role), place), *(Item(p, place) for p in parts)]


CALL = block.make("tool_use", {"type": "tool_use", "id": "t", "name": "Read", "input": {}})
RESULT = block.make("tool_result", {"type": "tool_result", "tool_use_id": "t", "content": "x"})

items = st.lists(
    st.sampled_from([*said("user", block.text("a")), *said("assistant", block.text("b"), CALL), *said("user", RESULT)])
)


@given(items, items)
def test_paths_read_back_and_share_their_common_prefix(a: list[Item], b: list[Item]) -> None:
    tree = Tree()
    head_a, head_b = tree.extend(ROOT, a), tree.extend(ROOT, b)
    assert tree.items(head_a) == a and tree.items(head_b) == b
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    common = tree.common(head_a, head_b)
    assert tree[common].depth == shared
    assert tree.holds(head_a, common) and tree.holds(head_b, common)
    assert tree.items(head_a, after=common) == a[shared:]


@given(items)
def test_adding_a_context_twice_adds_no_node(a: list[Item]) -> None:
    tree = Tree()
    head = tree.extend(ROOT, a)
    size = len(tree)
    assert tree.extend(ROOT, a) == head and len(tree) == size
    assert all(node.parent < node.id for node in tree.nodes(1))


def test_turns_begin_with_what_the_user_says_not_with_results() -> None:
    tree = Tree()
    path = [
        *said("user", block.text("do it")),
        *said("assistant", CALL),
        *said("user", RESULT, block.text("<system-reminder>")),
        *said("user", block.text("interrupted by hand"), mark="meta"),
        *said("assistant", block.text("done")),
        *said("user", block.text("thanks")),
        *said("user", block.text("and more")),
    ]
    head = tree.extend(ROOT, path)
    openers = [tree[n].block.value()["text"] for n in tree.path(head) if tree[n].opens_turn]
    assert openers == ["do it", "thanks"]
    assert tree[head].turn == 2 and tree[head].message == 7


def test_a_system_text_and_a_user_text_of_the_same_words_are_one_block_at_two_places() -> None:
    tree = Tree()
    words = block.text("same")
    a = tree.child(ROOT, words, Place("system"))
    b = tree.child(a, words, USER)
    assert tree[a].category != tree[b].category and len(tree.blocks) == 1


def test_a_block_that_follows_at_another_place_is_another_context() -> None:
    tree, words = Tree(), block.text("same")
    first = tree.child(ROOT, words, USER)
    for place in (Place("messages", "user", "summary"), ASSISTANT, Place("system")):
        other = tree.child(ROOT, words, place)
        assert other != first and tree[other].place == place
        assert tree.child(ROOT, words, place) == other


@given(st.lists(items, min_size=1, max_size=6))
def test_a_running_path_is_the_path_to_each_context_in_turn(contexts: list[list[Item]]) -> None:
    tree = Tree()
    running = tree.running()
    for one in contexts:
        head = tree.extend(ROOT, one)
        path = running.to(head)
        assert path == tree.path(head)
        items = PathItems(tree, path)
        assert list(items) == one and items[-2:] == one[-2:] and len(items) == len(one)


@given(items, st.integers(0, 150), st.integers(0, 200), items)
def test_what_is_unknown_of_a_path_is_what_follows_the_last_known(
    end: list[Item], repeats: int, known_to: int, fork: list[Item]
) -> None:
    tree = Tree()
    text = Item(block.text("again"), USER)
    head = tree.extend(ROOT, [*([text] * repeats), *end])
    path = [ROOT, *tree.path(head)]
    known = set(path[: 1 + min(known_to, len(path) - 1)])
    other = tree.extend(path[len(path) // 2], fork)
    for to in (head, other):
        assert [node.id for node in tree.missing_nodes(to, known)] == [n for n in tree.path(to) if n not in known]


def test_what_holds_a_node_is_the_same_in_whichever_order_one_asks() -> None:
    chance, tree, heads = random.Random(3), Tree(), [ROOT]
    for number in range(300):
        heads.append(tree.extend(chance.choice(heads[-6:]), [Item(block.text(str(number)), USER)]))
    for _ in range(4000):
        head, node = chance.choice(heads), chance.choice(heads[:40])
        assert tree.holds(head, node) == (node in (ROOT, *tree.path(head)))
