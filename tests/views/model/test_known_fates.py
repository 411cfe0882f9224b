"""What is gone on from with every edit is what is worked out from scratch, whatever is staged, undone and applied."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP, PIN, REPLACE, SUMMARIZE, TRUNCATE
from ctxtui.dataclasses import replace
from ctxtui.views.inspector.map.staged_map import staged_map
from ctxtui.views.model.known_fates import KnownFates
from ctxtui.views.model.staging import Staging
from tests.cases.sessions import every_category, long_session
from tests.sampling import few
from tests.services.editing.test_staging import Table, talk

GIVEN = {TRUNCATE: {"head": 20, "tail": 5}, SUMMARIZE: {"text": "what was said"}, REPLACE: {"text": "other words"}}


def key(rng: Random, table: Table, kinds: Sequence[str]) -> None:
    """One key of a user."""
    what = rng.choice(["stage"] * 8 + ["undo", "redo", "apply"])
    if what != "stage":
        getattr(table.overlay, what)()
        return
    context = table.desk.context(table.scene)
    count = len(context)
    kind, first = rng.choice(kinds), rng.randrange(count)
    long = rng.choice([2, 5]) if kind == SUMMARIZE else rng.choice([1, 1, 1, 3])
    targets = context.targets(range(first, min(count, first + long)))
    table.overlay.stage_all([make(kind, targets, GIVEN.get(kind, {}))])


@pytest.mark.parametrize("seed", few(range(6)))
@pytest.mark.parametrize("of", ["talk", "every category", "long"])
def test_fates_that_are_carried_on_are_the_fates_from_scratch(of: str, seed: int) -> None:
    rng = Random(f"{of} {seed}")
    table = talk() if of == "talk" else Table(every_category() if of == "every category" else long_session(60))
    carried = 0
    for _ in range(25):
        # Behind a pin all edits are applied anew.
        key(rng, table, [DROP, DROP, DROP, TRUNCATE, *([PIN, SUMMARIZE, REPLACE] if seed % 2 else [])])
        for counted in (False, True):
            if counted:
                table.work()
            if rng.random() < 0.2:
                table.call = rng.randrange(3)
            staging = table.desk.staging(table.scene)
            carried += staging.applied.grown is not None
            check(staging, replace(staging, known=KnownFates()))
        table.call = 1 << 30
    assert carried or seed % 2, "some of them went on from those before"


def check(staging: Staging, scratch: Staging) -> None:
    """Both are the same, in the same order, and everything that is made of them is."""
    assert [*staging.fates.items()] == [*scratch.fates.items()]
    assert [change.node for change in staging.applied.changes.values()] == [*staging.fates]
    assert staging.found.steps == scratch.found.steps and staging.found.whole == scratch.found.whole
    assert staging.by_category == scratch.by_category and staging.counted == scratch.counted
    for node in (None, *staging.applied.context.nodes[::7]):
        assert staged_map(staging, 300, node) == staged_map(scratch, 300, node)
