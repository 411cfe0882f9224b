"""A summary stands where the first of its blocks stood."""

from __future__ import annotations

from random import Random

import pytest

from ctxtui.core.block import HEADER
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.legality.request_check import encode_outgoing
from ctxtui.curation.provider_rules import rules_for
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES

COUNT = 150


@pytest.mark.parametrize("dialect", sorted(SHAPES))
def test_a_summary_stands_where_its_first_block_stood(dialect: str) -> None:
    """Nothing that stood in front of the first block comes behind its summary, nothing that stood behind in front; in
    the first block's own message the provider orders texts, calls and results, a system message keeps what follows it
    (Anthropic), and between a call that stays and its result nothing stands."""
    seen = 0
    for seed in range(COUNT):
        rng = Random(f"place {dialect} {seed}")
        body = SHAPES[dialect](rng)
        context, request = context_of(body, dialect)
        blocks = [
            p for p, item in enumerate(context.items) if item.place.section == "messages" and item.block.kind != HEADER
        ]
        start = rng.randrange(len(blocks))
        run = blocks[start : start + rng.randint(1, 9)]
        applied = apply(
            context, [make(SUMMARIZE, context.targets(run), {"text": "What happened."})], rules_for(dialect)
        )
        new = [n for n, one in enumerate(applied.items) if one.item.place.mark == "summary"]
        if applied.refused or not new:
            continue
        own = context.message_at(run[0])
        assert own is not None
        kept = [(n, one.position) for n, one in enumerate(applied.items) if one.node >= 0]
        left = {position for _, position in kept}
        if any(call in left and call < run[0] < answer for call, (answer, *_) in context.partners.items()):
            continue
        for n, position in kept:
            if not own.start <= position < own.stop and context.items[position].place.role != "system":
                assert (n < new[0]) == (position < run[0]), (seed, run, position)
        assert not encode_outgoing(applied, request.skeleton, dialect=dialect, model=body["model"]).violations
        seen += 1
    assert seen > COUNT * 0.8
