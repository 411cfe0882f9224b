"""What a recorded session reads from the cache is foretold from earlier calls alone, and misses have a cause."""

from __future__ import annotations

import json
import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis.cache import what_if
from ctxtui.analysis.cache.audit import AuditedRead, audit_reads, summarize_bands, summarize_reads
from ctxtui.analysis.cache.client_behaviour import ClientBehaviour, Clock, sent_at
from ctxtui.analysis.cache.forecast import CacheForecast, predicted_usage
from ctxtui.analysis.cache.marker_trials import learnt_prompts
from ctxtui.analysis.cache.miss import NOT_IN_RECORD
from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import ASKED_AT, CLIENT_VERSION, UNATTENDED, Call, Epoch, EpochStart, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.session import ASIDE, CallSeen, Happened
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules, cache_rules_by_call
from ctxtui.wire.registry import DIALECTS
from tests.analysis.audits import OPUS4, OPUS45, Provider, report, result, speech, tool
from tests.analysis.sessions import Script, book, thinking
from tests.cache.bodies import Desk

FLOOR = 4_000
"""What is left in the cache when all of a conversation is lost."""


class Talk:
    """A session of Claude Code against a provider that caches: each call reads what the one before it left."""

    def __init__(self, model: str = OPUS45, life: str = "5m", provider: str = "anthropic", writes: bool = True) -> None:
        self.script = Script(model, provider=provider)
        self.writes = writes
        self.provider = Provider()
        self.dice = random.Random(3)
        self.life = life
        self.left = 0
        self.script.hear(block.text(speech(self.dice, 200, 300)))

    def call(self, after: float = 10.0, read: int | None = None, tokens: int | None = None) -> Call:
        """One round; it reads what was left unless `read` says otherwise."""
        id_ = f"t{len(self.script.session.calls)}"
        made = self.script.call(tool("bash", speech(self.dice, 5, 40), id_), after=after)
        whole = self.provider.tokens(self.script, made.sent_head) if tokens is None else tokens
        got = self.left if read is None else read
        written = {f"write_{self.life}": whole - got - 3}
        usage = Usage(fresh=whole - got, cache_read=got, output=60)
        if self.writes:
            usage = replace(usage, fresh=3, **written)
        made = report(self.script, made, usage)
        self.script.hear(result(speech(self.dice, 1500, 2500), id_))
        self.left = whole - 3
        return made

    def rows(self) -> list[AuditedRead]:
        return audit(self.script)


def audit(script: Script) -> list[AuditedRead]:
    made = book(script.session, model_table())
    return audit_reads(made, cache_rules_by_call(made))


def test_each_call_reads_what_the_one_before_left() -> None:
    talk = Talk()
    for _ in range(12):
        talk.call()
    rows = talk.rows()
    assert len(rows) == 11 and all(row.within and not row.missed and not row.alarm for row in rows)
    assert all(row.inferred for row in rows)


def test_where_writes_are_not_reported_a_growing_read_shows_them() -> None:
    talk = Talk(provider="some-proxy", writes=False)
    for _ in range(8):
        talk.call()
    talk.call(after=301, read=0)
    talk.call(read=talk.left)
    rows = talk.rows()
    assert [row.within for row in rows] == [False] + [True] * 8
    assert rows[-2].alarm and rows[-2].missed and rows[-2].cause == "expired"


def test_copilots_chat_api_reports_no_writes() -> None:
    talk = Talk(provider="github-copilot", writes=False)
    for _ in range(8):
        talk.call()
    assert all(row.within and not row.alarm for row in talk.rows())


def test_copilot_is_believed_once_it_reports_a_write() -> None:
    talk = Talk(provider="github-copilot")
    talk.call()
    left, talk.writes = talk.left, False
    for _ in range(4):
        talk.call(read=left)
    assert [row.predicted for row in talk.rows()] == [left] * 4


def test_a_read_that_does_not_grow_is_all_that_is_cached() -> None:
    talk = Talk(provider="some-proxy", writes=False)
    for _ in range(6):
        talk.call(read=FLOOR)
    assert [row.predicted for row in talk.rows()[1:]] == [FLOOR] * 4


