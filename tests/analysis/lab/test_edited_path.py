"""A thread under edits that stand from the first call on: call by call it comes to what they come to on each context
by itself, also where what they are about comes later; and which recorded block each sent one stands for."""

from __future__ import annotations

import os
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxtui.analysis.lab.edited_path import EditedPath, Propose
from ctxtui.core.edit import Edit, make
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import RAW, Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.provider_rules import ProviderRules, rules_for
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES, edits
from tests.curation.test_situations import as_policies_ask, generated


def staged(context: Context, log: tuple[Edit, ...], rules: ProviderRules) -> Propose:
    """As the lab stages edits (`variant_pass`): all of them with the first call."""
    return lambda applied, known: (known, applied) if known else (log, apply(context, log, rules))


def same(found: Applied, again: Applied) -> bool:
    return (
        found.changes == again.changes
        and found.inserts == again.inserts
        and found.without_target == again.without_target
    )


@settings(max_examples=400 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 40)
@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 1_000_000))
@example("anthropic", 12329)  # Removed results join an answer with a later one that thinks.
@example("google", 322)  # A person's text gives back calls without a signature.
def test_what_comes_later_is_changed_when_it_comes(dialect: str, seed: int) -> None:
    """The edits are about blocks of the whole session; the context grows message by message."""
    rng = Random(f"{dialect} {seed}")
    whole, rules = generated(dialect, rng)
    log = tuple((edits if seed % 3 == 0 else as_policies_ask)(rng, whole))
    tree, nodes = whole.tree, whole.nodes
    path = EditedPath(tree, rules, False, lambda node, other: None)
    ends = sorted({message.stop for message in whole.messages if rng.random() < 0.6} | {len(nodes)})
    context = Context(tree, nodes[ends[0] - 1], whole.dialect, whole.params)
    for end in ends:
        context = context.grow_to(nodes[end - 1])
        if context.unanswered:
            continue  # No request ends there.
        head, applied = path.add_call(context, staged(context, log, rules))
        again = Context(tree, context.head, context.dialect, context.params)
        anew = apply(again, path.log, rules)
        assert same(applied, anew), f"{end} of {len(nodes)} blocks"
        assert [tree[node].block for node in tree.path(head)] == [one.item.block for one in anew.items]
        stands_for(path, applied, head)


def stands_for(path: EditedPath, applied: Applied, head: int) -> None:
    """Each sent node stands for the first recorded one that ends where it does, or stands behind that."""
    context, tree = applied.context, applied.context.tree
    ends = [path.node_at_edge(applied, (p, RAW)) for p in range(len(context))]
    for node in tree.path(head):
        before = [p for p, end in enumerate(ends) if tree[end].depth <= tree[node].depth]
        last = ends[before[-1]] if before else ROOT
        expected = context.nodes[ends.index(last)] if last != ROOT else ROOT
        assert path.recorded_node(node) == expected


def test_an_edit_of_two_blocks_takes_the_second_when_it_comes() -> None:
    """One target is there when the edit begins, the other comes with a later call."""
    words = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    later = [{"role": "user", "content": "three"}, {"role": "assistant", "content": "four"}]
    body = {"model": "claude-opus-4-5", "max_tokens": 1, "messages": [*words, *later, *words, *later]}
    whole, _ = context_of(body, "anthropic")
    texts = [p for p, item in enumerate(whole.items) if item.block.kind == "text"]
    both = make("drop", whole.targets([texts[1], texts[2], texts[6]]), author="a", id="both")
    rules = rules_for(whole.dialect)
    path = EditedPath(whole.tree, rules, False, lambda node, other: None)
    early = Context(whole.tree, whole.nodes[texts[3]], whole.dialect, whole.params)
    _, applied = path.add_call(early, staged(early, (both,), rules))
    assert not applied.refused
    assert {texts[1], texts[2]} <= applied.changes.keys() and not applied.without_target, "it is not all asleep"
    grown = early.grow_to(whole.nodes[texts[5]])
    _, applied = path.add_call(grown, staged(grown, (both,), rules))
    assert texts[6] not in applied.changes
    grown = grown.grow_to(whole.head)
    _, applied = path.add_call(grown, staged(grown, (both,), rules))
    assert texts[6] in applied.changes
