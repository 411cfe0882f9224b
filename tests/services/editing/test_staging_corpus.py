"""On real recordings, too: the tag is the difference to the request that then leaves."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from ctxtui.core.edit_kinds import DROP, SUMMARIZE, TRUNCATE
from ctxtui.core.errors import NoContext
from ctxtui.core.tree import ROOT
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter
from ctxtui.services.recordings.open import load
from tests.corpus import need_corpus
from tests.sampling import few
from tests.services.editing.test_staging import Table, at_once

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
FOLDERS = ("claude_code", "codex", "vcr", "mini_swe_agent", "pi")
GIVEN: dict[str, dict[str, object]] = {TRUNCATE: {"head": 50, "tail": 0}, SUMMARIZE: {"text": "They spoke."}}
LARGEST = 1_500_000


def some(folder: str) -> list[Path]:
    """Files of one folder that are read quickly; all of them in a thorough run."""
    files = [path for path in need_corpus(folder) if path.stat().st_size < LARGEST]
    return files if THOROUGH else Random(folder).sample(files, min(2, len(files)))


def stage(table: Table, rng: Random) -> None:
    """One or two edits somewhere, often near the end."""
    length = len(table.desk.context(table.scene))
    for kind in rng.choices([DROP, TRUNCATE, SUMMARIZE], k=rng.choice([1, 2])):
        start = rng.randrange(max(1, length - 8), length) if rng.random() < 0.4 else rng.randrange(1, length)
        table.stage(kind, *range(start, min(length, start + rng.choice([1, 1, 3, 8]))), **GIVEN.get(kind, {}))


def difference(table: Table) -> tuple[float, float] | None:
    """What the tag says that applying costs, and what the two requests cost; None where there is nothing to price."""
    pane = table.pane()
    applied = pane.staging.applied
    raw = table.desk.next_call(table.scene, at_once)
    if applied.refused or not applied.is_changed or not pane.moments or raw is None or pane.moments[0].once is None:
        return None
    table.overlay.apply()
    then = None
    for _ in range(3):
        then = table.desk.next_call(table.scene, at_once)
        table.work()
    assert then is not None and then is not raw
    nodes, floor = applied.context.nodes, raw.question.floors[0 if raw.question.read else 1]
    at = then.question.parts_at
    shared = floor if at is None else raw.question.prompt.tokens(nodes[at - 1] if at else ROOT)
    costs = []
    for one, kept in ((raw.question, floor), (then.question, min(floor, shared))):
        outcome = one.simulator.predict(one.prompt, one.now).with_min_read(kept)
        costs.append(one.charge(outcome.to_usage(), outcome.at) or 0.0)
    return pane.moments[0].once, costs[1] - costs[0]


@pytest.mark.parametrize("folder", few(FOLDERS))
def test_the_tag_is_the_difference_on_recordings(folder: str) -> None:
    priced = 0
    for path in some(folder):
        try:
            session, counter = load(path).session, Counter()
        except NoContext:
            continue
        if not session.thread_calls("main"):
            continue
        rng = Random(path.name)
        counts = book_for(session, counter, Settings())
        for _ in range(4):
            table = Table(session, counts)
            table.call = rng.randrange(len(session.thread_calls("main")))
            if len(table.desk.context(table.scene)) < 4:
                continue
            stage(table, rng)
            found = difference(table)
            priced += found is not None
            assert found is None or found[0] == pytest.approx(found[1], abs=0.001), (path.name, table.call)
    assert priced or folder != "claude_code"