def test_five_minutes_count_from_the_start_of_the_call_before() -> None:
    talk = Talk()
    talk.call()
    talk.call()
    talk.call(after=300)
    talk.call(after=301, read=0)
    rows = talk.rows()
    assert [row.alarm for row in rows] == [False, False, True]
    assert rows[-1].cause == "expired" and rows[-1].evidence == "1 seconds after its lifetime had ended"


def test_a_session_that_writes_for_an_hour_keeps_its_prefix_for_an_hour() -> None:
    talk = Talk(life="1h")
    for _ in range(3):
        talk.call()
    talk.call(after=3000)
    talk.call(after=3700, read=0)
    assert [(row.alarm, row.missed) for row in talk.rows()] == [(False, False)] * 3 + [(True, True)]


def test_a_client_that_goes_back_to_five_minutes_is_believed() -> None:
    talk = Talk(life="1h")
    for _ in range(3):
        talk.call()
    talk.life = "5m"
    for _ in range(12):
        talk.call()
    talk.call(after=400, read=0)
    last = talk.rows()[-1]
    assert last.alarm and last.missed and last.cause == "expired"


def test_a_tool_of_the_provider_does_not_shorten_the_clients_lifetime() -> None:
    habit = ClientBehaviour()
    habit.learn_writes(Usage(write_1h=5_000))
    habit.learn_writes(Usage(write_1h=2_000, write_5m=900))
    assert habit.life == "1h"
    fresh = ClientBehaviour()
    fresh.learn_writes(Usage(write_1h=900, write_5m=2_000))
    assert fresh.life == "5m"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ASIDE, "a recap while its user was away"),
        ("interrupt", "Request interrupted by user"),
        ("unanswered", "a request has no recorded answer"),
    ],
)
def test_a_request_that_is_no_call_of_the_record_keeps_the_cache_warm(kind: str, text: str) -> None:
    talk = Talk()
    talk.call()
    last = talk.call()
    assert last.started is not None
    talk.script.session.apply(Happened(kind, text, at=last.started + 240, after=last.id))
    talk.call(after=400)
    talk.script.session.apply(Happened(kind, text, at=last.started + 500, after=last.id))
    talk.call(after=310, read=0)
    assert [(row.alarm, row.missed) for row in talk.rows()] == [(False, False), (False, False), (True, True)]


def test_a_client_that_switches_thinking_on_or_off_loses_its_messages() -> None:
    talk = Talk()

    def call(level: str, read: int | None = None) -> None:
        made = talk.call(read=read)
        talk.script.session.apply(CallSeen(replace(made, extra={**made.extra, "thinking_level": level})))

    for _ in range(10):
        call("off")
    call("low", read=0)
    call("low")
    call("high")
    *before, switched, after, other = talk.rows()
    assert switched.alarm and switched.missed and not any(row.alarm for row in (*before, after))
    assert not other.alarm, "what a level stands for is the client's own"
    assert switched.cause == "parameter" and switched.what == "thinking_level off → low"


def test_an_interrupted_tool_was_no_request() -> None:
    talk = Talk()
    talk.call()
    last = talk.call()
    assert last.started is not None
    words = "Request interrupted by user for tool use"
    talk.script.session.apply(Happened("interrupt", words, at=last.started + 240, after=last.id))
    talk.call(after=400, read=0)
    assert talk.rows()[-1].alarm


def test_a_client_that_asks_after_each_turn_keeps_the_cache_from_the_turns_end() -> None:
    talk = Talk()
    for _ in range(6):
        made = talk.call(after=20)
        talk.script.session.apply(CallSeen(replace(made, ended=talk.script.clock + 200)))
        # The request after the turn has cached the answer too.
        talk.left += 50
        talk.script.hear(block.text("go on"))
    talk.call(after=450)
    assert not talk.rows()[-1].alarm


