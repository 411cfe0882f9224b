"""A study works out everything in slices, and goes on when the session does."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.figures import figures
from ctxtui.core.call import IN_ALL
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.pricing.table import PriceTable
from ctxtui.services.counting.pricing import local_pricer
from ctxtui.services.study.study import Study
from tests.cases.scenes import study_of
from tests.cases.sessions import Story, book_of, every_category, long_session, use
from tests.cases.unsaid import cleared


def finish(study: Study) -> int:
    slices = 0
    while study.work():
        slices += 1
    return slices


def test_everything_is_worked_out_slice_by_slice() -> None:
    session = long_session(400)
    study = Study(session, book_of(session, counted=False), None, local_pricer(PriceTable()))
    known = study.thread(MAIN)
    assert not study.scene(MAIN, 0).counted and study.progress[0] < study.progress[1]
    assert finish(study) > 5
    assert study.progress[0] == study.progress[1] == len(session.tree)
    assert known.priced == 400 and len(known.spent) == 401 and known.ledger and known.ledger.done == 400
    assert not study.work()


def test_money_adds_up_call_by_call() -> None:
    study = study_of(every_category())
    known = study.thread(MAIN)
    costs = [study.costs[call.id] for call in known.calls]
    # Python 3.12 adds floats with their rounding made good, so the last digit may be another.
    assert all(costs) and known.spent[-1] == pytest.approx(sum(cost.usd for cost in costs if cost), rel=1e-12)
    assert study.uncached[known.calls[2].id] > (costs[2].usd if costs[2] else 0)


def test_an_unknown_price_is_counted_and_leaves_the_least_that_the_sum_can_be() -> None:
    story = Story().user("a").call("one")
    story.model = "no-such-model-at-all"
    story.user("b").call("two")
    known = study_of(story.session).thread(MAIN)
    assert known.spent[1] is not None and known.spent[2] == known.spent[1]
    assert known.lacking == [0, 0, 1]


def test_a_session_that_grows_is_worked_on_from_where_it_was() -> None:
    story = Story().user("a").call("one", use("t", "Bash", command="ls"))
    study = study_of(story.session)
    known = study.thread(MAIN)
    first = study.costs["main-1"]
    story.results(("t", "files")).call("two").tip()
    study.session_grew()
    assert len(known.calls) == 2 and known.priced == 1
    finish(study)
    assert known.priced == 2 and study.costs["main-1"] is first
    assert study.scene(MAIN, 1).counted


def test_a_call_that_is_replaced_long_after_is_priced_again() -> None:
    story = Story().user("a").call("one", usage=False).user("b").call("two").user("c").call("three")
    study = study_of(story.session)
    known = study.thread(MAIN)
    assert known.lacking == [0, 1, 1, 1]
    first = known.calls[0]
    story.session.apply(CallSeen(replace(first, extra={**first.extra, IN_ALL: True})))
    study.session_grew()
    finish(study)
    assert known.lacking == [0, 0, 0, 0]


@pytest.mark.parametrize("first", [1, 10, 17, 18])
def test_a_session_read_in_pieces_is_weighed_as_one_that_is_read_at_once(first: int) -> None:
    told = cleared(1)[0].script.session
    whole = book_of(told)
    session = Session(told.tree)
    study = Study(session, book_of(session, counted=False), None, local_pricer(PriceTable()))
    calls = list(told.calls.values())
    for piece in (calls[:first], calls[first:]):
        session.fold(map(CallSeen, piece))
        study.thread(MAIN)
        study.session_grew()
        finish(study)
    study.note_read(whole=True)
    finish(study)
    assert study.book.weights(session.model) == whole.weights(session.model)
    assert study.scene(MAIN, 18).running.version == study.book.version
    assert study.scene(MAIN, 18).figures == figures(whole, calls[-1])
    settled = study.book.version
    study.note_read(whole=True)
    finish(study)
    assert study.book.version == settled, "what was learnt is given out once"


def test_what_a_report_shows_to_be_gone_is_news_of_its_call() -> None:
    made, _ = cleared(1)
    session, waited = made.script.session, 0
    told = [call for call in made.calls if call.usage is not None]
    for call in told:
        session.apply(CallSeen(replace(call, usage=None)))
    study = Study(session, book_of(session, counted=False), None, local_pricer(PriceTable()))
    finish(study)
    for index, call in enumerate(told):
        session.apply(CallSeen(call))
        study.session_grew()
        study.thread(call.thread)
        if not study.scene(call.thread, index).counted:
            before, waited = study.known_state(call.thread, index), waited + 1
            study.book.advance()
            assert study.scene(call.thread, index).counted and study.known_state(call.thread, index) != before
        finish(study)
    assert waited, "a report was here before it was known what is gone"


def test_a_fuller_record_of_a_call_replaces_its_costs() -> None:
    story = Story().user("a").call("one").user("b").call("two")
    study = study_of(story.session)
    known = study.thread(MAIN)
    assert known.ledger is not None
    before = known.spent[-1]
    last = story.session.calls["main-2"]
    assert last.usage is not None and before is not None
    story.session.apply(CallSeen(replace(last, usage=replace(last.usage, output=10_000))))
    study.session_grew()
    assert known.priced == 1 and known.ledger.done == 1
    finish(study)
    assert known.spent[-1] is not None and known.spent[-1] > before
    assert known.ledger.done == 2


def test_sums_follow_weights_that_were_learnt() -> None:
    session = every_category()
    study = study_of(session)
    running = study.running(session.model)
    study.book.version += 1
    finish(study)
    assert study.running(session.model) is not running
    call = session.thread_calls()[-1]
    got = figures(study.book, call)
    assert study.running(session.model).read_tokens(call.sent_head, call.sent_head) == sum(got.categories.values())
    known = study.thread(MAIN)
    assert known.ledger is not None and known.ledger.done == len(known.calls) and known.next_ledger is None


def test_a_session_without_calls_has_one_to_show() -> None:
    story = Story().user("only a list of messages").tip()
    study = study_of(story.session)
    scene = study.scene(MAIN, 0)
    assert scene.counted and scene.figures.reported is None and scene.head == story.head


def test_calls_that_come_while_others_are_priced_are_priced_too() -> None:
    story = Story().user("a").call("one")
    session = story.session
    grown: list[int] = []

    def pricer(calls):  # type: ignore[no-untyped-def]
        if not grown:
            grown.append(1)
            story.user("b").call("two").user("c").call("three")
            study.session_grew()
        return local_pricer(PriceTable())(calls)

    study = Study(session, book_of(session, counted=False), None, pricer)
    known = study.thread(MAIN)
    finish(study)
    assert known.priced == 3 and len(known.spent) == 4 and known.ledger is not None and known.ledger.done == 3


def test_a_list_of_messages_may_become_calls() -> None:
    story = Story().user("a").tip()
    study = study_of(story.session)
    assert study.thread(MAIN).calls[0].id == ""
    story.call("one").tip()
    study.session_grew()
    finish(study)
    assert [call.id for call in study.thread(MAIN).calls] == ["main-1"] and study.thread(MAIN).priced == 1
