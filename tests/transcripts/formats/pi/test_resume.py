"""pi sessions written so that the client can resume them, held against a reader of its own and against ctxtui's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import block, block_content
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.session import Session
from ctxtui.transcripts.formats.pi.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock, recorded_items
from tests.cases.pi import Record, Script, shop, text
from tests.corpus import corpus_params
from tests.transcripts.driving import read
from tests.transcripts.resumable import unmarked

NOW = 1_795_378_500.0
FIRST = "00000001-0000-4000-8000-000000000001"


def ids() -> Iterator[str]:
    return (f"{n:08x}-0000-4000-8000-{n:012x}" for n in count(1))


def path_of(session: Session) -> list[Item]:
    return list(session.tree.items(session.threads["main"].tip))


def words(item: Item) -> str:
    return block_content.read(item.block).text


def ordered(data: bytes, sent: list[SentBlock] | None = None, **more: Any) -> ResumedFile:
    path = path_of(read(data).session)
    kept = sent if sent is not None else [SentBlock(item, at) for at, item in enumerate(path)]
    made = resume(ResumeOrder(source=data, path=path, sent=kept, ids=ids(), now=NOW, **more))
    assert faults(made) == []
    return made


def without(data: bytes, *gone: str, **more: Any) -> ResumedFile:
    path = path_of(read(data).session)
    kept = [SentBlock(item, at) for at, item in enumerate(path) if not any(one in words(item) for one in gone)]
    return ordered(data, kept, **more)


def shown(items: list[Item]) -> list[str]:
    return [f"{item.place.role} {words(item)}" for _, item in recorded_items(enumerate(items))]


def records(made: ResumedFile) -> list[Record]:
    return [json.loads(line) for line in made.data.splitlines()]


def faults(made: ResumedFile) -> list[str]:
    """What the client would trip over: it walks from the last entry up."""
    found = records(made)
    names = [one["id"] for one in found]
    told_ = [f"{name} stands twice" for name in set(names) if names.count(name) > 1]
    known: set[str] = set()
    for one in found[1:]:
        parent = one.get("parentId")
        told_ += [f"{one['id']} hangs on {parent}"] if parent is not None and parent not in known else []
        known.add(one["id"])
    asked = {part["id"] for one in found for part in _content(one) if part.get("type") == "toolCall"}
    results = {one["message"]["toolCallId"] for one in found if one.get("message", {}).get("role") == "toolResult"}
    return told_ + ([] if asked == results else [f"calls {asked}, results {results}"])


def _content(one: Record) -> list[Record]:
    content = one.get("message", {}).get("content")
    return content if isinstance(content, list) else []


def reports(made: ResumedFile) -> list[int]:
    usages = [one["message"]["usage"] for one in records(made) if one.get("message", {}).get("role") == "assistant"]
    return [one["input"] + one["cacheRead"] + one["cacheWrite"] for one in usages]


def test_as_it_is_every_line_but_the_first_stays_byte_for_byte() -> None:
    data = shop().dump()
    made = ordered(data)
    assert unmarked(made.data).split(b"\n")[1:] == data.split(b"\n")[1:] and made.lost == ()
    assert made.id == FIRST and made.name == f"2026-11-22T20-15-00-000Z_{FIRST}.jsonl"
    assert records(made)[0]["id"] == FIRST


def test_behind_the_change_no_report_stays_but_the_last_answers_size() -> None:
    made = without(shop().dump(), "question 2", input_tokens=2345, answer_tokens=17)
    assert reports(made) == [900, 1800, 0, 0, 0, 2345]
    calls = list(read(made.data).session.calls.values())
    assert [one.usage is None for one in calls] == [False, False, True, True, True, True]
    assert calls[-1].estimated_input == 2345
    last = records(made)[-1]["message"]["usage"]
    assert last["totalTokens"] == 2345 + 40 and last["cost"]["total"] == 0


def test_a_session_without_links_may_end_earlier() -> None:
    lines = [json.loads(line) for line in shop(2).dump().splitlines()]
    old = [{key: value for key, value in line.items() if key not in ("id", "parentId")} for line in lines[1:]]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in [lines[0], *old])
    path = path_of(read(data).session)
    kept = [SentBlock(item, at) for at, item in enumerate(path[:-2])]
    made = resume(ResumeOrder(source=data, path=path, sent=kept, ids=ids(), now=NOW))
    assert shown(path_of(read(made.data).session)) == shown(path[:-2])
    assert len(records(made)) == len(old), "the head, and all but the last"


def test_without_any_of_its_texts_a_session_keeps_its_head() -> None:
    script = Script()
    script.user("go on")
    script.answer(text("one"))
    note = SentBlock(Item(block.text("note"), Place("messages", "user")))
    made = ordered(script.dump(), [note])
    assert [one["type"] for one in records(made)] == ["session", "message"]
    assert shown(path_of(read(made.data).session)) == ["user note"]


def test_a_shortened_result_stands_in_its_entry() -> None:
    data = shop().dump()
    path = path_of(read(data).session)
    short = {"type": "tool_result", "tool_use_id": "c1", "content": "output 1 ...", "name": "bash"}
    sent = [
        SentBlock(
            Item(block.from_part(short), item.place) if item.block.value().get("tool_use_id") == "c1" else item, at
        )
        for at, item in enumerate(path)
    ]
    made = ordered(data, sent)
    assert b"output 1 output 1" not in made.data
    assert shown(path_of(read(made.data).session)) == shown([one.item for one in sent])


def test_it_ends_behind_the_last_answer() -> None:
    script = shop()
    script.user("and now?")
    data = script.dump()
    path = path_of(read(data).session)
    end = max(at for at, item in enumerate(path) if item.place.role == "assistant") + 1
    made = ordered(data, end=end)
    assert b"and now?" not in made.data and "after the last answer" in made.lost[0]


@pytest.mark.parametrize("gone", ["question 2", "hm 2", "aside 2", "Summary", "question 3"])
def test_what_a_compaction_kept_is_still_kept(gone: str) -> None:
    script = shop(2)
    kept = next(one["id"] for one in script.records if "question 2" in json.dumps(one))
    script.put("compaction", summary="Summary of it.", firstKeptEntryId=kept, tokensBefore=5000)
    script.user("question 3")
    script.answer(text("answer 3"))
    data = script.dump()
    path = path_of(read(data).session)
    sent = [SentBlock(item, at) for at, item in enumerate(path) if gone not in words(item)]
    made = ordered(data, sent)
    empty = ["user "] if gone == "Summary" else []
    assert shown(path_of(read(made.data).session)) == empty + shown([one.item for one in sent])
    assert len(made.lost) == len(empty)


def test_the_same_words_in_a_branch_that_was_left_stay() -> None:
    script = Script()
    script.user("go on")
    first = script.answer(text("one"))
    script.user("go on")
    script.answer(text("left"))
    script.tip = first
    script.user("stop")
    script.answer(text("two"))
    made = without(script.dump(), "go on")
    assert shown(path_of(read(made.data).session)) == ["assistant one", "user stop", "assistant two"]
    shortened = without(script.dump(), "stop", "two")
    assert shown(path_of(read(shortened.data).session)) == ["user go on", "assistant one"]


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(1, 4), max_size=3))
@settings(deadline=None, max_examples=60)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(drop: set[int], notes: set[int]) -> None:
    data = shop(5).dump()
    path = path_of(read(data).session)
    sent: list[SentBlock] = []
    turns = 0
    for at, item in enumerate(path):
        asked = item.block.kind == "text" and item.place.role == "user"
        turns += asked
        if asked and turns in notes:
            sent.append(SentBlock(Item(block.text(f"note {at}"), Place("messages", "user"))))
        if at not in drop or item.block.kind in (HEADER, "tool_use", "tool_result"):
            sent.append(SentBlock(item, at))
    made = ordered(data, sent, input_tokens=777)
    assert shown(path_of(read(made.data).session)) == shown([one.item for one in sent])


@pytest.mark.parametrize("file", [*corpus_params("clients", "pi-*/*.jsonl"), *corpus_params("pi", "*.jsonl")])
def test_recordings_resume(file: Path) -> None:
    data = file.read_bytes()
    path = path_of(read(data, name=file.name).session)
    sent = [SentBlock(item, at) for at, item in enumerate(path) if item.block.kind != "thinking"]
    made = resume(ResumeOrder(source=data, path=path, sent=sent, ids=ids(), now=NOW))
    assert made.lost == ()
    assert shown(path_of(read(made.data, name=file.name).session)) == shown([one.item for one in sent])
