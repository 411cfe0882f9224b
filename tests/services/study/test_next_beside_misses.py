"""A session's calls are gone through once: the next request is told by what looking for misses has learnt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ctxtui.analysis.cache import what_if
from ctxtui.analysis.cache.call_forecasts import CallForecaster
from ctxtui.analysis.cache.miss_finder import find_misses
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN
from ctxtui.pricing.table import PriceTable
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.counting.pricing import local_pricer
from ctxtui.services.study.study import Study
from tests.analysis.cache.test_audit import Talk
from tests.analysis.sessions import book


def _told(asked: what_if.NextRequest) -> tuple[object, ...]:
    found = asked.simulator.predict(asked.prompt, asked.at)
    forecast = asked.forecast and (asked.forecast.read, asked.forecast.cause, asked.forecast.floor)
    return (
        asked.at,
        asked.prompt.total,
        asked.floors,
        forecast,
        found.to_usage(),
        asked.ends(asked.prompt.last.node).key,
    )


@pytest.fixture
def learnt(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of calls that were learnt from, in order, by whomever."""
    found: list[str] = []
    plain: Callable[..., Any] = CallForecaster.learn

    def learn(self: CallForecaster, call: Call, foretold: Any) -> None:
        found.append(call.id)
        plain(self, call, foretold)

    monkeypatch.setattr(CallForecaster, "learn", learn)
    return found


def test_asking_for_the_next_request_goes_through_no_call_twice_and_leaves_no_trace(learnt: list[str]) -> None:
    talk = Talk()
    for _ in range(12):
        talk.call()
    session = talk.script.session
    study = Study(session, book(session, model_table()), None, local_pricer(PriceTable()))
    study.thread(MAIN)
    rules = cache_rules_by_call(study.book)
    replay = what_if.Replay(study.book, rules, study.train_forecasts)
    for read in (None, 4_000, None, None, 4_000, None):
        talk.call(after=900.0 if read else 10.0, read=read)
        study.session_grew()
        study.count_all()
        last = session.thread_calls()[-1]
        learnt.clear()
        told = _told(replay.request_after(last, last.response_head))
        assert len(set(learnt)) == len(learnt), "no call is gone through twice"
        assert told == _told(what_if.Replay(study.book, rules).request_after(last, last.response_head))
        while study.work():
            pass
    found = find_misses(study.book, rules).misses
    assert list(study.misses.found) == found and len(found) == 2
    # An earlier call is asked about: what was learnt since is not known then.
    early = session.thread_calls()[4]
    asked = replay.request_after(early, early.response_head)
    assert _told(asked) == _told(what_if.Replay(study.book, rules).request_after(early, early.response_head))