def test_a_first_image_keeps_what_is_cached() -> None:
    talk = Talk()
    for _ in range(3):
        talk.call()
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    talk.script.hear(block.from_part({"type": "image", "source": source}))
    talk.call()
    row = talk.rows()[-1]
    assert not row.alarm and row.within


def test_a_thread_that_begins_in_a_conversation_does_not_take_it_for_what_others_keep_warm() -> None:
    talk = Talk()
    for _ in range(12):
        talk.script.hear(block.text(speech(talk.dice, 1500, 2500)))
    talk.call(read=20_000, tokens=42_000)
    talk.call()
    talk.call(after=4000, read=0)
    last = talk.rows()[-1]
    assert last.alarm and last.predicted < 16_000


def test_a_resumed_client_that_kept_its_cache_is_taken_to_keep_it() -> None:
    talk = Talk()
    for number in range(2, 4):
        for _ in range(3):
            talk.call()
        talk.script.epoch = Epoch(number, EpochStart.RESUME)
        talk.script.hear(block.text("go on"))
        talk.call()
    resumed = [row for row in talk.rows() if row.call in (4, 8)]
    assert [row.alarm for row in resumed] == [True, False]


@pytest.mark.parametrize(
    ("before", "after", "alarm"),
    [("2.1.197", "2.1.197", True), ("2.1.280", "2.1.280", False), ("2.1.280", "2.1.300", True)],
)
def test_a_resumed_client_of_today_sends_what_it_sent_before(before: str, after: str, alarm: bool) -> None:
    talk = Talk()
    for _ in range(4):
        talk.call()
    talk.script.epoch = Epoch(2, EpochStart.RESUME)
    talk.script.hear(block.text("go on"))
    talk.call()
    for number, call in enumerate(talk.script.session.thread_calls()):
        extra = {CLIENT_VERSION: before if number < 4 else after}
        talk.script.session.apply(CallSeen(replace(call, extra=extra)))
    assert talk.rows()[-1].alarm is alarm


@pytest.mark.parametrize(("version", "alarm"), [("2.1.62", False), ("2.1.69", True), ("2.1.330", True), ("", False)])
def test_a_client_that_marks_one_message_loses_the_rest_behind_a_long_round(version: str, alarm: bool) -> None:
    talk = Talk()
    talk.call(read=FLOOR)
    for _ in range(5):
        talk.call()
    script = talk.script
    many = [f"p{n}" for n in range(12)]
    made = script.call(*(tool("bash", "ls", id_) for id_ in many))
    whole = talk.provider.tokens(script, made.sent_head)
    report(script, made, Usage(fresh=3, cache_read=talk.left, write_5m=whole - talk.left - 3, output=60))
    script.hear(*(result("a b c", id_) for id_ in many))
    talk.call(read=FLOOR if alarm else None)
    for call in script.session.thread_calls():
        script.session.apply(CallSeen(replace(call, extra={CLIENT_VERSION: version})))
    # Twelve calls and twelve results lie between the ends of the two requests.
    assert talk.rows()[-1].alarm is alarm


def test_a_client_that_asks_after_each_turn_is_known_by_its_version() -> None:
    known: list[dict[str, object]] = [{CLIENT_VERSION: "2.1.12"}, {CLIENT_VERSION: "1.0.51"}]
    known.append({CLIENT_VERSION: "2.1.12", UNATTENDED: True})
    for extra, alarm in zip(known, (False, True, True), strict=True):
        talk = Talk()
        for _ in range(3):
            made = talk.call()
        talk.script.session.apply(CallSeen(replace(made, ended=talk.script.clock + 200)))
        talk.script.hear(block.text("go on"))
        talk.call(after=450)
        for call in talk.script.session.thread_calls():
            talk.script.session.apply(CallSeen(replace(call, extra=extra)))
        assert talk.rows()[-1].alarm is alarm


def test_what_other_traffic_keeps_warm_is_remembered() -> None:
    talk = Talk()
    talk.call(read=FLOOR)
    talk.call()
    talk.call(after=4000, read=FLOOR)
    last = talk.rows()[-1]
    assert last.alarm and last.predicted == FLOOR and last.within


