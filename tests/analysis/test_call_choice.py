"""Which call of a thread is meant."""

from __future__ import annotations

import pytest

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core import block
from ctxtui.core.errors import NotFound
from ctxtui.core.session import MAIN, Session, ThreadSeen, TipMoved
from tests.analysis.sessions import said


def test_a_thread_without_calls_has_one_that_is_not_sent_yet() -> None:
    session = Session()
    session.apply(TipMoved(MAIN, session.tree.extend(0, said("user", block.text("go")))))
    chosen = choose_call(session)
    assert chosen.number == 0 and chosen.call.sent_head == session.threads[MAIN].tip
    assert choose_call(session, number=3, after=True) == chosen
    with pytest.raises(NotFound) as caught:
        choose_call(session, number=3)
    assert caught.value.way_out == "it has none"


def test_a_thread_is_named_by_its_id_or_by_a_label_of_its_own() -> None:
    session = Session()
    for id_, label in (("a", "Explore"), ("b", "Explore"), ("c", "Plan"), ("Plan 2", "a")):
        session.apply(ThreadSeen(id_, label, MAIN))
    assert choose_call(session, "Plan").thread == "c"
    assert choose_call(session, "a").thread == "a", "an id is nearer than a label"
    with pytest.raises(NotFound, match="2 threads") as caught:
        choose_call(session, "Explore")
    assert caught.value.way_out == "threads: a, b"
    with pytest.raises(NotFound, match="no threads are named 'Other'") as caught:
        choose_call(session, "Other")
    assert "c" in caught.value.way_out
