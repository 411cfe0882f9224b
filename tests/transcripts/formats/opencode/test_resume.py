"""OpenCode sessions written for ``opencode import``, held against a reader of its own and against ctxtui's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import block, block_content
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.session import Session
from ctxtui.transcripts.formats.opencode.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock, recorded_items
from tests.cases.opencode import SESSION, Script, shop, text
from tests.corpus import corpus_params
from tests.transcripts.driving import read

NOW = 1_795_378_500.0
Written = Callable[[Script], bytes]


def ids() -> Iterator[str]:
    return (f"{n:08x}-0000-4000-8000-{n:012x}" for n in count(1))


def path_of(session: Session) -> list[Item]:
    return list(session.tree.items(session.threads["main"].tip))


def words(item: Item) -> str:
    return block_content.read(item.block).text


def ordered(data: bytes, sent: list[SentBlock] | None = None, session: str = SESSION, **more: Any) -> ResumedFile:
    path = path_of(read(data).session)
    kept = sent if sent is not None else [SentBlock(item, at) for at, item in enumerate(path)]
    return resume(ResumeOrder(source=data, path=path, sent=kept, ids=ids(), now=NOW, session=session, **more))


def without(data: bytes, *gone: str, **more: Any) -> ResumedFile:
    path = path_of(read(data).session)
    kept = [SentBlock(item, at) for at, item in enumerate(path) if not any(one in words(item) for one in gone)]
    return ordered(data, kept, **more)


def shown(items: list[Item]) -> list[str]:
    return [f"{item.place.role} {words(item)}" for _, item in recorded_items(enumerate(items))]


def faults(made: ResumedFile, original: bytes) -> list[str]:
    """What ``opencode import`` would trip over, or order otherwise than it stands."""
    whole, found = json.loads(made.data), []
    old = set(re.findall(rb"(?:ses|msg|prt)_\w+", original))
    messages = whole["messages"]
    names = [whole["info"]["id"], *(one["id"] for m in messages for one in (m["info"], *m["parts"]))]
    found += [f"{name} is not new" for name in names if name.encode() in old]
    found += [f"{name} stands twice" for name in set(names) if names.count(name) > 1]
    found += [f"{name} is no id" for name in names if not re.fullmatch(r"(ses|msg|prt)_[0-9a-f]{12}\w{14}", name)]
    there = {m["info"]["id"] for m in messages}
    for message in messages:
        info = message["info"]
        owners = {part["messageID"] for part in message["parts"]}
        found += [f"{owners} are not {info['id']}"] if owners - {info["id"]} else []
        found += [f"{info['id']} is of another session"] if info["sessionID"] != whole["info"]["id"] else []
        parts = [part["id"] for part in message["parts"]]
        found += [] if parts == sorted(parts) else [f"parts of {info['id']} out of order"]
        asked = any(m["info"]["role"] == "user" for m in messages)
        if info["role"] == "assistant" and asked and info["parentID"] not in there:
            found.append(f"{info['id']} answers {info['parentID']}, which is not there")
    order = [(m["info"]["time"]["created"], m["info"]["id"]) for m in messages]
    return found + ([] if order == sorted(order) else ["messages out of order"])


def answers(made: ResumedFile) -> list[dict[str, Any]]:
    return [m["info"] for m in json.loads(made.data)["messages"] if m["info"]["role"] == "assistant"]


def of_tokens(one: dict[str, Any]) -> int:
    tokens = one["tokens"]
    return int(tokens["input"] + tokens["cache"]["read"] + tokens["cache"]["write"])


BOTH = pytest.mark.parametrize("written", [Script.dump, Script.rows], ids=["export", "database"])


@BOTH
def test_as_it_is_it_says_the_same_under_new_ids(written: Written) -> None:
    data = written(shop())
    made = ordered(data)
    assert faults(made, data) == [] and made.lost == ()
    assert shown(path_of(read(made.data).session)) == shown(path_of(read(data).session))
    assert [of_tokens(one) for one in answers(made)] == [900, 1800, 2700, 3600, 4500, 5400]
    assert made.name == f"{made.id}.json" and json.loads(made.data)["info"]["directory"] == "/shop"


@BOTH
def test_behind_the_change_no_report_stays_but_the_last_answers_size(written: Written) -> None:
    data = written(shop())
    made = without(data, "question 2", input_tokens=2345, answer_tokens=17)
    assert faults(made, data) == []
    assert [of_tokens(one) for one in answers(made)] == [900, 1800, 0, 0, 0, 2345]
    calls = list(read(made.data).session.calls.values())
    assert [call.usage is None for call in calls] == [False, False, True, True, True, True]
    assert calls[-1].estimated_input == 2345 and calls[-2].estimated_input is None
    assert json.loads(made.data)["info"]["cost"] == pytest.approx(0.02)


def test_a_shortened_result_stands_in_its_part() -> None:
    data = shop().dump()
    path = path_of(read(data).session)
    short = {"type": "tool_result", "tool_use_id": "call_1", "content": "output 1 ..."}
    sent = [
        SentBlock(
            Item(block.from_part(short), item.place) if item.block.value().get("tool_use_id") == "call_1" else item, at
        )
        for at, item in enumerate(path)
    ]
    made = ordered(data, sent)
    assert faults(made, data) == [] and b"output 1 output 1" not in made.data
    assert shown(path_of(read(made.data).session)) == shown([one.item for one in sent])


@BOTH
def test_it_ends_behind_the_last_answer(written: Written) -> None:
    script = shop()
    script.user("and now?")
    data = written(script)
    path = path_of(read(data).session)
    end = max(at for at, item in enumerate(path) if item.place.role == "assistant") + 1
    made = ordered(data, end=end)
    assert b"and now?" not in made.data and "after the last answer" in made.lost[0]
    assert faults(made, data) == []


def test_a_rewind_ends_where_its_call_does_also_where_texts_repeat() -> None:
    script = Script()
    for _ in range(3):
        script.user("go on")
        script.answer(text("ok"))
    script.user("go on")
    path = path_of(read(script.dump()).session)
    answers = [at for at, item in enumerate(path) if words(item) == "ok"]
    for number, at in enumerate(answers, 1):
        asked, sent = path[: at + 3], [SentBlock(item, n) for n, item in enumerate(path[: at + 1])]
        order = ResumeOrder(
            source=script.dump(), path=asked, sent=sent, ids=ids(), now=NOW, session=SESSION, end=at + 1
        )
        assert shown(path_of(read(resume(order).data).session)) == ["user go on", "assistant ok"] * number


def test_a_note_is_a_message_of_its_own_where_it_was_put() -> None:
    data = shop().dump()
    path = path_of(read(data).session)
    at = next(n for n, item in enumerate(path) if words(item) == "question 2") - 1
    note = SentBlock(Item(block.text("Mind the gap."), Place("messages", "user")))
    kept = [SentBlock(item, n) for n, item in enumerate(path)]
    made = ordered(data, [*kept[:at], note, *kept[at:]])
    assert faults(made, data) == []
    assert shown(path_of(read(made.data).session)) == shown([one.item for one in [*kept[:at], note, *kept[at:]]])


def rows(tables: dict[str, list[dict[str, Any]]]) -> bytes:
    lines: list[dict[str, Any]] = [{"rows_of": list(tables)}]
    lines += ({"table": name, "row": row} for name, members in tables.items() for row in members)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def version_2(form: str, *, at: int | None = None) -> bytes:
    """A session in the tables of OpenCode 2, its messages' ids in `form`, all at one time or `at` it and later."""
    row = {"id": SESSION, "project_id": "p1", "directory": "/shop", "title": "The shop", "version": "2.0.12",
           "parent_id": None, "time_created": 1_000, "time_updated": 9_000}  # fmt: skip
    said = {"model": {"id": "m-1", "providerID": "anthropic"}, "finish": "stop"}
    messages = []
    for number in range(6):
        content = [{"type": "text", "text": f"part {n} of {number}"} for n in range(12)]
        data = {**said, "content": content} if number % 2 else {"text": f"question {number}"}
        data |= {"time": {"created": 1_000 if at is None else at + number}}
        messages.append(
            {"id": form.format(number), "session_id": SESSION, "seq": number, "data": data,
             "type": "assistant" if number % 2 else "user"}
        )  # fmt: skip
    return rows({"session_v2": [row], "session_message": messages})