def test_a_compaction_leaves_system_prompt_and_tools() -> None:
    talk = Talk()
    for _ in range(6):
        talk.call()
    talk.script.head = 0
    talk.script.epoch = Epoch(2, EpochStart.COMPACTION, "20k → 3k")
    talk.script.hear(block.text("a summary"))
    talk.call(read=FLOOR, tokens=14_000)
    last = talk.rows()[-1]
    assert last.cause == "compaction" and "20k → 3k" in last.evidence


def test_a_resumed_client_with_new_words_reads_only_what_is_shared() -> None:
    talk = Talk()
    talk.call(read=FLOOR)
    for _ in range(4):
        talk.call()
    talk.script.epoch = Epoch(2, EpochStart.RESUME)
    talk.script.hear(block.text("go on"))
    talk.call(read=FLOOR)
    last = talk.rows()[-1]
    assert last.alarm and last.cause == "resume" and last.predicted == FLOOR


def test_another_model_reads_nothing() -> None:
    talk = Talk()
    for _ in range(3):
        talk.call()
    talk.script.model = OPUS4
    talk.call(read=0)
    assert (talk.rows()[-1].cause, talk.rows()[-1].alarm) == ("model", True)


def test_another_model_has_the_same_unrecorded_front() -> None:
    talk = Talk()
    first = talk.call()
    talk.script.model = OPUS4
    second = talk.call(read=0)
    made = book(talk.script.session, model_table())
    replay = what_if.Replay(made, cache_rules_by_call(made))
    of_first, of_second = (replay.request_after(call, call.response_head).floors for call in (first, second))
    assert of_second.unexpired_prefix == of_first.unexpired_prefix > 0


def test_thinking_is_stripped_when_a_person_speaks_on_models_that_strip() -> None:
    for model, alarm in ((OPUS4, True), (OPUS45, False)):
        talk = Talk(model)
        script = talk.script
        for n in range(12):
            id_ = f"t{n}"
            parts = [thinking(speech(talk.dice, 10, 30)), tool("bash", "x", id_), tool("bash", "y", id_ + "b")]
            made = script.call(*parts)
            whole = talk.provider.tokens(script, made.sent_head)
            usage = Usage(fresh=3, cache_read=talk.left, write_5m=whole - talk.left - 3, output=90)
            report(script, made, usage)
            script.hear(result(speech(talk.dice, 1500, 2500), id_), result("b", id_ + "b"))
            talk.left = whole - 3
        script.hear(block.text("and now something else"))
        talk.call(read=FLOOR if alarm else None)
        last = talk.rows()[-1]
        assert last.alarm is alarm and last.missed is alarm
        assert last.cause == ("thinking stripped" if alarm else "")


def test_a_miss_that_nothing_explains_is_listed_with_its_evidence() -> None:
    talk = Talk()
    for _ in range(4):
        talk.call()
    talk.call(read=0)
    last = talk.rows()[-1]
    assert last.cause == NOT_IN_RECORD and "nothing was read" in last.evidence
    misses = summarize_reads(talk.rows())["anthropic"]["misses"]
    assert misses == {"reported": 1, "foreseen": 0, "false_alarms": 0, "not_in_record": 1}


@settings(max_examples=20)
@given(st.integers(1, 9), st.integers(0, 30_000))
def test_no_forecast_up_to_a_call_knows_its_report_or_what_follows(k: int, read: int) -> None:
    talk = Talk()
    calls = [talk.call() for _ in range(10)]
    before = talk.rows()[: k - 1]
    usage = calls[k].usage
    assert usage is not None
    changed = replace(usage, cache_read=read, write_5m=max(0, usage.input - read - 3))
    talk.script.session.apply(CallSeen(replace(calls[k], usage=changed)))
    after = talk.rows()
    assert after[: k - 1] == before
    assert after[k - 1].predicted == talk_predicted(k)


