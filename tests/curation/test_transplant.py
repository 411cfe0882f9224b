"""Blocks of one session put into another: legal or refused with a reason, and undone byte for byte."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from ctxtui.core import canonical, edit_json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_log import Stamp, undo_last
from ctxtui.curation import transplant
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.legality.request_check import encode_outgoing
from ctxtui.curation.provider_rules import rules_for
from ctxtui.curation.transplant import copy_blocks, find_objection, put_in
from ctxtui.services.config.package_data import model_table
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.conftest import THOROUGH
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES, edits
from tests.curation.test_random_edits import STRICT
from tests.offline.signing import sign_all

TABLE = model_table()
SEEDS = 60 if THOROUGH else 15


class Case(NamedTuple):
    context: Context
    request: Request
    model: str
    rng: Random


def generated(dialect: str, seed: int) -> Case:
    rng = Random(f"transplant {dialect} {seed}")
    body = SHAPES[dialect](rng)
    if dialect == "anthropic":
        body = sign_all(body)
    context, request = context_of(body, dialect)
    return Case(context, request, body["model"], rng)


def sent(case: Case, log: list[Edit]) -> bytes:
    applied = apply(case.context, log, rules_for(case.context.dialect, TABLE.card(case.model)))
    out = encode_outgoing(applied, case.request.skeleton, dialect=case.context.dialect, model=case.model)
    return out.body


def outcome(source: Case, target: Case, chosen: list[int], position: int, log: list[Edit]) -> str:
    """Put the `chosen` blocks in: "" if the request is legal, else why it is refused. Checks the laws on the way."""
    context, card = target.context, TABLE.card(target.model)
    rules, limits = rules_for(context.dialect, card), card.request_limits
    before = apply(context, log, rules)
    made = put_in(before, position, copy_blocks(source.context, chosen, "other@3"))
    if made.edit is None:
        assert made.why
        return made.why
    assert edit_json.loads(edit_json.dumps([made.edit])) == [made.edit]
    staged = [*log, Edit("t", made.edit.kind, made.edit.targets, payload=made.edit.payload, batch="t")]
    after = apply(context, staged, rules)
    if log == []:
        undone = [*staged, *undo_last(staged, Stamp("u", 1.0))]
        assert sent(target, undone) == encode(target.request)
        assert apply(context, undone, rules) == before
    reasons = [one.why for one in after.rejected if one.edit.id == "t"]
    if reasons:
        return reasons[0]
    if after.refused:
        return after.refused
    skeleton = target.request.skeleton
    out = encode_outgoing(after, skeleton, dialect=context.dialect, model=target.model, limits=limits)
    if objection := find_objection([], out.violations):
        return objection
    refusals = STRICT[context.dialect](canonical.loads(out.body))
    assert not refusals, refusals
    assert any(one.edit.id == "t" for one in after.inserts)
    return ""


@given(
    source=st.sampled_from(sorted(SHAPES)),
    target=st.sampled_from(sorted(SHAPES)),
    seeds=st.tuples(st.integers(0, 500), st.integers(0, 500)),
    data=st.data(),
)
def test_any_blocks_put_in_anywhere_are_legal_or_refused_with_a_reason(
    source: str, target: str, seeds: tuple[int, int], data: st.DataObject
) -> None:
    one, other = generated(source, seeds[0]), generated(target, seeds[1])
    chosen = data.draw(st.lists(st.integers(0, len(one.context) - 1), min_size=1, max_size=8, unique=True))
    position = data.draw(st.integers(0, len(other.context) - 1))
    log = edits(other.rng, other.context) if data.draw(st.integers(0, 3)) == 0 else []
    event("refused" if outcome(one, other, chosen, position, log) else "legal")


def test_a_call_is_refused_where_the_whole_request_defines_no_tool() -> None:
    messages = [{"role": "user", "content": "hello"}]
    context, _ = context_of({"model": "m", "max_tokens": 1, "messages": messages}, "anthropic")
    source = generated("openai_chat", 3)
    call = next(p for p, item in enumerate(source.context.items) if item.block.kind == "tool_call")
    copied = copy_blocks(source.context, [call], "other@3")
    assert put_in(apply(context, []), 1, copied, is_whole=True).why == transplant.NO_TOOLS
    assert put_in(apply(context, []), 1, copied).edit is not None, "a transcript does not record tools"


@pytest.mark.parametrize("target", sorted(SHAPES))
@pytest.mark.parametrize("source", sorted(SHAPES))
def test_whole_turns_are_nearly_always_accepted(source: str, target: str) -> None:
    reasons: list[str] = []
    for seed in range(SEEDS):
        one, other = generated(source, seed), generated(target, seed + 1000)
        messages = one.context.messages
        first = one.rng.randrange(len(messages))
        last = one.rng.randint(first, len(messages) - 1)
        chosen = [*range(messages[first].start, messages[last].stop)]
        reasons.append(outcome(one, other, chosen, one.rng.randrange(len(other.context)), []))
    refused = [reason for reason in reasons if reason and not reason.startswith(transplant.NOTHING_COPIED)]
    assert len(refused) <= SEEDS // 15, refused
