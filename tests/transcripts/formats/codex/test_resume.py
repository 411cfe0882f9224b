"""Codex rollouts written so that the client can resume them, held against a reader of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import block, block_content
from ctxtui.core.block import HEADER, TOOL, Item, Place
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.transcripts.formats.codex.resume import file_name, resume, write_session
from ctxtui.transcripts.kit.resume import UNANSWERED, ResumedFile, ResumeOrder, SentBlock, recorded_items
from tests.cases.codex import Script, generate
from tests.cases.codex_current import META, Client, turns
from tests.corpus import corpus_params
from tests.transcripts.driving import read
from tests.transcripts.resumable import codex_context, codex_faults, records

NEW = "019f0000-0000-7000-8000-00000000abcd"


def path_of(session: Session) -> list[Item]:
    return list(session.tree.items(session.threads["main"].tip))


def as_is(path: list[Item]) -> list[SentBlock]:
    return [SentBlock(item, at) for at, item in enumerate(path)]


def resumed(data: bytes, path: list[Item], sent: list[SentBlock]) -> ResumedFile:
    made = write_session(ResumeOrder(source=data, path=path, sent=sent, ids=iter(()), now=0.0), NEW)
    assert codex_faults(made.data, data, NEW) == []
    return made


def shown(items: list[Item]) -> list[str]:
    return [f"{item.place.role} {item.block.digest}" for _, item in recorded_items(enumerate(items))]


def spoken(items: list[Item]) -> list[str]:
    """The blocks as a person reads them: a text put in is spelled as the Responses API spells texts."""
    return [f"{item.place.role} {block_content.read(item.block).text}" for _, item in recorded_items(enumerate(items))]


def small() -> Script:
    script = Script()
    script.meta()
    script.context()
    script.user("fix the shop")
    script.calls("call_0000000000000001")
    script.output("call_0000000000000001", "long " * 40)
    script.says("Fixed.")
    script.counts(1000, 0, 20)
    script.user("and now?")
    script.says("Done.")
    return script


def test_as_it_is_every_line_but_the_first_stays_byte_for_byte() -> None:
    data = small().dump()
    path = path_of(read(data).session)
    made = resumed(data, path, as_is(path))
    assert made.data.split(b"\n")[1:] == data.split(b"\n")[1:]
    assert made.lost == ()


def test_a_dropped_pair_goes_with_its_lines_and_a_shortened_text_stays_in_its_own() -> None:
    data = small().dump()
    path = path_of(read(data).session)
    sent = [one for one in as_is(path) if not one.item.block.kind.startswith("function_call")]
    sent = [
        SentBlock(Item(block.make("output_text", {"type": "output_text", "text": "Ok."}), one.item.place), one.at)
        if one.item.block.value().get("text") == "Fixed."
        else one
        for one in sent
    ]
    made = resumed(data, path, sent)
    assert [item["content"][0]["text"] for item in codex_context(made.data)] == [
        "fix the shop",
        "Ok.",
        "and now?",
        "Done.",
    ]


def test_a_prompt_after_the_last_answer_is_named_as_lost() -> None:
    script = small()
    script.user("and then?")
    data = script.dump()
    path = path_of(read(data).session)
    end = max(at for at, item in enumerate(path) if item.place.role == "assistant") + 1
    made = write_session(ResumeOrder(source=data, path=path, sent=as_is(path), ids=iter(()), now=0.0, end=end), NEW)
    assert codex_context(made.data)[-1]["content"][0]["text"] == "Done." and made.lost == (UNANSWERED,)
    assert b"and then?" not in made.data, "the client would display it"


def test_a_note_is_a_line_of_its_own() -> None:
    data = small().dump()
    path = path_of(read(data).session)
    at = next(n for n, item in enumerate(path) if item.block.value().get("text") == "and now?")
    note = SentBlock(Item(block.text("Mind the gap."), Place("messages", "user")))
    made = resumed(data, path, [*as_is(path)[: at - 1], note, *as_is(path)[at - 1 :]])
    words = [item["content"][0]["text"] for item in codex_context(made.data)[3:]]
    assert words == ["Fixed.", "Mind the gap.", "and now?", "Done."]


def test_what_a_compaction_kept_is_changed_inside_it() -> None:
    script = small()
    kept = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix the shop"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Summary: fixed."}]},
    ]
    script.put("compacted", {"message": "", "replacement_history": kept})
    script.user("go on")
    data = script.dump()
    path = path_of(read(data).session)
    sent = [one for one in as_is(path) if one.item.block.value().get("text") != "Summary: fixed."]
    made = resumed(data, path, sent)
    assert [item["content"][0]["text"] for item in codex_context(made.data)] == ["fix the shop", "go on"]


@given(st.integers(0, 6), st.sets(st.integers(0, 120)), st.sets(st.integers(0, 6), max_size=3))
@settings(deadline=None, max_examples=60)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(seed: int, drop: set[int], notes: set[int]) -> None:
    data = generate(40, seed=seed)
    path = path_of(read(data).session)
    sent: list[SentBlock] = []
    turns = 0
    for at, item in enumerate(path):
        if item.block.kind == HEADER and item.place.role == "user":
            if turns in notes:
                sent.append(SentBlock(Item(block.text(f"note {at}"), Place("messages", "user"))))
            turns += 1
        if at not in drop or item.block.kind == HEADER or item.place.section == "system" or "call" in item.block.kind:
            sent.append(SentBlock(item, at))
    made = resumed(data, path, sent)
    found = path_of(read(made.data).session)
    assert spoken(found) == spoken([one.item for one in sent])


@pytest.mark.parametrize("file", corpus_params("codex", "*.jsonl"))
def test_recordings_resume(file: Path) -> None:
    data = file.read_bytes()
    session = read(data, name=file.name).session
    path = path_of(session) if "main" in session.threads else []
    if not path:
        pytest.skip("holds no context")
    sent = [one for one in as_is(path) if one.item.block.kind != "reasoning"]
    try:
        made = write_session(ResumeOrder(source=data, path=path, sent=sent, ids=iter(()), now=0.0), NEW)
    except CtxtuiError as error:
        assert "first format" in str(error)
        return
    if not made.lost:
        assert shown(path_of(read(made.data, name=file.name).session)) == shown([one.item for one in sent])


def test_its_name_is_the_clients() -> None:
    assert file_name(NEW, 1_782_129_600.9) == f"rollout-2026-06-22T12-00-00-{NEW}.jsonl"


def today() -> Client:
    """Today's client, which numbers its lines."""
    client = turns(Client())
    for number, record in enumerate(client.records):
        stamp = record.pop("timestamp")
        kept = dict(record)
        record.clear()
        record.update({"timestamp": stamp, "ordinal": number, **kept})
    return client