@given(st.integers(1, 9), st.integers(0, 30_000), st.sampled_from(["some-proxy", "github-copilot"]))
def test_no_forecast_knows_its_report_where_writes_are_not_reported(k: int, read: int, provider: str) -> None:
    talk = Talk(provider=provider, writes=False)
    calls = [talk.call() for _ in range(10)]
    before, usage = talk.rows(), calls[k].usage
    assert usage is not None
    read = min(read, usage.input)
    changed = replace(usage, cache_read=read, fresh=usage.input - read)
    talk.script.session.apply(CallSeen(replace(calls[k], usage=changed)))
    assert [row.predicted for row in talk.rows()[:k]] == [row.predicted for row in before[:k]]


@cache
def talk_predicted(k: int) -> int:
    talk = Talk()
    for _ in range(10):
        talk.call()
    return talk.rows()[k - 1].predicted


def test_a_copys_times_are_not_believed() -> None:
    call = Call("a", "main", started=100.0, ended=100.2)
    assert sent_at(call) is None
    assert sent_at(replace(call, extra={ASKED_AT: 40.0})) == 40.0
    assert sent_at(replace(call, ended=103.0)) == 100.0
    clock = Clock()
    assert not clock.has_time(call) and clock.earliest(call) == 0.0
    clock.tick(replace(call, ended=103.0))
    clock.tick(call)
    # The second call started at the first one's time at the earliest, three minutes later at the latest.
    assert (clock.earliest(call), clock.last) == (100.0, 280.0)


def test_a_cache_that_lags_is_taken_to_stay_behind_as_often_as_it_did() -> None:
    habit = ClientBehaviour()
    for read, expected in ((1000, 5000), (1000, 6000), (1000, 7000)):
        habit.learn_read(read, expected, usual=True)
    assert habit.lags and habit.behind == 1000
    habit.learn_read(8000, 8000, usual=True)
    assert not habit.lags


def test_bands_only_where_a_cache_has_no_markers() -> None:
    talk = Talk()
    for _ in range(5):
        talk.call()
    assert summarize_bands(talk.rows()) == {}


def after(talk: Talk, at: float) -> CacheForecast:
    """What is foretold of the call that would follow the last one."""
    made = book(talk.script.session, model_table())
    calls = talk.script.session.thread_calls()
    replay = what_if.Replay(made, cache_rules_by_call(made))
    found = replay.request_after(calls[-1], talk.script.head, at)
    assert found.forecast is not None
    return found.forecast


def test_the_next_call_reads_what_is_left_until_it_expires() -> None:
    talk = Talk()
    for _ in range(5):
        last = talk.call()
    assert last.started is not None and last.usage is not None
    soon = after(talk, last.started + 20)
    assert soon.read == last.usage.cache_read + last.usage.cache_write and not soon.cause.name
    usage = predicted_usage(soon)
    assert usage.input == soon.input and usage.cache_read == soon.read and usage.write_5m > 0
    late = after(talk, last.started + 301)
    assert late.read == 0 and late.cause.name == "expired" and predicted_usage(late).input == late.input


def test_the_forecast_of_the_next_call_is_the_one_that_is_audited() -> None:
    talk = Talk()
    for _ in range(6):
        talk.call()
    soon = after(talk, talk.script.clock + 10)
    talk.call()
    assert talk.rows()[-1].predicted == soon.read


def test_a_client_is_taken_to_set_its_markers_as_it_did() -> None:
    desk = Desk()
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = {
        "model": desk.model,
        "max_tokens": 9,
        "system": [{"type": "text", "text": "rules " * 3000, **mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "go on", **mark}]}],
    }
    sent = DIALECTS["anthropic"].decode_request(json.dumps(body).encode())
    script = Script(desk.model)
    script.head = script.session.tree.extend(0, sent.items)
    call = script.call(usage=Usage(write_1h=3_100, output=5))
    session = script.session
    session.apply(CallSeen(replace(call, skeleton=sent.skeleton, fidelity=Fidelity.WIRE)))
    head = script.hear(block.text("and then?")).head
    made = book(session, model_table())
    rules = cache_rules().for_model(made.card(call.model), call.provider)
    found = what_if.Replay(made, lambda _: rules).request_after(session.calls[call.id], head, (call.started or 0) + 9)
    marks = [(session.tree[one.position.node].place.section, one.ends, one.life) for one in found.prompt.markers]
    assert marks == [("system", 0, 3600.0), ("messages", 1, 3600.0)]
    assert found.floors == (0, 0)


