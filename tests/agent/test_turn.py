"""The turn machine as scripts: what happens on the left, what is done about it on the right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.agent import events as ev
from ctxtui.agent.events import ToolCall, ToolLeave, ToolResult
from ctxtui.agent.turn import MAX_ATTEMPTS, NO_USER, REFUSED, STOPPED, TurnPhase, TurnState, backoff, step

READ = ToolCall("c1", "read_file", {"path": "a"})
FIND = ToolCall("c2", "find", {"pattern": "b"})
WRITE = ToolCall("c3", "write_file", {"path": "c", "content": ""}, asks=True)
AGAIN = ToolCall("c4", "write_file", {"path": "d", "content": ""}, asks=True)


class Play:
    """Plays events; the commands of the last one are compared."""

    def __init__(self, state: TurnState | None = None) -> None:
        self.state = state or TurnState()

    def __call__(self, event: ev.Event) -> list[ev.Command]:
        self.state, commands = step(self.state, event)
        return commands


def result(call: ToolCall, text: str = "ok") -> ToolResult:
    return ToolResult(call.id, text)


def stopped(call: ToolCall) -> ToolResult:
    return ToolResult(call.id, STOPPED, is_error=True)


def test_a_question_and_its_answer() -> None:
    play = Play()
    assert play(ev.UserSaid("hi")) == [ev.AddUser("hi"), ev.Prepare()]
    assert play(ev.Prepared()) == [ev.Send(1)]
    assert play(ev.Answered()) == [ev.Rest()]
    assert not play.state.is_running


def test_parallel_tools_answer_in_the_order_of_the_calls() -> None:
    play = Play()
    play(ev.UserSaid("look"))
    play(ev.Prepared())
    assert play(ev.Answered((READ, FIND))) == [ev.RunTool(READ), ev.RunTool(FIND)]
    assert play(ev.Finished(result(FIND))) == []
    assert play(ev.Finished(result(READ))) == [ev.AddResults((result(READ), result(FIND))), ev.Prepare()]
    assert play(ev.Finished(result(READ, "late"))) == []


def test_what_is_said_meanwhile_goes_with_the_next_request() -> None:
    play = Play()
    play(ev.UserSaid("look"))
    play(ev.Prepared())
    assert play(ev.UserSaid("and be short")) == []
    play(ev.Answered((READ,)))
    done = play(ev.Finished(result(READ)))
    assert done == [ev.AddResults((result(READ),)), ev.AddUser("and be short"), ev.Prepare()]


def test_what_is_said_during_the_last_answer_begins_a_turn() -> None:
    play = Play()
    play(ev.UserSaid("one"))
    play(ev.Prepared())
    play(ev.UserSaid("two"))
    assert play(ev.Answered()) == [ev.AddUser("two"), ev.Prepare()]


def test_an_interrupt_keeps_the_partial_answer_and_answers_its_calls() -> None:
    play = Play()
    play(ev.UserSaid("look"))
    play(ev.Prepared())
    assert play(ev.Interrupted()) == [ev.StopListening()]
    assert play(ev.Interrupted()) == []
    commands = play(ev.Answered((READ,), cut=True))
    assert commands[0] == ev.AddResults((stopped(READ),)) and commands[-1] == ev.Rest()
    assert play.state.phase == TurnPhase.REST


def test_an_interrupt_while_tools_run() -> None:
    play = Play()
    play(ev.UserSaid("look"))
    play(ev.Prepared())
    play(ev.Answered((READ, FIND)))
    play(ev.Finished(result(FIND)))
    assert play(ev.Interrupted())[:2] == [ev.StopTools(), ev.AddResults((stopped(READ), result(FIND)))]
    assert play(ev.Finished(result(READ))) == []


def test_an_interrupt_leaves_what_was_queued_to_the_user() -> None:
    play = Play()
    play(ev.UserSaid("one"))
    play(ev.Prepared())
    play(ev.UserSaid("two"))
    play(ev.Interrupted())
    assert ev.Prepare() not in play(ev.Answered(cut=True))
    assert play.state.queue == ("two",)


@pytest.mark.parametrize("after, seconds", [(None, 0.5), (7.0, 7.0)])
def test_retries_are_shown_and_wait_as_asked(after: float | None, seconds: float) -> None:
    play = Play()
    play(ev.UserSaid("x"))
    play(ev.Prepared())
    told, wait = play(ev.Broke("429 slow down", retry=True, after=after))
    assert isinstance(told, ev.Tell) and told.kind == "retry"
    assert wait == ev.Wait(seconds, 2, MAX_ATTEMPTS, "429 slow down")
    assert play(ev.Waited()) == [ev.Send(2)]


def test_retries_end() -> None:
    play = Play()
    play(ev.UserSaid("x"))
    play(ev.Prepared())
    for _ in range(MAX_ATTEMPTS - 1):
        assert isinstance(play(ev.Broke("529", retry=True))[-1], ev.Wait)
        play(ev.Waited())
    assert [type(one) for one in play(ev.Broke("529", retry=True))] == [ev.Tell, ev.Rest]
    assert play(ev.Released()) == [ev.Prepare()]


def test_what_no_retry_mends_ends_the_turn() -> None:
    play = Play()
    play(ev.UserSaid("x"))
    play(ev.Prepared())
    assert play(ev.Broke("400 no")) == [ev.Tell("error", "400 no"), ev.Rest()]


def test_a_pause_of_an_hour_is_no_retry() -> None:
    play = Play()
    play(ev.UserSaid("x"))
    play(ev.Prepared())
    told, rest = play(ev.Broke("429", retry=True, after=3600.0))
    assert isinstance(told, ev.Tell) and "3600 s" in told.text and rest == ev.Rest()


def test_hold_and_release() -> None:
    play = Play()
    play(ev.HoldNext())
    play(ev.UserSaid("x"))
    assert play(ev.Prepared()) == [ev.HoldRequest("you asked for it")]
    assert play(ev.UserSaid("more")) == [ev.AddUser("more"), ev.Prepare()]
    play(ev.HoldNext())
    assert play(ev.Prepared()) == [ev.HoldRequest("you asked for it")]
    assert play(ev.Released()) == [ev.Prepare()], "edits may have been applied meanwhile"
    assert play(ev.Prepared("over 100k tokens")) == [ev.Send(1)], "it was let go"
    play(ev.Answered())
    play(ev.UserSaid("y"))
    assert play(ev.Prepared("over 100k tokens")) == [ev.HoldRequest("over 100k tokens")]
    assert play(ev.Interrupted())[-1] == ev.Rest()


def test_many_rounds_are_held() -> None:
    play = Play(TurnState(max_rounds=2))
    play(ev.UserSaid("x"))
    for _ in range(2):
        assert play(ev.Prepared()) == [ev.Send(1)]
        play(ev.Answered((READ,)))
        play(ev.Finished(result(READ)))
    assert play(ev.Prepared()) == [ev.HoldRequest("2 rounds in this turn")]
    play(ev.Released())
    assert play(ev.Prepared()) == [ev.Send(1)]


def asking(*calls: ToolCall, state: TurnState | None = None) -> Play:
    play = Play(state)
    play(ev.UserSaid("x"))
    play(ev.Prepared())
    play(ev.Answered(calls))
    return play


def test_writes_ask_once() -> None:
    play = asking(READ, WRITE, AGAIN)
    assert play.state.to_ask == ("c3", "c4")
    assert play(ev.Permitted("c3", ToolLeave.ONCE)) == [], "nothing is known of it yet"
    assert play(ev.Planned("c4")) == [], "one after the other"
    assert play(ev.Planned("c3")) == [ev.Ask(WRITE)]
    assert play(ev.Permitted("c3", ToolLeave.ONCE)) == [ev.RunTool(WRITE), ev.Plan(AGAIN)]
    assert play(ev.Permitted("c3", ToolLeave.ONCE)) == []
    assert play(ev.Permitted("c4", ToolLeave.ONCE)) == [], "an answer counts for what was asked"
    assert play.state.to_ask == ("c4",)


def test_writes_ask_for_the_session() -> None:
    play = asking(WRITE, AGAIN)
    play(ev.Planned("c3"))
    assert play(ev.Permitted("c3", ToolLeave.SESSION)) == [ev.RunTool(WRITE), ev.Plan(AGAIN)]
    assert play(ev.Planned("c4")) == [ev.RunTool(AGAIN)]
    play(ev.Finished(result(WRITE)))
    play(ev.Finished(result(AGAIN)))
    play(ev.Prepared())
    assert play(ev.Answered((WRITE,))) == [ev.Plan(WRITE)]
    assert play(ev.Planned("c3")) == [ev.RunTool(WRITE)]


def test_what_is_guarded_is_asked_for_each_time() -> None:
    play = asking(WRITE, AGAIN, state=TurnState(allowed=frozenset({"write_file"})))
    assert play(ev.Planned("c3", guarded=True)) == [ev.Ask(WRITE)]
    assert play(ev.Permitted("c3", ToolLeave.SESSION)) == [ev.RunTool(WRITE), ev.Plan(AGAIN)]
    assert play(ev.Planned("c4", guarded=True)) == [ev.Ask(AGAIN)]
    fresh = asking(WRITE)
    fresh(ev.Planned("c3", guarded=True))
    fresh(ev.Permitted("c3", ToolLeave.SESSION))
    assert not fresh.state.allowed, "leave for a guarded file is leave for nothing else"


def test_without_a_user_what_is_guarded_is_refused_whatever_is_allowed() -> None:
    play = asking(WRITE, AGAIN, state=TurnState(allowed=frozenset({"write_file"}), attended=False))
    told, further = play(ev.Planned("c3", guarded=True))
    assert isinstance(told, ev.Tell) and told.kind == "refused" and further == ev.Plan(AGAIN)
    assert play(ev.Planned("c4")) == [ev.RunTool(AGAIN)]
    done = play(ev.Finished(result(AGAIN)))
    assert done == [ev.AddResults((ToolResult("c3", NO_USER, is_error=True), result(AGAIN))), ev.Prepare()]
    alone = asking(WRITE, state=TurnState(attended=False))
    assert ev.AddResults((ToolResult("c3", NO_USER, is_error=True),)) in alone(ev.Planned("c3"))


def test_what_cannot_be_done_is_not_asked_for() -> None:
    play = asking(WRITE)
    wrong = ToolResult("c3", "outside of the workspace", is_error=True)
    assert play(ev.Planned("c3", result=wrong)) == [ev.AddResults((wrong,)), ev.Prepare()]


def test_writes_not_now() -> None:
    play = asking(WRITE, AGAIN)
    play(ev.Planned("c3"))
    told, further = play(ev.Permitted("c3", ToolLeave.NOT_NOW))
    assert isinstance(told, ev.Tell) and further == ev.Plan(AGAIN)
    assert play(ev.Planned("c4")) == [ev.Ask(AGAIN)], "no was said to that one alone"
    play(ev.Permitted("c4", ToolLeave.ONCE))
    no = ToolResult("c3", REFUSED, is_error=True)
    assert play(ev.Finished(result(AGAIN))) == [ev.AddResults((no, result(AGAIN))), ev.Prepare()]


def test_writes_never() -> None:
    play = asking(WRITE, AGAIN)
    play(ev.Planned("c3"))
    commands = play(ev.Permitted("c3", ToolLeave.NEVER))
    no = tuple(ToolResult(one.id, REFUSED, is_error=True) for one in (WRITE, AGAIN))
    assert commands[1:] == [ev.AddResults(no), ev.Prepare()]
    play(ev.Prepared())
    assert play(ev.Answered((WRITE,))) == [ev.AddResults(no[:1]), ev.Prepare()]


def test_a_paused_turn_is_sent_again() -> None:
    play = Play()
    play(ev.UserSaid("x"))
    play(ev.Prepared())
    assert play(ev.Answered(again=True)) == [ev.Prepare()]


def test_backoff_doubles() -> None:
    assert [backoff(n) for n in range(1, MAX_ATTEMPTS)] == [0.5, 1.0, 2.0, 4.0, 8.0]


_EVENTS = st.one_of(
    st.just(ev.UserSaid("x")),
    st.just(ev.Interrupted()),
    st.just(ev.HoldNext()),
    st.just(ev.Released()),
    st.builds(ev.Prepared, st.sampled_from(["", "rule"])),
    st.builds(ev.Answered, st.sampled_from([(), (READ,), (READ, WRITE), (WRITE, AGAIN)]), st.booleans()),
    st.builds(ev.Broke, st.just("e"), st.booleans(), st.sampled_from([None, 1.0, 100.0])),
    st.just(ev.Waited()),
    st.builds(ev.Planned, st.sampled_from(["c3", "c4"]), st.booleans(), st.just(None)),
    st.builds(ev.Permitted, st.sampled_from(["c3", "c4"]), st.sampled_from(ToolLeave)),
    st.builds(ev.Finished, st.sampled_from([READ, FIND, WRITE, AGAIN]).map(result)),
)


@given(st.lists(_EVENTS, max_size=40))
def test_every_call_is_answered_once_before_anything_else_enters_the_context(script: list[ev.Event]) -> None:
    state, open_ = TurnState(), []
    for event in script:
        taken = state.phase in (TurnPhase.SENDING, TurnPhase.CUTTING) and isinstance(event, ev.Answered)
        state, commands = step(state, event)
        if taken:
            assert isinstance(event, ev.Answered)
            open_ = [call.id for call in event.calls] if not event.again else []
        for command in commands:
            if isinstance(command, ev.AddResults):
                assert [one.id for one in command.results] == open_
                open_ = []
            if isinstance(command, ev.AddUser | ev.Prepare | ev.Send):
                assert not open_
        if state.phase == TurnPhase.REST:
            assert not open_ and not state.calls