def ordered(data: bytes, drop: Callable[[Item], bool], input_tokens: int | None = 700) -> ResumedFile:
    """The file that is made when the blocks that `drop` names are to go."""
    path = path_of(read(data).session)
    sent = [one for one in as_is(path) if not drop(one.item)]
    ids = iter(["9b2f31f0-4c1d-4b0e-9f0a-0123456789ab"])
    at = 1_782_129_600.9
    order = ResumeOrder(source=data, path=path, sent=sent, ids=ids, now=at, input_tokens=input_tokens, answer_tokens=40)
    return resume(order)


def nothing(item: Item) -> bool:
    return False


def is_tool(name: str) -> Callable[[Item], bool]:
    return lambda item: item.block.kind == TOOL and f'"name":"{name}"'.encode() in item.block.body


def test_the_session_is_named_as_the_client_names_its_own() -> None:
    made = ordered(today().dump(), nothing)
    assert UUID(made.id).version == 7 and UUID(made.id).variant == RFC_4122
    assert UUID(made.id).int >> 80 == 1_782_129_600_900, "it begins with its time in milliseconds"
    assert (made.name, made.folder) == (f"rollout-2026-06-22T12-00-00-{made.id}.jsonl", "2026/06/22")
    meta = records(made.data)[0]["payload"]
    assert meta["id"] == meta["session_id"] == made.id


