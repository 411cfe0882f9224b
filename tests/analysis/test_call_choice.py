"""Which call of a thread is meant."""

from __future__ import annotations

import pytest

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core import block
from ctxtui.core.errors import NotFound
from ctxtui.core.session import MAIN, Session, TipMoved
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
