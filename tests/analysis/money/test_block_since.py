"""Since when a block stands and what it has cost: the same wherever the session is opened, on every sample."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from ctxtui.core.session import MAIN
from ctxtui.services.recordings.open import load
from ctxtui.services.study.study import Study
from ctxtui.views.lists.costs.heaviest_blocks import HeavyBlock, weigh_blocks
from tests.cases.scenes import study_of
from tests.sampling import few

SAMPLES = sorted((Path(__file__).parents[3] / "sessions").glob("*.jsonl"))


@cache
def study(sample: Path) -> Study:
    return study_of(load(sample).session)


def weighed_at(sample: Path, index: int) -> dict[tuple[str, int], HeavyBlock]:
    """The list of heaviest blocks at one call, by what a block holds and which of the same it is."""
    of, seen = study(sample), defaultdict(int)
    known = of.thread(MAIN)
    found = {}
    for row in weigh_blocks(of.scene(MAIN, index), known.lifetimes, known.ledger):
        digest = of.session.tree[row.weight.node].block.digest
        seen[digest] += 1
        found[digest, seen[digest]] = row
    return found


@pytest.mark.parametrize("sample", few(SAMPLES), ids=lambda path: path.stem)
def test_a_block_has_one_beginning_and_a_cost_that_only_grows(sample: Path) -> None:
    of, first = study(sample), {}
    dear: dict[tuple[str, int], float] = defaultdict(float)
    for index in range(0, len(of.thread(MAIN).calls), max(1, len(of.thread(MAIN).calls) // 40)):
        for key, row in weighed_at(sample, index).items():
            assert first.setdefault(key, row.weight.first_call) == row.weight.first_call
            assert row.usd is not None and row.usd >= dear[key] - 1e-9
            dear[key] = row.usd


def test_the_third_generation_of_the_first_sample_came_at_call_11_and_cost_what_four_calls_took() -> None:
    of = study(SAMPLES[0])
    blocks = {row.weight.node: row for row in weighed_at(SAMPLES[0], 13).values()}
    told = {node: of.session.tree[node].block.body for node in blocks}
    (row,) = (
        blocks[node] for node, body in told.items() if b"Generation 3 complete. 15" in body and len(body) > 90_000
    )
    known, node = of.thread(MAIN), row.weight.node
    assert known.ledger is not None and row.usd is not None
    usd = 0.0
    for index, call in enumerate(known.calls[:14]):
        same = [
            n for n in of.session.tree.path(call.sent_head) if of.session.tree[n].block == of.session.tree[node].block
        ]
        usd += sum(known.ledger.rates_of(index).rate(of.session.tree[n].depth) for n in same) * row.weight.tokens
    assert (row.weight.first_call, row.weight.calls) == (11, 4)
    assert row.usd == pytest.approx(usd) and 0.45 < row.usd < 0.48