def test_lines_stay_numbered_without_a_gap() -> None:
    data = today().dump()
    made = ordered(data, lambda item: "custom_tool" in item.block.kind)
    assert codex_faults(made.data, made.data, made.id) == []
    assert len(records(made.data)) < len(records(data))


def test_one_tool_of_a_namespace_goes_and_the_others_stay_one_item() -> None:
    data = today().dump()
    made = ordered(data, is_tool("wait"))
    (item,) = [one for one in codex_context(made.data) if one["type"] == "additional_tools"]
    names = [[tool["name"] for tool in one.get("tools", [one])] for one in item["tools"]]
    assert names == [["exec"], ["sleep"], ["plain"], []]


def test_what_the_client_says_of_parts_goes_with_them() -> None:
    made = ordered(today().dump(), lambda item: b"<skills_instructions>" in item.block.body)
    (message,) = [one for one in codex_context(made.data) if "<permissions" in str(one.get("content"))]
    assert message[META]["content_item_kinds"] == ["permissions.instructions"]
    assert len(message["content"]) == 1 and message[META]["turn_id"] == "t"


def usage_lines(data: bytes) -> list[dict[str, Any]]:
    found = [one for one in records(data) if one["type"] == "token_usage_record"]
    return found + [one for one in records(data) if one["payload"].get("type") == "token_count"]


def test_the_last_answer_has_the_new_size_and_reports_behind_the_change_go() -> None:
    data = today().dump()
    made = ordered(data, is_tool("wait"))
    (count,) = usage_lines(made.data)
    last = count["payload"]["info"]["last_token_usage"]
    assert (last["input_tokens"], last["output_tokens"], last["total_tokens"]) == (700, 40, 740)
    assert count["payload"]["info"]["total_token_usage"]["total_tokens"] == 0, "the new session has used nothing yet"
    assert count["payload"]["info"]["model_context_window"] == 258_400
    calls = read(made.data).session.thread_calls()
    assert [call.usage for call in calls] == [None, None, None]
    assert [call.estimated_input for call in calls] == [None, None, 700]
    assert usage_lines(ordered(data, is_tool("wait"), None).data) == []
    assert usage_lines(ordered(data, nothing).data) == usage_lines(data), "what was not changed was reported truly"


def test_reports_before_the_change_stay() -> None:
    made = ordered(today().dump(), lambda item: b"Small." in item.block.body)
    calls = read(made.data).session.thread_calls()
    assert [call.usage and call.usage.input for call in calls] == [900, 1_000, None]
    assert calls[-1].estimated_input == 700


def test_what_stands_beside_a_changed_history_goes() -> None:
    client = turns(Client())
    client.compact_here(1_180)
    compacted = next(one["payload"] for one in client.records if one["type"] == "compacted")
    compacted.update(retained_context={"user_messages": [{"text": "list"}]}, replacement_history_metadata=[{}])
    client.answer("Going on.", 700, 0)
    data = client.dump()
    kept = next(one["payload"] for one in records(ordered(data, nothing).data) if one["type"] == "compacted")
    assert "retained_context" in kept
    changed_one = ordered(data, lambda item: b"list" in item.block.body)
    made = next(one["payload"] for one in records(changed_one.data) if one["type"] == "compacted")
    assert not {"retained_context", "replacement_history_metadata"} & made.keys()
    assert "list</b>" not in str(codex_context(changed_one.data))


def test_a_repeated_session_meta_has_the_new_id_too() -> None:
    client = turns(Client())
    client.records.append(client.records[0])
    made = ordered(client.dump(), nothing)
    assert {one["payload"]["id"] for one in records(made.data) if one["type"] == "session_meta"} == {made.id}
