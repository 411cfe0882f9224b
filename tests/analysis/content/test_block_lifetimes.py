"""In which calls a block stood: counted step by step as by looking at every context."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.analysis.content.block_lifetimes import HIGH, LOW, MEDIUM, BlockLifetimes
from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, Epoch
from ctxtui.core.tree import ROOT, Tree

contexts = st.lists(st.lists(st.integers(0, 2), max_size=5), min_size=1, max_size=8)


def calls_of(tree: Tree, contexts: list[list[int]], epochs: list[int] | None = None) -> list[Call]:
    place = Place("messages", "user")
    heads = [tree.extend(ROOT, [(blocks.text(f"b{n}"), place) for n in some]) for some in contexts]  # type: ignore[misc]
    return [
        Call(f"c{i}", "main", head, head, head, epoch=Epoch(epochs[i] if epochs else 1)) for i, head in enumerate(heads)
    ]


@settings(max_examples=80)
@given(contexts, st.data())
def test_counts_are_those_of_the_contexts_themselves(some: list[list[int]], data: st.DataObject) -> None:
    tree = Tree()
    calls = calls_of(tree, some)
    stays = BlockLifetimes(tree)
    stays.advance(calls)
    stays.truncate(data.draw(st.integers(0, len(calls))))
    while stays.done < len(calls):
        stays.advance(calls, data.draw(st.integers(1, 3)))
    for node in range(1, len(tree)):
        nth = number_of(tree, node)
        there = [
            next((one for one in tree.path(call.sent_head) if number_of(tree, one) == nth), None) for call in calls
        ]
        held = [one is not None for one in there]
        assert stays.first_call(node) == (held.index(True) if any(held) else None)
        for upto in range(len(calls) + 1):
            assert stays.count_calls(node, upto) == sum(held[:upto])
        assert [stays.node_at_call(node, index) for index in range(len(calls))] == there
    nodes = data.draw(st.lists(st.integers(1, len(tree) - 1), max_size=4)) if len(tree) > 1 else []
    wanted = {number_of(tree, node) for node in nodes}
    assert stays.count_calls_with_any(nodes, len(calls)) == sum(
        any(number_of(tree, one) in wanted for one in tree.path(call.sent_head)) for call in calls
    )
    assert {number_of(tree, node) for node in stays.all_nodes()} == {
        number_of(tree, node) for node in range(1, len(tree))
    }


def number_of(tree: Tree, node: int) -> tuple[str, int]:
    """A block's content, and which of the same it is in its context."""
    digest = tree[node].block.digest
    return digest, sum(tree[one].block.digest == digest for one in tree.path(node))


def test_a_block_behind_a_changed_beginning_stays_the_same_block() -> None:
    tree = Tree()
    calls = calls_of(tree, [[0, 5], [0, 5, 6], [1, 5, 6], [1, 6]])
    stays = BlockLifetimes(tree)
    stays.advance(calls)
    for call in calls[:3]:
        node = tree.path(call.sent_head)[1]
        assert (stays.first_call(node), stays.count_calls(node, 4)) == (0, 3)
    assert [(start, stop) for start, stop, _ in stays.stretches(calls[3].sent_head, 4)] == [(1, 2), (2, 3), (3, 4)]


def test_an_answer_that_is_sent_again_elsewhere_was_still_made_once() -> None:
    tree, place = Tree(), Place("messages", "user")
    asked, other = (tree.extend(ROOT, [Item(blocks.text(words), place)]) for words in ("ask", "other"))
    said = tree.extend(asked, [Item(blocks.text("said"), place)])
    again = tree.extend(other, [Item(blocks.text("said"), place)])
    calls = [Call("c0", "main", asked, asked, said), Call("c1", "main", again, again, again)]
    stays = BlockLifetimes(tree)
    stays.advance(calls)
    assert (stays.answering_call(said), stays.answering_call(again), stays.first_call(said)) == (0, 0, 1)
    stays.truncate(0)
    assert (stays.answering_call(said), stays.first_call(said)) == (None, None)


def test_stability_is_the_share_of_further_calls_in_which_the_prefix_stood() -> None:
    tree = Tree()
    history = list(range(3, 30))
    some = [[0, 9, *history[:n]] for n in range(4)] + [[0, 8, *history[:n]] for n in range(4, 11)]
    calls = calls_of(tree, some)
    stays = BlockLifetimes(tree)
    stays.advance(calls)
    path = tree.path(calls[0].sent_head)
    assert stays.stability(path[0]) == (HIGH, 10, 10)
    assert stays.stability(path[1])[0] == LOW
    assert stays.stability(tree.path(calls[-1].sent_head)[1]) == (HIGH, 6, 6)
    assert stays.stability(calls[-1].sent_head) == ("", 0, 0)
    halved = calls_of(tree, [[1], [1], [1], [2], [2]])
    other = BlockLifetimes(tree)
    other.advance(halved)
    assert other.stability(halved[0].sent_head) == (MEDIUM, 2, 4)


def test_a_message_spelt_in_another_way_leaves_what_follows_it_cacheable() -> None:
    tree, place = Tree(), Place("messages", "user")
    calls = []
    for n in range(8):
        head = tree.child(ROOT, blocks.header("user", {"content": "string" if n % 2 else "list"}), place)
        head = tree.extend(head, [Item(blocks.text("a question"), place), Item(blocks.text("a file"), place)])
        calls.append(Call(f"c{n}", "main", head, head, head))
    stays = BlockLifetimes(tree)
    stays.advance(calls)
    assert stays.stability(calls[0].sent_head) == stays.stability(calls[7].sent_head) == (HIGH, 7, 7)


def test_a_compaction_takes_nothing_from_stability() -> None:
    tree = Tree()
    calls = calls_of(tree, [[0], [0, 1], [0, 1, 2], [7], [7, 8]], [1, 1, 1, 2, 2])
    stays = BlockLifetimes(tree)
    stays.advance(calls)
    assert stays.stability(calls[0].sent_head) == (HIGH, 2, 2)
