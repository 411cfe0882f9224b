"""Bodies that Claude Code wrote to files: joined to the calls of its transcript, or a session by themselves."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

import pytest

from ctxtui.core.call import Call, EpochStart, Fidelity
from ctxtui.core.session import MAIN, Event, Session
from ctxtui.transcripts.formats.claude_code.reader import reader as reader_of
from ctxtui.transcripts.registry import detect
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.cases.claude_bodies import AGENT, BETAS, COMPACT, BodyCase, body_case
from tests.transcripts.reading import law_2, survives_cuts

AGENT_FILE = f"agent-{AGENT}.jsonl"


def joined(case: BodyCase, names: Iterable[str] | None = None) -> tuple[Session, list[str]]:
    """The session of a transcript with its subagent and the bodies `names` (all of them, the index first); and what
    its readers say is lacking."""
    session = Session()
    reader = reader_of(session.tree)
    session.fold(reader.feed(case.transcript)).fold(reader.settle())
    names = sorted(case.bodies, key=lambda name: name != "index.jsonl") if names is None else names
    parts = {name: reader.part(name) for name in (AGENT_FILE, *names)}
    for name, part in parts.items():
        session.fold(part.feed(case.agent if name == AGENT_FILE else case.bodies[name])).fold(part.settle())
    session.fold(reader.settle())
    assert reader.settle() == []
    return session, [tail.reason for part in parts.values() if (tail := part.tail) is not None]


def body_of(session: Session, call: Call) -> bytes:
    assert call.skeleton is not None
    request = Request(tuple(session.tree.items(call.raw_head)), call.skeleton)
    return encode(request)


def answered(session: Session) -> dict[str, Call]:
    """The calls less those that got no answer."""
    return {id_: call for id_, call in session.calls.items() if not call.error}


def as_stream(case: BodyCase) -> bytes:
    """A folder of bodies as the edge hands it over."""
    lines = [case.bodies["index.jsonl"]] if "index.jsonl" in case.bodies else [b'{"claude_code_bodies":1}\n']
    files = ((name, data) for name, data in case.bodies.items() if name != "index.jsonl")
    lines += [json.dumps({"claude_code_body": name, "text": data.decode()}).encode() + b"\n" for name, data in files]
    return b"".join(lines)


def read_stream(data: bytes) -> tuple[Session, list[Event]]:
    form = detect(data, "raw-api-bodies")
    assert form is not None and form.name == "claude code bodies"
    session = Session()
    reader = form.open(session.tree)
    events = [*reader.feed(data), *reader.settle()]
    return session.fold(events), events


@pytest.mark.parametrize("index", [True, False])
def test_every_call_of_the_transcript_has_the_body_that_was_sent(index: bool) -> None:
    case = body_case(index=index)
    session, lacking = joined(case)
    told = {id_: call for id_, call in answered(session).items() if id_ not in case.side.values()}
    assert len(told) == 6
    for id_, call in told.items():
        assert call.fidelity == Fidelity.WIRE
        assert body_of(session, call) == case.sent[id_]
        assert call.extra["betas"] == BETAS
        assert "redacted_thinking" not in call.extra
    assert [call.id for call in session.thread_calls(AGENT)] == ["msg_05", "msg_06"]
    assert session.skipped == []
    assert lacking == []


@pytest.mark.parametrize("index", [True, False])
def test_side_calls_are_threads_of_their_own_and_no_call_counts_twice(index: bool) -> None:
    case = body_case(index=index)
    session, _ = joined(case)
    assert sorted(answered(session)) == sorted(case.sent.keys() - {"msg_02"})
    assert sum(len(ids) for ids in session.order.values()) == len(session.calls)
    compact = session.calls[case.side["compact"]]
    assert (compact.thread, session.threads[compact.thread].label) == ("compact", "compaction")
    assert body_of(session, compact) == case.sent[compact.id]
    assert COMPACT in str(session.tree.items(compact.raw_head)[-1].block.value())
    assert compact.usage is not None and compact.usage.input == 1030
    title = session.calls[case.side["generate_session_title"]]
    assert session.threads[title.thread].label == ("title" if index else "side call")
    assert [call.epoch.start for call in session.thread_calls(MAIN)][-1] == EpochStart.COMPACTION


@pytest.mark.parametrize("index", [True, False])
def test_a_request_that_was_sent_again_stands_apart_as_one_without_an_answer(index: bool) -> None:
    case = body_case(index=index)
    session, _ = joined(case)
    assert [(one.kind, one.thread) for one in session.happenings] == [("unanswered", MAIN)]
    failed = session.thread_calls("unanswered")
    assert [call.extra["request_file"] for call in failed] == ["00000000-0000-4000-8000-000000000002.request.json"]
    assert body_of(session, failed[0]) == case.sent["msg_02"]


def test_the_thread_ends_behind_what_was_sent_and_what_came_since() -> None:
    case = body_case()
    session, _ = joined(case)
    last = session.thread_calls(MAIN)[-1]
    assert session.threads[MAIN].tip == last.response_head
    more = body_case()
    lines = more.transcript.splitlines(keepends=True)
    record = json.loads(lines[-1])
    record |= {"type": "user", "uuid": "later", "parentUuid": record["uuid"]}
    record["message"] = {"role": "user", "content": "and now?"}
    more.transcript += json.dumps(record).encode() + b"\n"
    session, _ = joined(more)
    tip = session.threads[MAIN].tip
    last = session.thread_calls(MAIN)[-1]
    assert session.tree.holds(tip, last.response_head)
    assert session.tree[tip].block.value()["text"] == "and now?"


def test_the_order_in_which_the_files_come_changes_nothing() -> None:
    case = body_case()
    whole, _ = joined(case)
    names = list(case.bodies)
    for seed in range(12):
        random.Random(seed).shuffle(names)
        other, _ = joined(case, names)
        assert {id_: (c.thread, c.fidelity, c.usage) for id_, c in other.calls.items()} == {
            id_: (c.thread, c.fidelity, c.usage) for id_, c in whole.calls.items()
        }
        assert all(body_of(other, call) == case.sent[id_] for id_, call in answered(other).items())


def test_bodies_that_come_before_their_records_count_once() -> None:
    case = body_case()
    whole, _ = joined(case)
    lines = case.transcript.splitlines(keepends=True)
    session = Session()
    reader = reader_of(session.tree)
    session.fold(reader.feed(b"".join(lines[:2]))).fold(reader.settle())
    for name in sorted(case.bodies, key=lambda name: name != "index.jsonl"):
        part = reader.part(name)
        session.fold(part.feed(case.bodies[name])).fold(part.settle())
    session.fold(reader.settle())
    assert session.calls.keys() == whole.calls.keys()
    for one in lines[2:]:
        session.fold(reader.feed(one))
    part = reader.part(AGENT_FILE)
    session.fold(part.feed(case.agent)).fold(part.settle()).fold(reader.settle())
    assert {id_: call.thread for id_, call in session.calls.items()} == {
        id_: call.thread for id_, call in whole.calls.items()
    }
    assert session.threads.keys() == whole.threads.keys()
    assert all(body_of(session, call) == case.sent[id_] for id_, call in answered(session).items())


def test_the_last_call_of_a_process_is_found_without_its_line_and_answer() -> None:
    case = body_case()
    lines = case.bodies["index.jsonl"].splitlines(keepends=True)
    case.bodies["index.jsonl"] = b"".join(lines[:-1])
    last = json.loads(lines[-1])
    case.bodies[last["response_file"]] = b""
    session, lacking = joined(case)
    call = session.calls[last["message_id"]]
    assert call.fidelity == Fidelity.WIRE
    assert body_of(session, call) == case.sent[call.id]
    assert lacking == [f"{last['response_file']}: empty"]


def test_a_missing_body_leaves_its_call_to_the_transcript_and_is_named() -> None:
    case = body_case()
    name = "00000000-0000-4000-8000-000000000004.request.json"
    del case.bodies[name]
    session, lacking = joined(case)
    call = session.calls["msg_04"]
    assert call.fidelity == Fidelity.TRANSCRIPT
    assert session.tree.holds(call.raw_head, session.calls["msg_03"].response_head)
    assert len(lacking) == 1 and name in lacking[0]


def test_a_body_that_the_client_kept_back_is_named_with_its_reason() -> None:
    case = body_case()
    name = "00000000-0000-4000-8000-000000000004.request.json"
    case.bodies[name] = b'{"not_recorded":"account memory"}'
    session, lacking = joined(case)
    assert session.calls["msg_04"].fidelity == Fidelity.TRANSCRIPT
    assert f"{name}: the client withheld the body: account memory" in lacking


def test_bodies_of_another_session_are_not_taken() -> None:
    case, other = body_case(), body_case(session="99999999-0000-4000-8000-000000000001", prefix="9")
    alone, _ = joined(case, [])
    case.bodies = other.bodies
    session, _ = joined(case)
    assert session.calls == alone.calls
    assert session.threads == alone.threads


@pytest.mark.parametrize("index", [True, False])
def test_a_folder_by_itself_is_one_session_with_its_threads(index: bool) -> None:
    case = body_case(index=index)
    session, _ = read_stream(as_stream(case))
    answered = {id_: call for id_, call in session.calls.items() if id_ in case.sent}
    assert answered.keys() == case.sent.keys() - {"msg_02"}
    assert [call.id for call in session.thread_calls(MAIN) if not call.error] == [
        "msg_03",
        "msg_04",
        "msg_07",
        "msg_09",
    ]
    agents = [thread for thread in session.threads.values() if thread.label == "find the port"]
    assert len(agents) == 1
    assert [call.id for call in session.thread_calls(agents[0].id)] == ["msg_05", "msg_06"]
    assert session.about.id and session.about.version == "2.1.280" and session.about.client == "cli"
    assert session.about.title == "read a.txt"
    assert all(call.fidelity == Fidelity.WIRE for call in session.calls.values())
    assert session.calls["msg_09"].extra.get("redacted_thinking") is None
    assert session.calls["msg_04"].extra["redacted_thinking"] == 1
    assert session.calls["msg_09"].epoch.start == EpochStart.COMPACTION


def test_a_request_without_a_line_and_with_another_system_prompt_is_no_main_call() -> None:
    case = body_case()
    del case.bodies[next(name for name in case.bodies if name.endswith("2.request.json"))]  # the failed attempt
    subagent = ("msg_05", "msg_06")
    lines = case.bodies["index.jsonl"].splitlines(keepends=True)
    case.bodies["index.jsonl"] = b"".join(line for line in lines if json.loads(line)["message_id"] not in subagent)
    session, _ = read_stream(as_stream(case))
    agents = [thread for thread in session.threads.values() if thread.label == "find the port"]
    main = [call.id for call in session.thread_calls(MAIN) if not call.error]
    assert main == ["msg_03", "msg_04", "msg_07", "msg_09"] and len(agents) == 1


def test_a_folder_by_itself_says_that_thinking_is_not_in_it() -> None:
    data = as_stream(body_case())
    form = detect(data, "raw-api-bodies")
    assert form is not None
    session = Session()
    reader = form.open(session.tree)
    session.fold(reader.feed(data)).fold(reader.settle())
    assert reader.tail is not None and "<REDACTED>" in reader.tail.reason


@pytest.mark.parametrize("index", [True, False])
def test_answers_that_a_gateway_gave_one_id_are_calls_of_their_own(index: bool) -> None:
    case = body_case(index=index)
    for name, data in case.bodies.items():
        if name.endswith(".response.json"):
            case.bodies[name] = json.dumps({**json.loads(data), "id": "msg_same"}).encode()
    lines = [json.loads(line) for line in case.bodies.get("index.jsonl", b"").splitlines()]
    if lines:
        same = [json.dumps({**line, "message_id": "msg_same"}).encode() + b"\n" for line in lines]
        case.bodies["index.jsonl"] = b"".join(same)
    session, _ = read_stream(as_stream(case))
    assert len(answered(session)) == len(case.sent) - 1
    usages = [call.usage for call in answered(session).values()]
    assert all(usages) and len(usages) == 8


def test_without_a_transcript_a_context_runs_through_the_answer_before_it() -> None:
    session, _ = read_stream(as_stream(body_case()))
    before, call = session.calls["msg_03"], session.calls["msg_04"]
    assert session.tree.holds(call.raw_head, before.response_head)


def test_a_request_without_an_answer_is_a_call_that_says_so() -> None:
    session, _ = read_stream(as_stream(body_case()))
    lone = [call for call in session.calls.values() if call.error]
    assert [(call.error, call.usage) for call in lone] == [("no recorded answer", None)]


def test_any_chunking_of_a_folder_gives_the_same() -> None:
    law_2(as_stream(body_case()), "raw-api-bodies")


def test_a_folder_that_breaks_off_anywhere_is_read() -> None:
    survives_cuts(as_stream(body_case()), "raw-api-bodies")


def test_bodies_that_break_off_anywhere_harm_nothing() -> None:
    case = body_case()
    whole, _ = joined(case)
    for name, data in list(case.bodies.items()):
        for at in (0, 1, len(data) // 2, len(data) - 1):
            cut = BodyCase(case.transcript, case.agent, {**case.bodies, name: data[:at]}, case.sent, case.side)
            session, lacking = joined(cut)
            assert answered(session).keys() - case.side.values() == answered(whole).keys() - case.side.values()
            if name != "index.jsonl":
                assert any(name in one for one in lacking)


ODD = (None, True, -1, 1e400, "", "x", [], {}, [None], {"type": 3}, [[[]]])


def values(value: object) -> Iterable[tuple[list[str | int], object]]:
    yield [], value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        for path, inner in values(item):
            yield [key, *path], inner


def put(value: object, path: list[str | int], new: object) -> object:
    if not path:
        return new
    made = dict(value) if isinstance(value, dict) else list(value)  # type: ignore[call-overload]
    made[path[0]] = put(made[path[0]], path[1:], new)
    return made


def test_any_value_in_any_place_of_a_body_or_the_index_stops_no_reader() -> None:
    case = body_case()
    ids = answered(joined(case)[0]).keys() - case.side.values()
    chosen = random.Random(7)
    targets = [name for name in case.bodies if "04" in name or "03" in name]
    for name in targets:
        places = [path for path, _ in values(json.loads(case.bodies[name]))]
        for path in chosen.sample(places, min(25, len(places))):
            made = put(json.loads(case.bodies[name]), path, chosen.choice(ODD))
            bodies = {**case.bodies, name: json.dumps(made).encode()}
            session, _ = joined(BodyCase(case.transcript, case.agent, bodies))
            assert ids <= session.calls.keys()
            read_stream(as_stream(BodyCase(bodies=bodies)))
    lines = [json.loads(line) for line in case.bodies["index.jsonl"].splitlines()]
    for path, _ in values(lines):
        if path:
            odd = put(lines, path, chosen.choice(ODD))
            assert isinstance(odd, list)
            index = b"".join(json.dumps(line).encode() + b"\n" for line in odd)
            session, _ = joined(BodyCase(case.transcript, case.agent, {**case.bodies, "index.jsonl": index}))
            assert ids <= session.calls.keys()


def test_a_subagent_whose_file_is_elsewhere_is_named() -> None:
    case = body_case()
    session = Session()
    reader = reader_of(session.tree)
    session.fold(reader.feed(case.transcript)).fold(reader.settle())
    assert reader.tail is not None
    assert f"Find the port (agent-{AGENT})" in reader.tail.reason
    part = reader.part(AGENT_FILE)
    session.fold(part.feed(case.agent)).fold(part.settle())
    assert reader.tail is None
