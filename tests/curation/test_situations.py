"""Edits applied to what is applied already come to the same as all of them applied anew; what a situation works out of
the one before it is what it would work out by itself."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core.block import HEADER
from ctxtui.core.edit import Edit, make
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.closure import DANGLING
from ctxtui.curation.apply.continued import apply_further, continued
from ctxtui.curation.context import ASSISTANT, Context
from ctxtui.curation.policies.earlier import Earlier
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.provider_rules import ProviderRules, rules_for
from ctxtui.dataclasses import replace
from ctxtui.services.config.package_data import model_table
from tests.curation.conversations import PAYLOADS, context_of
from tests.curation.shaped import SHAPES, edits

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


@settings(max_examples=400 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 60)
@given(**CASES)
def test_further_edits_come_to_what_all_of_them_come_to(dialect: str, seed: int) -> None:
    rng = Random(f"{dialect} {seed}")
    context, rules = generated(dialect, rng)
    log = (edits, as_policies_ask, answers_dropped)[seed % 3](rng, context)
    known = apply(context, (), rules)
    at = 0
    while at < len(log):
        more, before = log[at : at + rng.randint(1, 3)], log[:at]
        at += len(more)
        whole = apply(context, log[:at], rules)
        _ = rng.random() < 0.7 and known.taken_along
        found = continued(known, more, rules)
        if found is not None:
            assert found == whole
            assert found.settled == whole.settled
            assert found.went_along == whole.went_along
        assert apply_further(known, before, more, rules) == whole
        known = found or whole


def test_thinking_that_goes_along_goes_on_from_what_is_applied() -> None:
    """Else what a user drops of an agent's answers would all be applied anew at each key."""
    found = 0
    for seed in range(60):
        rng = Random(f"anthropic {seed}")
        context, rules = generated("anthropic", rng)
        known, log = apply(context, (), rules), answers_dropped(rng, context)
        for at, edit in enumerate(log):
            now = continued(known, [edit], rules)
            if now is not None and now.settled is not None:
                found += any(gone.why == DANGLING for gone in now.settled.removed.values())
                assert now == apply(context, log[: at + 1], rules)
            known = now or apply(context, log[: at + 1], rules)
    assert found > 5


def test_most_of_what_policies_ask_for_goes_on_from_what_is_applied() -> None:
    """Else the law above would hold of nothing."""
    went_on = asked = 0
    for seed in range(120):
        rng = Random(f"anthropic {seed}")
        context, _ = generated("anthropic", rng)
        known = apply(context, ())
        for number, index in enumerate(range(0, len(context.messages) - 3, 2)):
            message = context.messages[index]
            kind = rng.choice(["drop", "summarize", "truncate"])
            positions = context.targets(range(message.start, message.stop))
            more = [make(kind, positions, {"text": "in short"}, author="a", id=f"e{number}")]
            found = continued(known, more)
            went_on, asked = went_on + (found is not None), asked + 1
            known = found or apply(context, more)
    assert went_on > asked / 3


def size(block: object) -> int:
    return len(getattr(block, "body", b""))


@pytest.mark.slow
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
        context = context.grown(nodes[end - 1])

        def here(at: int, context: Context = context) -> int:
            return size(context.items[at].block)

        now = PolicyContext(context=context, log=log, tokens=here, count=size, rules=rules, earlier=earlier)
        same_as_new(now)
        more = as_policies_ask(rng, context)[:2]
        now = now.under([replace(edit, id=f"{number} {edit.id}") for edit in more])
        same_as_new(now)
        earlier, log = now.so_far(), now.log


def same_as_new(now: PolicyContext) -> None:
    context = now.context
    again = Context(context.tree, context.head, context.dialect, context.params)
    new = PolicyContext(context=again, log=now.log, tokens=now.tokens, count=now.count, rules=now.rules)
    for name in ("total", "left", "open_rounds", "rounds", "turns", "results", "newest_call", "touched", "pinned"):
        assert getattr(now, name) == getattr(new, name), name
    assert now.applied.changes == new.applied.changes
    assert now.applied.inserts == new.applied.inserts
    assert now.asked.ids == {edit.id for edit in now.log}


def test_a_block_that_an_edit_waited_for_is_no_further_edit() -> None:
    """One of two targets comes with a later turn: then everything is applied anew."""
    words = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    later = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "three"}]
    whole, _ = context_of(
        {"model": "claude-opus-4-5", "max_tokens": 1, "messages": [*words, *later, *words]}, "anthropic"
    )
    texts = [p for p, item in enumerate(whole.items) if item.block.kind == "text"]
    early = Context(whole.tree, whole.nodes[texts[1]], whole.dialect, whole.params)
    both = make("truncate", whole.targets([texts[0], texts[2]]), {"head": 0, "tail": 0}, author="a", id="both")
    known = apply(early, [both])
    grown = early.grown(whole.head)
    more = [make("drop", grown.targets([texts[3]]), author="a", id="more")]
    lagging = replace(known, length=len(grown))
    assert continued(lagging, more) is None
    assert apply_further(lagging, [both], more, None) == apply(grown, [both, *more])
