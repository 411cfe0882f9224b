"""A policy context derived from an earlier one has the values that it would compute from scratch."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.core.block import ASSISTANT, HEADER
from ctxtui.core.edit import Edit, make
from ctxtui.core.tree import ROOT
from ctxtui.curation.context import Context
from ctxtui.curation.policies.earlier import Earlier
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.provider_rules import ProviderRules, rules_for
from ctxtui.services.config.package_data import model_table
from tests.curation.conversations import PAYLOADS, context_of
from tests.curation.shaped import SHAPES

pytestmark = pytest.mark.slow

KINDS = ["drop", "drop", "summarize", "truncate", "replace", "externalize", "deduplicate", "strip", "note"]
CASES = {"dialect": st.sampled_from(sorted(SHAPES)), "seed": st.integers(0, 1_000_000)}


def generated(dialect: str, rng: Random) -> tuple[Context, ProviderRules]:
    body = SHAPES[dialect](rng)
    return context_of(body, dialect)[0], rules_for(dialect, model_table().card(body["model"]))


def as_policies_ask(rng: Random, context: Context) -> list[Edit]:
    """Edits of stretches, messages and single blocks, that follow each other and overlap."""
    log = []
    for number in range(rng.randint(2, 10)):
        kind = rng.choice(KINDS)
        first = rng.randrange(len(context))
        message = context.message_at(first)
        stretch = range(first, min(len(context), first + rng.choice([1, 1, 2, 5, 12])))
        if message is not None and rng.random() < 0.3:
            stretch = range(message.start, message.stop)
        payload = rng.choice(PAYLOADS.get(kind, [{}]))
        log.append(make(kind, context.targets(stretch), payload, author=rng.choice("ab"), id=f"e{number}"))
    return log


def answers_dropped(rng: Random, context: Context) -> list[Edit]:
    """Edits that drop what the model said, block by block, as a user does: thinking goes along."""
    said = [p for p, item in enumerate(context.items) if item.place.role in ASSISTANT and item.block.kind != HEADER]
    firsts = [rng.choice(said or range(len(context))) for _ in range(rng.randint(2, 10))]
    return [make("drop", context.targets(range(p, p + 1)), {}, id=f"e{number}") for number, p in enumerate(firsts)]


def size(block: object) -> int:
    return len(getattr(block, "body", b""))


@settings(max_examples=400 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 40)
@given(**CASES)
def test_a_situation_that_goes_on_finds_what_a_new_one_finds(dialect: str, seed: int) -> None:
    """The context grows message by message, and edits are added in between."""
    rng = Random(f"{dialect} {seed}")
    whole, rules = generated(dialect, rng)
    tree, nodes = whole.tree, whole.nodes
    ends = sorted({message.stop for message in whole.messages if rng.random() < 0.6} | {len(nodes)})
    context = Context(tree, nodes[ends[0] - 1] if ends else ROOT, whole.dialect, whole.params)
    earlier: Earlier | None = None
    log: tuple[Edit, ...] = ()
    for number, end in enumerate(ends):
        context = context.grow_to(nodes[end - 1])

        def here(at: int, context: Context = context) -> int:
            return size(context.items[at].block)

        now = PolicyContext(context=context, log=log, tokens=here, count=size, rules=rules, earlier=earlier)
        same_as_new(now)
        more = as_policies_ask(rng, context)[:2]
        now = now.under([replace(edit, id=f"{number} {edit.id}") for edit in more])
        same_as_new(now)
        earlier, log = now.computed_so_far(), now.log


def same_as_new(now: PolicyContext) -> None:
    context = now.context
    again = Context(context.tree, context.head, context.dialect, context.params)
    new = PolicyContext(context=again, log=now.log, tokens=now.tokens, count=now.count, rules=now.rules)
    for name in ("total", "left", "unedited_rounds", "rounds", "turns", "results", "newest_call", "touched", "pinned"):
        assert getattr(now, name) == getattr(new, name), name
    assert now.applied.changes == new.applied.changes
    assert now.applied.inserts == new.applied.inserts
    assert now.edited.ids == {edit.id for edit in now.log}
