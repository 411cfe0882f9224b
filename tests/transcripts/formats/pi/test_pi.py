"""pi: lists of entries, trees of entries, compaction, rewinds, calls that never ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.core.call import EpochStart
from tests.cases.agents import pi
from tests.cases.pi import Script, call, text
from tests.corpus import corpus_params
from tests.transcripts.reading import (
    as_lines,
    calls,
    corpus_session,
    law_2,
    lines_of,
    plain_records,
    read,
    shown,
    survives_cuts,
    survives_values,
    total,
)

NAME = "a.jsonl"


def test_calls_usage_and_cost() -> None:
    session = read(as_lines(pi()), NAME)
    first, second, aborted = calls(session)
    assert session.about.source == "pi" and session.about.cwd == "/w" and session.about.title == "Fix the sum."
    assert first.usage and (first.usage.fresh, first.usage.cache_read, first.usage.write_5m) == (10, 20, 30)
    assert first.usage.cost == 0.5 and first.provider == "anthropic" and first.stop_reason == "toolUse"
    assert (first.started, first.ended) == (1_766_536_349.362, 1_766_536_354.17)
    assert aborted.usage is None and aborted.error == "Request was aborted."
    assert aborted.response_head == aborted.raw_head
    assert session.tree.holds(second.raw_head, first.response_head)
    assert shown(session, second.raw_head, first.raw_head) == [
        ("messages", "assistant", "header"),
        ("messages", "assistant", "thinking"),
        ("messages", "assistant", "tool_use"),
        ("messages", "assistant", "tool_use"),
        ("messages", "user", "header"),
        ("messages", "user", "tool_result"),
        ("messages", "user", "tool_result"),
    ]


def test_reported_reasoning_is_part_of_the_answer() -> None:
    records = pi()
    answers = [one["message"] for one in records if one.get("message", {}).get("role") == "assistant"]
    answers[0]["usage"] |= {"output": 40, "reasoning": 30}
    first = calls(read(as_lines(records), NAME))[0]
    assert first.usage and (first.usage.output, first.usage.reasoning) == (40, 30)


def test_compaction_keeps_what_it_says() -> None:
    records = pi()
    records.append({"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 5, "tokensBefore": 184_525})
    records.append({**records[2], "timestamp": "2026-01-01T00:00:00Z"})
    session = read(as_lines(records), NAME)
    last = calls(session)[-1]
    assert (last.epoch.number, last.epoch.start) == (2, EpochStart.COMPACTION)
    assert last.epoch.detail == "184.5k → 60 · by pi"
    texts = [i.block.value().get("text") for i in session.tree.items(last.raw_head) if i.block.kind == "text"]
    assert texts == ["so far", "done"]
    assert session.tree.items(last.raw_head)[1].place.mark == "summary"


def test_what_a_compaction_keeps_of_a_tree_stays_in_its_order() -> None:
    script = Script()
    script.user("one")
    script.answer(text("two"))
    kept = script.user("three")
    script.answer(text("four"))
    script.put("compaction", summary="so far", firstKeptEntryId=kept, tokensBefore=9_000)
    script.user("five")
    script.answer(text("six"))
    session = read(script.dump(), NAME)
    sent = session.tree.items(calls(session)[-1].raw_head)
    assert [i.block.value()["text"] for i in sent if i.block.kind == "text"] == ["so far", "three", "four", "five"]


def test_a_tree_of_entries_goes_back() -> None:
    def entry(id_: str, parent: str | None, role: str, words: str) -> dict[str, object]:
        message = {"role": role, "content": [{"type": "text", "text": words}], "model": "m", "stopReason": "stop"}
        return {"type": "message", "id": id_, "parentId": parent, "message": message}

    records = [
        {"type": "session", "version": 3, "id": "s", "cwd": "/w"},
        entry("a", None, "user", "one"),
        entry("b", "a", "assistant", "answer"),
        entry("c", "b", "user", "wrong way"),
        entry("d", "c", "assistant", "lost"),
        entry("e", "b", "user", "other way"),
        entry("f", "e", "assistant", "found"),
    ]
    session = read(as_lines(records), NAME)
    last = calls(session)[-1]
    texts = [i.block.value()["text"] for i in session.tree.items(last.response_head) if i.block.kind == "text"]
    assert texts == ["one", "answer", "other way", "found"]
    assert last.epoch.start is EpochStart.REWIND


def test_unknown_records_are_told() -> None:
    session = read(as_lines([*pi(), {"type": "brand_new", "x": 1}]), NAME)
    assert [h.text for h in session.happenings] == ["brand_new"]


def test_broken_lines_are_named() -> None:
    session = read(as_lines(pi()) + b'{"type":"message","mess\n"words"\n', NAME)
    assert [s.line for s in session.skipped] == [8, 9]


def test_any_chunking_and_any_cut() -> None:
    law_2(as_lines(pi()), NAME)
    survives_cuts(as_lines(pi()), NAME)


@pytest.mark.parametrize("path", corpus_params("pi"))
def test_corpus(path: Path) -> None:
    session = corpus_session(path)
    reports = []
    for record in plain_records(path):
        message = record.get("message", {})
        if message.get("role") == "assistant":
            reports.append(message["usage"])
    whole = total(session)
    assert len(session.calls) == len(reports)
    assert whole.input == sum(r["input"] + r["cacheRead"] + r["cacheWrite"] for r in reports)
    assert whole.output == sum(r["output"] for r in reports)
    spent = sum(call.usage.cost or 0 for call in session.calls.values() if call.usage)
    assert spent == pytest.approx(sum(r["cost"]["total"] for r in reports))


def test_values_of_any_type_stop_no_reader() -> None:
    survives_values(pi(), NAME, lines_of)


@pytest.mark.parametrize("reason", ["aborted", "error"])
def test_calls_of_an_answer_that_broke_off_are_not_sent_back_and_its_words_are(reason: str) -> None:
    script = Script()
    script.user("mend it")
    script.answer(text("I will"), call("c1"), call("c2"))
    script.records[-1]["message"]["stopReason"] = reason
    script.user("stop, rather that")
    script.answer(text("ok"))
    session = read(script.dump(), NAME)
    first, second = calls(session)
    kinds = [session.tree[n].block.kind for n in session.tree.path(first.response_head)]
    assert kinds.count("tool_use") == 2, "it is on record"
    sent = shown(session, second.raw_head, first.raw_head)
    assert [kind for _, _, kind in sent] == ["header", "text", "header", "text"]


def test_a_call_that_was_made_before_the_answer_broke_off_is_sent_back() -> None:
    script = Script()
    script.user("mend it")
    script.answer(call("c1"))
    script.records[-1]["message"]["stopReason"] = "aborted"
    script.result("c1", "aborted")
    script.user("go on")
    script.answer(text("ok"))
    session = read(script.dump(), NAME)
    kinds = [session.tree[n].block.kind for n in session.tree.path(calls(session)[1].raw_head)]
    assert "tool_use" in kinds and "tool_result" in kinds
