"""Which edits are applied to which session, as a relay knows it between two looks into the database."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ctxtui.attach.run import session_of
from ctxtui.core.edit import Target, make
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.edit_log import Stamp, apply_staged, edits_in_force, undo_last, waiting_until
from ctxtui.core.errors import NotFound
from ctxtui.core.session import MAIN
from ctxtui.services.attach.curated import AppliedEdits, StoredEdits
from ctxtui.store.store import Store
from tests.sampling import few
from tests.store.builders import FILE, talk

TALK = session_of("https://x.test/v1/messages", b'{"messages": [{"role": "user", "content": "hoi"}]}')
IDS = ("s", "s-2", "other", TALK)
THREADS = (MAIN, "sub")


def read(path: Path, session: str, thread: str) -> StoredEdits:
    """As the store says it."""
    if not path.exists():
        return StoredEdits()
    with Store.open(path, readonly=True) as store:
        try:
            log = store.edits(session, thread)
        except NotFound:
            return StoredEdits()
    in_force = edits_in_force(log)
    return StoredEdits(in_force.applied, bool(waiting_until(log)), staged_count=len(in_force.staged))


@pytest.mark.parametrize("seed", few(range(4)))
def test_what_is_known_is_what_the_database_says_from_scratch(tmp_path: Path, seed: int) -> None:
    """Law: whatever is stored, staged, applied and taken back, in any order."""
    rng, path = random.Random(seed), tmp_path / "ctxtui.db"
    kept = AppliedEdits(path)
    for step in range(40):
        for session in (*IDS, "s-", "none"):
            for thread in THREADS:
                told = read(path, session, thread)
                assert kept.cached(session, thread) in (None, told)
                if rng.random() < 0.7:
                    assert kept.read(session, thread) == told
        assert kept.may_have_unnamed() or not any(read(path, TALK, thread) != StoredEdits() for thread in THREADS)
        if rng.random() < 0.3:
            kept.load_ahead()
            assert kept.cached("none", MAIN) == StoredEdits()
        with Store.open(path) as store:
            session, thread = rng.choice(IDS), rng.choice(THREADS)
            stored = [row.id for row in store.sessions()]
            log = store.edits(session, thread) if session in stored else []
            if session not in stored:
                store.import_session(talk(2, id_=session), FILE)
            elif not log or rng.random() < 0.4:
                edit = make(DROP, [Target("ab" * 16)], id=f"e{step}", at=float(step), batch=f"b{step}")
                store.add_edits(session, [edit], thread=thread)
            elif rng.random() < 0.6:
                store.add_edits(session, apply_staged(log, Stamp(f"a{step}", float(step))), thread=thread)
            else:
                store.add_edits(session, undo_last(log, Stamp(f"u{step}", float(step))), thread=thread)


def test_nothing_is_read_for_a_session_without_edits(tmp_path: Path) -> None:
    path = tmp_path / "ctxtui.db"
    with Store.open(path) as store:
        for session in IDS:
            store.import_session(talk(2, id_=session), FILE)
        store.add_edits("other", [make(DROP, [Target("ab" * 16)], id="e1", at=1.0, batch="b1")])
    kept = AppliedEdits(path)
    # What the database holds is not known before it was looked at.
    assert kept.may_have_unnamed() and kept.cached("s", MAIN) is None
    kept.load_ahead()
    assert not kept.may_have_unnamed()
    assert kept.cached("s-2", "sub") == kept.cached("never stored", MAIN) == StoredEdits()
    assert kept.cached("other", MAIN) is None
    assert kept.read("other", MAIN) == kept.cached("other", MAIN)