@pytest.mark.parametrize("form", ["msg_20{:07x}000Abcdefghijklmn", "msg_p{}", "msg_{}", "{}"])
def test_a_session_of_version_2_keeps_its_description(form: str) -> None:
    made = ordered(version_2(form))
    info = json.loads(made.data)["info"]
    assert {key: info.get(key) for key in ("title", "directory", "version", "projectID")} == {
        "title": "The shop (curated)", "directory": "/shop", "version": "2.0.12", "projectID": "p1",
    }  # fmt: skip
    assert info["time"]["created"] == 1_000


@pytest.mark.parametrize("at", [None, 2_000])
@pytest.mark.parametrize("form", ["msg_20{:07x}000Abcdefghijklmn", "msg_p{}", "msg_{}", "{}"])
def test_ids_of_any_form_stay_in_order_where_messages_are_put_in(form: str, at: int | None) -> None:
    data = version_2(form, at=at)
    path = path_of(read(data).session)
    sent = [SentBlock(item, n) for n, item in enumerate(path)]
    new = [
        SentBlock(Item(block.text(f"note {n}"), Place("messages", role)))
        for n, role in enumerate(["user", "user", "assistant", "user"])
    ]
    place = next(n for n, item in enumerate(path) if words(item) == "question 2") - 1
    sent = [*sent[:place], *new, *sent[place:], *new]
    made = ordered(data, sent)
    assert [one for one in faults(made, data) if "is no id" not in one] == []
    assert shown(path_of(read(made.data).session)) == shown([one.item for one in sent])


@given(st.booleans(), st.sets(st.integers(0, 60)), st.sets(st.integers(1, 4), max_size=3))
@settings(deadline=None, max_examples=60)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(rows: bool, drop: set[int], notes: set[int]) -> None:
    script = shop(5)
    data = script.rows() if rows else script.dump()
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
    assert faults(made, data) == []
    assert shown(path_of(read(made.data).session)) == shown([one.item for one in sent])


@pytest.mark.parametrize("file", corpus_params("clients", "opencode-*/*.db"))
def test_recordings_resume(file: Path) -> None:
    from ctxtui.services.recordings.databases.sessions import list_roots
    from ctxtui.services.recordings.open import read_content

    for one in list_roots(file):
        data = read_content(Path(f"{file}#{one.id}"))
        made = without(data, "nothing says this", session=one.id)
        assert faults(made, data) == [] and made.lost == ()
        assert shown(path_of(read(made.data).session)) == shown(path_of(read(data).session))
