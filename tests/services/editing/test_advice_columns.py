"""Advice that is searched in another process is the advice that is searched here."""

from __future__ import annotations

import pickle
from random import Random

import pytest

from ctxtui.core.edit_kinds import BREAKPOINT, DROP, SUMMARIZE, TRUNCATE
from ctxtui.core.errors import NoContext
from ctxtui.core.session import Session
from ctxtui.curation.price.advice import Advice
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.advice_search.columns import NodeColumns, SearchColumns, Unpackable
from ctxtui.services.editing.policy_proposals import Proposals
from ctxtui.services.recordings.open import load
from tests.analysis.cache.test_audit import Talk
from tests.cases.sessions import Story, thinking, use
from tests.services.editing.test_staging import Table, at_once
from tests.services.editing.test_staging_corpus import FOLDERS, some, stage
from tests.views.inspector.test_why_so_big import reads

HORIZON = 20


def told(found: list[Advice]) -> list[object]:
    """All that is said of what was found."""
    return [
        (one.names, one.edits, one.risk, one.remedy.freed, dict(one.remedy.saved), one.remedy.put_in, one.tag)
        for one in found
    ]


def both_ways(table: Table) -> tuple[list[object], list[object]]:
    """What is found here, and by what knows the parts alone that would be sent."""

    def proposals() -> Proposals:
        return Proposals(table.desk, table.scene, lambda: table.desk.next_call(table.scene, at_once))

    table.work()
    asked = proposals()
    if not asked.is_priced:
        return told(proposals().advice(HORIZON)), []
    try:
        parts = [pickle.loads(pickle.dumps(part)) for part in asked.packed()]
    except Unpackable:
        # Edits took everything out: that is searched here alone.
        assert not table.desk.applied(table.scene).sent
        here = told(proposals().advice(HORIZON))
        return here, here
    columns = SearchColumns()
    for part in parts[:-1]:
        assert isinstance(part, NodeColumns)
        columns.take(part)
    measure = table.study.book.measure(table.scene.call.model or table.study.session.model)
    search, staged = columns.search(parts[-1], measure, table.study.pricer)
    return told(proposals().advice(HORIZON)), told(search.advice(asked.searched, HORIZON, staged))


def talk() -> Session:
    made = Talk()
    for _ in range(12):
        made.call()
    return made.script.session


def thinks() -> Session:
    story = Story(hidden_tokens=4000)
    for turn in range(4):
        story.user(f"look through part {turn} of the shop")
        for n in range(4):
            id_ = f"t{turn}-{n}"
            story.call(thinking(f"what is in it? {turn} {n} " * 40), use(id_, "Read", path=f"src/part_{n}.py"))
            story.results((id_, f"line {n} of code in src/part_{n}.py\n" * 300))
        story.call("All is fine.")
    return story.session


@pytest.mark.parametrize("made", [talk, thinks, lambda: reads().session], ids=["talk", "thinks", "reads"])
@pytest.mark.parametrize("edits", ["none", "staged", "applied", "both", "marked"])
def test_what_is_found_is_the_same(made, edits: str) -> None:  # type: ignore[no-untyped-def]
    table = Table(made())
    results = table.results()
    if edits in ("applied", "both"):
        table.stage(DROP, results[1])
        table.stage(SUMMARIZE, *results[2:4], text="They read two files.")
        table.overlay.apply()
    if edits == "marked":
        table.stage(BREAKPOINT, results[0], on=True)
        table.overlay.apply()
    if edits in ("staged", "both"):
        table.stage(TRUNCATE, results[-1], head=50, tail=0)
    here, apart = both_ways(table)
    assert here == apart
    assert here or edits != "none", "nothing was found at all"


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_found_is_the_same_on_recordings(folder: str) -> None:
    found = 0
    for path in some(folder):
        try:
            session, counter = load(path).session, Counter()
        except NoContext:
            continue
        if not session.thread_calls("main"):
            continue
        counts, rng = book_for(session, counter, Settings()), Random(path.name)
        for applied in (False, True):
            table = Table(session, counts)
            if len(table.desk.context(table.scene)) < 4:
                continue
            if applied:
                stage(table, rng)
                table.overlay.apply()
            here, apart = both_ways(table)
            assert here == apart, path.name
            found += len(here)
    assert found or folder != "claude_code"
