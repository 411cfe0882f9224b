"""Claude Code sessions written so that the client can resume them, held against a reader of its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.session import Session
from ctxtui.transcripts.formats.claude_code.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock, recorded_items
from tests.cases.claude_code import Script, generate, text, thinking, tool_use
from tests.corpus import corpus_params
from tests.transcripts.driving import read
from tests.transcripts.resumable import claude_code_context, claude_code_faults, unmarked, untouched

NEW = "0f0f0f0f-1111-4222-8333-444455556666"


def ids() -> Iterator[str]:
    return (f"00000000-0000-4000-8000-{n:012d}" for n in count())


def path_of(session: Session) -> list[Item]:
    return list(session.tree.items(session.threads["main"].tip))


def as_is(path: list[Item]) -> list[SentBlock]:
    return [SentBlock(item, at) for at, item in enumerate(path)]


def resumed(data: bytes, path: list[Item], sent: list[SentBlock]) -> ResumedFile:
    made = ordered(data, path, sent)
    assert claude_code_faults(made.data, data, NEW) == []
    return made


def ordered(data: bytes, path: list[Item], sent: list[SentBlock], **more: Any) -> ResumedFile:
    return resume(ResumeOrder(source=data, path=path, sent=sent, ids=chain([NEW], ids()), now=0.0, **more))


def shown(items: list[Item]) -> list[str]:
    return [f"{item.place.role} {item.block.digest}" for _, item in recorded_items(enumerate(items))]


def context_of(data: bytes) -> list[str]:
    return shown(path_of(read(data).session))


def parallel() -> bytes:
    script = Script()
    script.user("fix the shop")
    first, second = script.assistant(tool_use("t1", path="a.py"), tool_use("t2", path="b.py"), id="msg_1")
    script.result("t1", "one", parent=first)
    script.result("t2", "two", parent=second)
    script.assistant(thinking("hm"), text("Both read."), id="msg_2", stop="end_turn")
    script.loose("file-history-snapshot", messageId="u1", snapshot={})
    script.user("and now?")
    script.assistant(text("Done."), id="msg_3", stop="end_turn")
    return script.dump()


def test_as_it_is_every_record_stays_byte_for_byte() -> None:
    data = parallel()
    path = path_of(read(data).session)
    made = resumed(data, path, as_is(path))
    session = json.loads(data.splitlines()[0])["sessionId"]
    assert unmarked(made.data) == data.replace(session.encode(), NEW.encode())
    assert made.lost == ()


def test_a_dropped_block_leaves_the_chain_whole() -> None:
    data = parallel()
    path = path_of(read(data).session)
    at = next(n for n, item in enumerate(path) if item.block.value().get("text") == "Both read.")
    made = resumed(data, path, [one for one in as_is(path) if one.at != at])
    words = [part.get("text") for _, part in claude_code_context(made.data)]
    assert "Both read." not in words and words[-1] == "Done."
    assert len(untouched(made.data, data, NEW)) == len(data.splitlines()) - 4


def test_a_shortened_result_stands_in_its_record_and_the_clients_copy_with_it() -> None:
    script = Script()
    script.user("read")
    (uuid,) = script.assistant(tool_use("t1", path="a.py"), id="msg_1")
    script.result("t1", "long " * 50, parent=uuid, toolUseResult={"stdout": "long " * 50})
    data = script.dump()
    path = path_of(read(data).session)
    short = block.make("tool_result", {"type": "tool_result", "tool_use_id": "t1", "content": "long ..."})
    sent = [
        SentBlock(Item(short, item.place) if item.block.kind == "tool_result" else item, at)
        for at, item in enumerate(path)
    ]
    made = resumed(data, path, sent)
    assert b"long long" not in made.data
    assert claude_code_context(made.data)[-1] == ("user", short.value())


def test_a_summary_stands_for_a_turn_and_names_come_from_the_ids() -> None:
    data = parallel()
    path = path_of(read(data).session)
    cut = next(n for n, item in enumerate(path) if item.block.value().get("text") == "and now?")
    note = Item(block.text("Earlier: both files were read."), Place("messages", "user", "summary"))
    sent = [SentBlock(note), *(one for one in as_is(path) if (one.at or 0) >= cut)]
    made = resumed(data, path, sent)
    assert [part["text"] for _, part in claude_code_context(made.data)] == [
        "Earlier: both files were read.",
        "and now?",
        "Done.",
    ]
    first = json.loads(made.data.splitlines()[0])
    assert first["uuid"] == next(ids()) and first["parentUuid"] is None and first["sessionId"] == NEW


def test_until_a_line_nothing_later_stands_in_the_file() -> None:
    data = parallel()
    session = read(data).session
    last = session.calls["msg_3"]
    path = list(session.tree.items(last.raw_head))
    made = ordered(data, path, as_is(path), until=last.line)
    assert claude_code_context(made.data)[-1] == ("user", {"type": "text", "text": "and now?"})


def compacted() -> bytes:
    """A session whose last answer before the compaction is kept word for word, and told again as a request."""
    script = Script(version="2.1.330")
    script.user("fix the shop")
    kept = script.assistant(thinking("hm"), text("Fixed."), text("All of it."), id="msg_1", stop="end_turn")
    script.tip = None
    anchor = f"{script.prefix}{script.count + 2}"
    script.put(
        "system",
        subtype="compact_boundary",
        logicalParentUuid=kept[-1],
        compactMetadata={
            "trigger": "manual",
            "preTokens": 900,
            "preservedSegment": {"headUuid": kept[0], "anchorUuid": anchor, "tailUuid": kept[-1]},
            "preservedMessages": {"anchorUuid": anchor, "uuids": kept, "allUuids": kept},
        },
    )
    script.user("This session is being continued ...", isCompactSummary=True)
    answer = [thinking("hm"), text("Fixed."), text("All of it.")]
    script.loose("api-request-blob", hash="h", message={"role": "assistant", "content": answer})
    script.user("and now?")
    script.assistant(text("Done."), id="msg_2", stop="end_turn")
    return script.dump()


@pytest.mark.parametrize("gone", [["hm"], ["Fixed."], ["All of it."], ["hm", "Fixed."], ["hm", "Fixed.", "All of it."]])
def test_what_a_compaction_kept_is_changed_where_it_stands(gone: list[str]) -> None:
    data = compacted()
    path = path_of(read(data).session)
    value = [item.block.value() for item in path]
    sent = [
        one for one in as_is(path) if value[one.at or 0].get("thinking", value[one.at or 0].get("text")) not in gone
    ]
    made = resumed(data, path, sent)
    assert context_of(made.data) == shown([one.item for one in sent]) and made.lost == ()
    boundary = next(one for one in map(json.loads, made.data.splitlines()) if one["type"] == "system")
    there = {one.get("uuid") for one in map(json.loads, made.data.splitlines())}
    named = boundary["compactMetadata"].get("preservedMessages", {"uuids": []})["uuids"]
    assert set(named) <= there and len(named) == 3 - len(gone)


@given(st.integers(0, 2**32), st.sets(st.integers(0, 200)), st.sets(st.integers(0, 200), max_size=4))
@settings(deadline=None, max_examples=60)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(seed: int, drop: set[int], notes: set[int]) -> None:
    data = generate(24, seed % 7, bytes_per_message=200, compactions=seed % 2)
    path = path_of(read(data).session)
    sent: list[SentBlock] = []
    turns = 0
    for at, item in enumerate(path):
        whole = at in drop and item.block.kind not in ("tool_use", "tool_result", HEADER)
        if item.block.kind == "text" and item.place.role == "user" and turns in notes:
            sent.append(SentBlock(Item(block.text(f"note {at}"), Place("messages", "user"))))
        turns += item.block.kind == "text" and item.place.role == "user"
        if not whole:
            sent.append(SentBlock(item, at))
    made = resumed(data, path, sent)
    assert context_of(made.data) == shown([one.item for one in sent])
    parts = [f"{role} {block.from_part(part).digest}" for role, part in claude_code_context(made.data)]
    assert sorted(parts) == sorted(context_of(made.data))


@pytest.mark.parametrize("file", corpus_params("claude_code", "*.jsonl"))
def test_recordings_resume(file: Path) -> None:
    data = file.read_bytes()
    session = read(data).session
    path = path_of(session) if "main" in session.threads else []
    if not path:
        pytest.skip("holds no context")
    sent = [one for one in as_is(path) if one.item.block.kind not in ("thinking", "redacted_thinking")]
    made = ordered(data, path, sent)
    assert claude_code_faults(made.data, data, NEW) == []
    unheld = sum("another form" in one for one in made.lost)
    if not unheld:
        assert context_of(made.data) == shown([one.item for one in sent])


@pytest.mark.parametrize("file", corpus_params("clients", "claude-code-*/*/????????-*.jsonl"))
@pytest.mark.parametrize("every", [2, 5])
def test_recordings_of_todays_clients_resume(file: Path, every: int) -> None:
    data = file.read_bytes()
    path = path_of(read(data).session)
    dropped = {at for at, item in enumerate(path) if item.block.kind == "text" and not at % every}
    dropped = {at for at in dropped if path[at].place.section == "messages"}
    sent = [one for one in as_is(path) if one.at not in dropped]
    made = ordered(data, path, sent, input_tokens=1234)
    assert claude_code_faults(made.data, data, NEW) == [] and made.lost == ()
    before, after = words_of(data), words_of(made.data)
    gone = Counter(said_by(path[at]) for at in dropped)
    assert after == Counter({words: n - gone[words] for words, n in before.items() if n > gone[words]})


def said_by(item: Item) -> str:
    return str(item.block.value().get("text")).strip()


def words_of(data: bytes) -> Counter[str]:
    """What the client would resume with, and how often."""
    parts = [part for _, part in claude_code_context(data)]
    return Counter(part["text"].strip() if part["type"] == "text" else json.dumps(part) for part in parts)