# --- requests on record: markers and parameters are known -------------------------------------------------------------


def wired(*bodies: dict[str, object], extra: dict[str, object] | None = None) -> list[AuditedRead]:
    """An audit of recorded request bodies, ten seconds apart, against a provider that does as the simulator says; the
    last one reads nothing."""
    desk = Desk()
    script = Script(desk.model)
    for n, body in enumerate(bodies):
        sent = DIALECTS["anthropic"].decode_request(json.dumps({"model": desk.model, **body}).encode())
        made = desk.of(sent)[0]
        outcome = desk.simulator.send(made, 1000.0 + 10 * n)
        usage = outcome.to_usage(output=5)
        if n == len(bodies) - 1:
            usage = Usage(fresh=usage.fresh, write_5m=usage.cache_read + usage.cache_write, output=5)
        script.head = script.session.tree.extend(0, sent.items)
        call = script.call(usage=usage)
        script.session.apply(CallSeen(replace(call, skeleton=sent.skeleton, fidelity=Fidelity.WIRE, extra=extra or {})))
    return audit(script)


def request(*texts: str, marked: bool = True, tools: tuple[str, ...] = ("read",), **more: object) -> dict[str, object]:
    said = [{"type": "text", "text": words} for words in texts]
    if marked:
        said[-1]["cache_control"] = {"type": "ephemeral"}  # type: ignore[assignment]
    kinds = [{"name": name, "description": "d", "input_schema": {}} for name in tools]
    return {"tools": kinds, "messages": [{"role": "user", "content": said}], **more}


LONG = "words " * 900 + "#3000"


@pytest.mark.parametrize(
    ("last", "cause", "evidence"),
    [
        (request(LONG, "b", "c", tools=("read", "grep")), "tools", "other tools: grep added"),
        (request(LONG, "b", "c", tool_choice={"type": "any"}), "parameter", "another parameter: tool_choice"),
        (request(LONG, "b", "c", marked=False), "marker missing", "no marker in the request: nothing is cached"),
        (request("else " + LONG, "b", "c"), "content", "the context differs from the previous call's from block 3 on"),
        (
            request(LONG, "b", *(f"{n}" for n in range(30)), "c"),
            "lookback",
            "the cached prefix is 12 positions beyond the lookback",
        ),
    ],
)
def test_the_cause_of_a_recorded_request_is_named(last: dict[str, object], cause: str, evidence: str) -> None:
    row = wired(request(LONG), request(LONG, "b"), last)[-1]
    assert (row.cause, row.evidence) == (cause, evidence)
    assert row.missed and row.alarm and not row.inferred


def test_a_recorded_client_that_asked_aside_keeps_its_cache_warm() -> None:
    desk, script = Desk(), Script(Desk().model)
    for n, body in enumerate((request(LONG), request(LONG, "b"), request(LONG, "b", "c"))):
        sent = DIALECTS["anthropic"].decode_request(json.dumps({"model": desk.model, **body}).encode())
        usage = desk.simulator.send(desk.of(sent)[0], 1000.0 + 10 * n).to_usage(output=5)
        script.head = script.session.tree.extend(0, sent.items)
        call = script.call(usage=usage, after=10 if n < 2 else 500)
        script.session.apply(CallSeen(replace(call, skeleton=sent.skeleton, fidelity=Fidelity.WIRE)))
        script.session.apply(Happened(ASIDE, "a recap while its user was away", at=script.clock + 240, after=call.id))
    assert [(row.alarm, row.missed, row.inferred) for row in audit(script)] == [(False, False, False)] * 2


