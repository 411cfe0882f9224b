"""Which blocks of a context a call sent under edits: told right whatever the edits were, and whatever they are now."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.sent_blocks import SentBlocks
from tests.curation.shaped import SHAPES, edits
from tests.curation.test_situations import CASES, answers_dropped, as_policies_ask, generated


def sent_under(context: Context, applied: Applied) -> tuple[Call, list[int]]:
    """A call with this context that left under edits, and the nodes of what left."""
    head = context.tree.extend(ROOT, applied.sent)
    return Call("c1", "main", context.head, head, context.head), context.tree.path(head)


@given(**CASES)
def test_law_under_the_edits_of_the_call_each_node_is_its_block(dialect: str, seed: int) -> None:
    rng = Random(f"{dialect} {seed}")
    context, rules = generated(dialect, rng)
    log = (edits, as_policies_ask, answers_dropped)[seed % 3](rng, context)
    applied = apply(context, log, rules)
    call, nodes = sent_under(context, applied)
    found = SentBlocks(call, applied, log)
    for node, one in zip(nodes, applied.items, strict=True):
        if one.item.block.kind == HEADER:
            continue
        at = found.position(node)
        assert at is not None or one.node < 0, (node, one)
        if at is not None and one.node < 0:
            # What was put in says what the next block says: the two cannot be told apart.
            assert context.items[at].block == one.item.block
        elif at is not None:
            # One that says the same in its place will do, where such a one was dropped.
            assert at == one.position or context.items[at].block == context.items[one.position].block
            assert found.shown(context.nodes[at]) == node and found.block(node) == context.nodes[at]
    assert [found.place(node) for node in nodes] == sorted(found.place(node) for node in nodes)


@given(dialect=st.sampled_from(sorted(SHAPES)), seed=st.integers(0, 1_000_000))
def test_law_whatever_the_edits_are_now_blocks_are_told_by_those_of_the_call(dialect: str, seed: int) -> None:
    rng = Random(f"now {dialect} {seed}")
    context, rules = generated(dialect, rng)
    log: list[Edit] = (edits, as_policies_ask, answers_dropped)[seed % 3](rng, context)
    then = apply(context, log[: rng.randint(1, len(log))], rules)
    now = apply(context, log[rng.randint(0, len(log)) :], rules)
    call, nodes = sent_under(context, then)
    found = SentBlocks(call, now, log, [then])
    blocks = [item.block for item in context.items]
    for node, one in zip(nodes, then.items, strict=True):
        block, at = one.item.block, found.position(node)
        if block.kind != HEADER and blocks.count(block) == 1 and one.node >= 0 and one.edit is None:
            assert at == one.position, (node, one)
    for at in range(len(context)):
        first = found.first(at)
        assert first is None or found.place(first) >= at
