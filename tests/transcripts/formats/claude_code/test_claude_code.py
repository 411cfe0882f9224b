"""Claude Code: what each oddity of its files becomes. The scripts are in tests/cases/claude_code_odd.py."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from ctxtui.analysis.session_events import list_events
from ctxtui.core.call import ANSWER_LEAST, CLIENT_VERSION, UNATTENDED, EpochStart
from ctxtui.core.session import ASIDE, MAIN, Skipped
from ctxtui.core.usage import Usage
from tests.cases import claude_code
from tests.cases.claude_code import Script, text, tool_use, usage
from tests.cases.claude_code_odd import ODDITIES, files_of_one_session
from tests.transcripts.driving import Read, read, read_files
from tests.transcripts.soundness import soundness


def odd(name: str) -> Read:
    return read(ODDITIES[name]())


def call(id: str, arguments: str = '{"command":"ls"}') -> str:
    return f"tool_use({id}) {arguments}"


def test_one_answer_in_many_records_is_one_call() -> None:
    found = odd("one_answer_in_many_records")
    assert [c.id for c in found.calls] == ["msg_1", "msg_2"]
    assert found.answer("msg_1") == ["assistant:", "thinking hm", "Looking.", call("toolu_a")]
    first, second = found.calls
    assert first.usage == Usage(fresh=3, cache_read=100, write_5m=50, output=90, output_final=True)
    assert first.stop_reason == "tool_use"
    assert second.usage is not None and not second.usage.output_final
    assert second.is_partial and not first.is_partial
    # What is on record of the answer is counted only as long as nobody reported its end.
    assert second.output == max(second.usage.output, second.extra.get(ANSWER_LEAST, 0)) > 0  # type: ignore[type-var]
    assert first.output == 90 and ANSWER_LEAST not in first.extra
    assert first.extra["requestId"] == "req_msg_1" and first.extra[CLIENT_VERSION] == "2.1.62"
    assert (first.started, first.ended) == (second.ended - 5, second.ended - 2)  # type: ignore[operator]


@pytest.mark.parametrize(("entrypoint", "unattended"), [("cli", None), ("sdk-cli", True), ("sdk-ts", True)])
def test_a_client_that_runs_for_a_program_is_told(entrypoint: str, unattended: bool | None) -> None:
    script = Script(entrypoint=entrypoint)
    script.user("hello")
    script.assistant(text("hi"), id="msg_1", use=usage(read=10, write=5))
    assert read(script.dump()).calls[0].extra.get(UNATTENDED) is unattended


def test_a_call_names_its_place_in_the_file() -> None:
    data = ODDITIES["one_answer_in_many_records"]()
    first = read(data).calls[0]
    assert first.line == 2
    assert data[slice(*first.bytes_)].split(b"\n") == data.split(b"\n")[1:4]


def test_results_follow_the_answer_that_made_the_calls() -> None:
    context = odd("parallel_calls").context("msg_2")
    assert context[2:] == [
        "assistant:",
        "Reading.",
        call("toolu_a"),
        call("toolu_b"),
        "user:",
        "tool_result(toolu_b) B",
        "tool_result(toolu_a) A",
        "meta|note on B",
    ]


def test_an_answer_interrupted_by_results_stays_one() -> None:
    context = odd("results_between_the_calls").context("msg_2")
    results = ["user:", "tool_result(toolu_a) A", "tool_result(toolu_b) B"]
    assert context[2:] == ["assistant:", call("toolu_a"), call("toolu_b"), *results]


def test_repeated_blocks_stand_once() -> None:
    found = odd("repeated_blocks")
    assert found.answer("msg_1") == ["assistant:", "one", call("toolu_a")]
    assert found.calls[0].usage is not None and found.calls[0].usage.output == 7


@pytest.mark.parametrize("name", ["copied_records", "answer_copied_as_root"])
def test_copies_add_nothing(name: str) -> None:
    found = odd(name)
    assert list(found.session.calls) == ["msg_1", "msg_2"]
    assert found.context("msg_2")[:4] == ["user:", "hello", "assistant:", "hi"]
    assert len(found.context("msg_2")) == 6
    assert {c.epoch.start for c in found.calls} == {EpochStart.START}


def test_an_edited_question_goes_on_from_the_earlier_context() -> None:
    found = odd("edited_question")
    assert found.context("msg_3") == ["user:", "hello", "assistant:", "hi", "user:", "right question"]
    assert found.call("msg_3").epoch.start is EpochStart.REWIND
    assert found.tip()[-1] == "right answer"


def test_a_missing_parent_is_what_the_file_last_held() -> None:
    found = odd("missing_parent")
    assert found.context("msg_2") == ["user:", "hello", "assistant:", "hi", "user:", "still there?"]
    assert found.call("msg_2").epoch.number == 1
    assert odd("history_not_in_the_file").context("msg_2")[0] == "assistant:"


def test_what_the_client_answers_is_no_call() -> None:
    found = odd("client_answers")
    assert list(found.session.calls) == ["msg_1", "msg_2"]
    said = ["user:", "are you there?", "assistant:", "No response requested.", "user:", "and now?"]
    assert found.context("msg_2")[4:] == said
    happened = [(h.kind, h.text, h.after) for h in found.session.happenings]
    assert happened == [
        ("api error", "API Error: 529 overloaded", "msg_1"),
        ("api error", "529 Overloaded", "msg_1"),
    ]


@pytest.mark.parametrize(("subtype", "kinds"), [("away_summary", [ASIDE]), ("turn_duration", [])])
def test_what_the_client_asks_by_itself_is_told_with_its_time(subtype: str, kinds: list[str]) -> None:
    script = Script()
    script.user("hello")
    script.assistant(text("hi"), id="msg_1", use=usage(read=10, write=5))
    script.put("system", subtype=subtype, content="You were about to ...", isMeta=False)
    script.user("and now?")
    script.assistant(text("fine"), id="msg_2", use=usage(read=15, write=5))
    found = read(script.dump())
    assert [(h.kind, h.after) for h in found.session.happenings] == [(kind, "msg_1") for kind in kinds]
    assert all(h.at is not None and h.at > (found.calls[0].started or 0) for h in found.session.happenings)
    assert "You were about to" not in str(found.context("msg_2"))
    assert all(event.kind != "error" for event in list_events(found.session, MAIN))


def test_compaction_starts_from_the_summary() -> None:
    found = odd("compacted")
    summary = "summary|This session is being continued. Summary: hello was said."
    assert found.context("msg_2") == ["user:", summary]
    assert found.context("msg_3") == ["user:", summary, "assistant:", "going on", "user:", "fine"]
    epoch = found.call("msg_2").epoch
    assert (epoch.number, epoch.start) == (2, EpochStart.COMPACTION)
    assert epoch.detail == "154.8k → 22.3k · by claude code"
    assert found.call("msg_3").epoch == epoch


def test_compaction_of_old_versions() -> None:
    epoch = odd("compacted_without_boundary").call("msg_2").epoch
    assert (epoch.start, epoch.detail) == (EpochStart.COMPACTION, "154.0k → 22.0k · by claude code")


def test_compaction_may_keep_messages() -> None:
    kept = ["keep this", "assistant:", "kept answer"]
    found = odd("compacted_keeping_messages")
    assert found.context("msg_3") == ["user:", "summary|Summary.", *kept, "user:", "next"]
    assert found.call("msg_3").epoch.start is EpochStart.COMPACTION


def test_the_size_after_a_compaction_is_told_when_it_is_known() -> None:
    script = Script()
    script.user("Summary.", isCompactSummary=True)
    script.assistant(text("a"), id="msg_1", use=usage(fresh=0))
    first = read(script.dump())
    assert first.calls[0].epoch.detail == "" or "?" in first.calls[0].epoch.detail
    script.assistant(text("b"), id="msg_1", use=usage(write=22_000))
    assert read(script.dump()).calls[0].epoch.detail == "? → 22.0k · by claude code"


def test_microcompaction_clears_results() -> None:
    found = odd("microcompacted")
    result = "tool_result(toolu_a) [Old tool result content cleared]"
    assert found.context("msg_3")[4:] == ["user:", result, "assistant:", "read", "user:", "next"]
    assert found.context("msg_2")[-1].endswith("a long file ")
    epoch = found.call("msg_3").epoch
    assert (epoch.start, epoch.detail) == (EpochStart.MICROCOMPACTION, "1.4k → 1.1k · by claude code")


def test_another_process_resumes() -> None:
    starts = [(c.epoch.number, c.epoch.start) for c in odd("resumed").calls]
    assert starts == [(1, EpochStart.START), (2, EpochStart.RESUME), (3, EpochStart.RESUME)]


def test_whoever_left_the_client_comes_back_to_another_process() -> None:
    starts = [(c.epoch.number, c.epoch.start) for c in odd("left_and_came_back").calls]
    assert starts == [(1, EpochStart.START), (2, EpochStart.RESUME), (2, EpochStart.RESUME)]


def test_another_model_begins_an_epoch() -> None:
    epoch = odd("other_model").call("msg_2").epoch
    assert (epoch.start, epoch.detail) == (EpochStart.MODEL, "opus-4 → sonnet-4")


def test_attachments_with_words_are_read() -> None:
    found = odd("attachments")
    assert found.context("msg_1")[2:] == [
        "memory|/shop/CLAUDE.md\nBe brief.",
        "meta|/shop/a.py\nx = 1",
        "meta|image image/png",
        "and b.py",
    ]


def test_results_that_were_kept_out_read_as_their_preview() -> None:
    found = odd("results_kept_out")
    assert found.context("msg_2")[-1] == "tool_result(toolu_a) very long ... (preview)"


def test_queued_texts_reach_the_model_once() -> None:
    found = odd("queued_text")
    assert found.context("msg_2")[-2:] == ["tool_result(toolu_a) done", "auto works too"]
    assert found.context("msg_3").count("next") == 1


def test_a_queued_notice_is_the_clients() -> None:
    script = Script()
    script.user("go")
    script.assistant(tool_use("toolu_a"), id="msg_1")
    notice = "<task-notification>done</task-notification>"
    script.loose("queue-operation", operation="enqueue", content=notice, sessionId=script.session)
    script.loose("queue-operation", operation="remove", sessionId=script.session)
    script.result("toolu_a")
    script.assistant(text("good to know"), id="msg_2")
    assert read(script.dump()).context("msg_2")[-1] == f"meta|{notice}"


@pytest.mark.parametrize(("name", "thread"), [("sidechain_inline", "side-u3"), ("sidechain_as_progress", "a37a9c9")])
def test_a_sidechain_is_a_thread(name: str, thread: str) -> None:
    found = odd(name)
    assert found.session.order == {MAIN: ["msg_1", "msg_2"], thread: ["msg_s1", "msg_s2"]}
    seen = found.session.threads[thread]
    assert (seen.label, seen.parent) == ("Find the types", MAIN)
    assert found.context("msg_s1") == ["user:", "Find all types."]
    assert found.context("msg_s2")[-1] == "tool_result(toolu_s) types.py"
    assert not [words for words in found.context("msg_2") if "types.py" in words and "toolu_t" not in words]


def test_a_subagents_file_by_itself_is_a_session() -> None:
    assert odd("records_of_a_subagent_alone").session.order == {MAIN: ["msg_1"]}


def test_files_of_subagents_share_the_session() -> None:
    found = read_files(files_of_one_session())
    assert found.session.order["a37a9c9"] == ["msg_s1", "msg_s2", "msg_s3"]
    assert found.context("msg_s3")[-1] == "anything else?"
    assert not found.session.calls.keys() & {"msg_x"}, "a file of another session emits nothing"


def colliding(prefix: str) -> dict[str, bytes]:
    """A session and a subagent's file, whose records have the same uuids where `prefix` is that of the session's."""
    main = Script()
    main.user("Do it.")
    main.assistant(text("Doing."), id="msg_1", use=usage(read=10))
    main.user("And then?")
    main.assistant(text("Done."), id="msg_2", use=usage(read=20))
    side = Script(prefix=prefix, isSidechain=True, agentId="a1b2c3d")
    side.user("Find it.")
    side.assistant(tool_use("toolu_s"), id="msg_s1", use=usage(read=5))
    side.result("toolu_s", "found")
    side.assistant(text("Here."), id="msg_s2", use=usage(read=7))
    return {"main.jsonl": main.dump(), "agent-a1b2c3d.jsonl": side.dump()}


@pytest.mark.parametrize("times", [1, 2])
def test_ids_of_a_subagents_file_may_be_those_of_the_session(times: int) -> None:
    same, apart = colliding("u"), colliding("s")
    files = {**same, **{f"{n}/agent-a1b2c3d.jsonl": same["agent-a1b2c3d.jsonl"] for n in range(times - 1)}}
    found, expected = read_files(files), read_files(apart)
    assert found.session.order == expected.session.order == {MAIN: ["msg_1", "msg_2"], "a1b2c3d": ["msg_s1", "msg_s2"]}
    for id_ in ("msg_1", "msg_2", "msg_s1", "msg_s2"):
        assert found.context(id_) == expected.context(id_)
    assert found.context("msg_s2")[-1] == "tool_result(toolu_s) found"


def test_generated_subagent_files() -> None:
    found = read_files(claude_code.with_subagents(3))
    assert len(found.session.threads) == 4
    assert {t.label for t in found.session.threads.values() if t.parent} == {"Part 0", "Part 1", "Part 2"}
    assert not soundness(found.session).exceptions


def test_interleaved_work_is_told_apart() -> None:
    found = odd("interleaved_lines_of_work")
    assert found.context("msg_a2") == found.context("msg_b1")
    assert call("toolu_b") not in found.context("msg_a3")
    assert found.context("msg_a3")[-1] == "tool_result(toolu_c) C"


def test_two_conversations_in_one_chain_follow_the_chain() -> None:
    found = odd("prompt_during_an_answer")
    assert found.context("msg_2")[-1] == "the final message is fine"
    for earlier, later in pairwise(["msg_2", "msg_3", "msg_4"]):
        so_far = found.context(earlier) + found.answer(earlier)
        assert found.context(later)[: len(so_far)] == so_far


def test_what_a_call_reads_from_the_cache_does_not_tell_what_it_sent() -> None:
    found = odd("older_prefix_read")
    ids = [f"msg_{n}" for n in range(1, 7)]
    assert list(found.session.calls) == ids
    for earlier, later in pairwise(ids):
        so_far = found.context(earlier) + found.answer(earlier)
        assert found.context(later)[: len(so_far)] == so_far
    assert found.context("msg_4")[-1].endswith("<task-notification>report")
    assert found.context("msg_6")[-1] == "tool_result(toolu_d) D"
    assert {call.epoch.start for call in found.calls} == {EpochStart.START}


def test_an_interrupt_is_told() -> None:
    found = odd("interrupted")
    assert [(h.kind, h.after) for h in found.session.happenings] == [("interrupt", "msg_1")]
    assert found.context("msg_2")[3:] == [
        call("toolu_a"),
        "user:",
        "meta|[Request interrupted by user for tool use]",
        "better not",
    ]


def test_a_second_root_starts_anew() -> None:
    found = odd("cleared")
    assert found.context("msg_2") == ["user:", "Implement the plan."]
    assert (found.call("msg_2").epoch.number, found.call("msg_2").epoch.start) == (2, EpochStart.START)


def test_titles() -> None:
    data = ODDITIES["titles"]()
    assert read(data).session.about.title == "My hello"
    untitled = b"".join(data.splitlines(keepends=True)[:-1])
    assert read(untitled).session.about.title == "Saying hello"
    assert odd("compacted").session.about.title == "hello"


def test_the_session_is_described() -> None:
    about = odd("one_answer_in_many_records").session.about
    assert (about.id, about.source) == (claude_code.SESSION, "claude code")
    assert (about.cwd, about.version) == ("/home/ada/shop", "2.1.62")


def test_what_cannot_be_read_leaves_a_block_and_a_line() -> None:
    found = odd("unreadable_records")
    assert [s.line for s in found.session.skipped] == [3, 4, 5, 6]
    assert found.context("msg_2")[-1].startswith("unreadable line 3: not JSON")
    assert found.tip()[-1] == "unreadable line 4: a string where a record is expected"


def test_damaged_text_is_mended_and_listed() -> None:
    found = odd("damaged_text")
    assert found.context("msg_1") == ["user:", "caf\ufffd \ud83d x", "bad \x01 escape \\u00zz"]
    assert [s.line for s in found.session.skipped] == [1, 2]
    found.session.about.title.encode()


@pytest.mark.parametrize("name", ["pretty_printed", "one_list", "glued_and_cut"])
def test_other_layouts_of_json(name: str) -> None:
    found = odd(name)
    assert found.tip() == ["user:", "hello", "assistant:", "hi"]
    assert found.session.skipped == []
    cut = Skipped(1, "cut last line: 258 bytes without an end") if name == "glued_and_cut" else None
    assert found.reader.tail == cut


def test_strange_shapes() -> None:
    found = odd("strange_shapes")
    said = ["user:", "hello", "assistant:", "just words", "user:", "a", "b", "unknown 3", "unknown null", "c"]
    assert found.context("msg_1") == [*said, "from an unknown type"]
    assert found.context("msg_2")[-3:] == ["user:", "tool_result(toolu_unknown) whose?", "next"]
    assert found.call("msg_2").started is None, "nothing is asked after it was answered"


def test_ids_that_are_none_are_told_apart_by_request() -> None:
    assert list(odd("gateway_ids").session.calls) == ["msg", "msg+req_2"]


def test_a_file_without_messages_has_no_context() -> None:
    found = odd("no_messages")
    assert not found.session.calls and not found.session.threads


def test_cache_writes_are_split_by_lifetime() -> None:
    script = Script()
    script.user("hello")
    script.assistant(text("hi"), id="msg_1", use=usage(fresh=2, read=5, write=7, hour=11, output=3))
    unsplit = {"input_tokens": 2, "cache_creation_input_tokens": 9, "cache_read_input_tokens": 0, "output_tokens": 1}
    script.assistant(tool_use("toolu_a"), id="msg_2", use=unsplit)
    script.assistant(text("x"), id="msg_3", use={"input_tokens": 4, "output_tokens": 1})
    one, two, three = (c.usage for c in read(script.dump()).calls)
    assert one is not None and (one.fresh, one.cache_read, one.write_5m, one.write_1h) == (2, 5, 7, 11)
    assert two is not None and (two.write_5m, two.write_1h) == (9, 0)
    assert three is not None and not three.has_cache


def test_generated_sessions_are_sound() -> None:
    found = read(claude_code.generate(400, 3, compactions=2, subagents=2))
    figures = soundness(found.session)
    assert figures.exceptions == []
    assert figures.calls > 100 and figures.append_only == figures.steps
    assert figures.cache_hits >= figures.pairs - 2


def test_a_copy_keeps_the_times_of_what_people_said() -> None:
    """A copied file gives its records the copy's time, all but those of people: nothing is answered in no time."""
    script = Script()
    script.user("one", seconds=60)
    script.assistant(text("first"), tool_use("toolu_a"), id="msg_1", stop="tool_use", use=usage(write=50))
    script.result("toolu_a", "r")
    script.assistant(text("second"), id="msg_2", stop="end_turn", use=usage(read=50, write=5))
    script.user("two", seconds=900)
    script.assistant(text("third"), id="msg_3", stop="end_turn", use=usage(read=55, write=5))
    honest = read(script.dump())
    assert all("asked_at" not in call.extra for call in honest.calls)
    copied = [json.loads(one) for one in script.dump().splitlines()]
    said = [record for record in copied if record["type"] == "user" and isinstance(record["message"]["content"], str)]
    for record in copied:
        if record not in said:
            record["timestamp"] = "2027-01-01T00:00:00.000Z"
    found = read(b"".join(json.dumps(record).encode() + b"\n" for record in copied))
    assert [c.id for c in found.calls] == ["msg_1", "msg_2", "msg_3"]
    third = found.calls[2].extra["asked_at"]
    assert third == honest.calls[2].started