def test_a_recorded_request_that_should_have_hit_is_not_in_the_record() -> None:
    row = wired(request(LONG), request(LONG, "b"), request(LONG, "b", "c"))[-1]
    assert row.missed and not row.alarm and row.cause == NOT_IN_RECORD


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"diagnostics": {"cache_miss_reason": {"type": "tools_changed"}}}, "tools_changed, as found here"),
        ({"diagnostics": {"cache_miss_reason": {"type": "model_changed"}}}, "model_changed, unlike here"),
        ({"prompt_cache_diagnostics": {"cache_miss": {"reason": "tools_changed"}}}, "tools_changed, as found here"),
        ({"diagnostics": {"cache_miss_reason": {"type": "unavailable"}}}, "unavailable"),
        ({"diagnostics": None}, ""),
    ],
)
def test_the_providers_own_diagnosis_is_held_against_ours(said: dict[str, object], words: str) -> None:
    row = wired(request(LONG), request(LONG, "b"), request(LONG, "b", "c", tools=("grep",)), extra=said)[-1]
    assert row.cause == "tools"
    assert row.evidence.endswith(words and f"; the provider says {words}")


def test_a_miss_just_before_the_lifetime_ended_says_how_near_that_was() -> None:
    talk = Talk()
    for _ in range(3):
        talk.call()
    talk.call(after=294, read=0)
    assert talk.rows()[-1].evidence.endswith("its lifetime would have ended 6 seconds later")
    talk.call(after=100, read=0)
    assert "lifetime" not in talk.rows()[-1].evidence


def test_the_five_minutes_of_one_provider_are_no_lifetime_of_another() -> None:
    talk = Talk("gpt-4o", provider="openai", writes=False)
    for _ in range(3):
        talk.call()
    talk.call(after=294, read=0)
    assert talk.rows()[-1].evidence and "lifetime" not in talk.rows()[-1].evidence


@pytest.mark.parametrize(
    ("place", "header"),
    [(Place("system"), []), (Place("messages", "system"), [Item(block.header("system"), Place("messages", "system"))])],
)
def test_what_other_sessions_may_share_includes_a_system_prompt_among_the_messages(
    place: Place, header: list[Item]
) -> None:
    script = Script("gpt-5.4", provider="openai")
    script.head = script.session.tree.extend(ROOT, [*header, Item(block.text("be brief " * 90), place)])
    call = script.hear(block.text("hello")).call(block.text("hi"), usage=Usage(fresh=300))
    made = book(script.session, model_table())
    prompts = learnt_prompts(made, cache_rules_by_call(made))
    front = made.block_tokens(call.model, made.session.tree.path(call.sent_head)[len(header)])
    assert prompts.before_messages(call) - prompts.front(call) == pytest.approx(front, abs=2)


@pytest.mark.parametrize("marker", [{"cache_control": {"type": "ephemeral"}}, {}])
def test_markers_in_a_chat_body_are_anthropics_and_without_any_a_gateway_may_set_them(marker: dict[str, Json]) -> None:
    script, size, left = Script("anthropic/claude-sonnet-4.5", Fidelity.WIRE, provider="openrouter"), 3000, 0
    messages: list[Json] = [{"role": "system", "content": [{"type": "text", "text": "be brief " * 1500, **marker}]}]
    for n in range(4):
        messages.append({"role": "user", "content": [{"type": "text", "text": f"word {n} " * 250, **marker}]})
        sent = DIALECTS["openai_chat"].decode_request(json.dumps({"model": "m", "messages": messages}).encode())
        script.head, size = script.session.tree.extend(ROOT, sent.items), size + 500
        call = script.call(usage=Usage(fresh=10, cache_read=left, write_5m=size - left - 10))
        script.session.apply(CallSeen(replace(call, skeleton=sent.skeleton)))
        left = size - 10
    rows = audit(script)
    assert [row.cause for row in rows] == [""] * 3 and all(row.within for row in rows)
    assert {row.inferred for row in rows} == {not marker}
