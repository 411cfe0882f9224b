"""Cline: contexts as they are sent, a compaction, another mode, subagents' files beside the session's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.tree import Tree
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.formats.cline.session import ClineReader, is_companion, usage
from ctxtui.transcripts.registry import describe_file
from tests.cases.cline import ID, asked, result, said, session, text, use
from tests.transcripts.reading import as_bytes, calls, law_2, read, shown, survives_cuts, survives_values

NAME = f"{ID}.messages.json"
DISPLAYED = said("e1", text("Cannot connect")) | {"metadata": {"displayOnly": True, "displayRole": "error"}}


def bodies(found: Any, call: Any) -> list[Any]:
    """The blocks of a call's messages, without headers and front."""
    items = found.tree.items(call.raw_head)
    return [i.block.value() for i in items if i.place.section == "messages" and i.block.kind != "header"]


def test_calls_and_usage() -> None:
    found = read(as_bytes(session()), NAME)
    first, second = calls(found)
    assert (first.id, first.model, first.provider) == ("m1", "claude-sonnet-4-5", "anthropic")
    assert first.usage and (first.usage.fresh, first.usage.cache_read, first.usage.write_5m) == (50, 40, 60)
    assert first.usage.output == 9 and (first.started, first.ended) == (1_796_029_490.66, 1_796_029_497.245)
    assert [kind for _, _, kind in shown(found, first.raw_head)] == ["text", "header", "text"]
    assert bodies(found, second)[0]["text"] == "Which?" and bodies(found, second)[-1]["content"] == '[{"query":"a"}]'
    assert (found.about.title, found.about.version, found.about.source) == ("Which?", "3.0.65", "cline")


def test_writes_of_openai_live_as_long_as_openai_says() -> None:
    (call,) = calls(read(as_bytes(session(asked("Hi"), said("m1", text("a"), provider="openai-native"))), NAME))
    assert call.usage and (call.usage.write_5m, call.usage.write_30m) == (0, 60)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ({"inputTokens": 10, "cacheReadTokens": 8, "cacheWriteTokens": 4, "outputTokens": 0}, (0, 8, 4, 0)),
        ({"outputTokens": 3}, (0, 0, 0, 3)),
        ({"cacheReadTokens": 8}, None),
        (None, None),
    ],
)
def test_usage_is_never_negative_and_none_without_tokens(report: Any, expected: tuple[int, ...] | None) -> None:
    used = usage(report, "gemini")
    assert (used and (used.fresh, used.cache_read, used.write_5m, used.output)) == expected


def test_parts_are_as_they_are_sent_and_unknown_kinds_are_kept() -> None:
    command = '<user_command slug="review" mode="act">look at it</user_command>'
    image = {"type": "image", "data": "iVBORw0K", "mediaType": "image/png"}
    unknown = {"type": "audio", "data": "x"}
    file = {"type": "file", "path": "a.txt", "content": "one"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    failed = result("t1", "no such file", is_error=True)
    sent = (
        {"role": "user", "content": "plain"},
        {"role": "user", "content": [text(command), file, image, unknown]},
        said("m1", thought, use("t1"), provider="anthropic"),
        failed,
        said("m2", text("a"), provider="gemini"),
    )
    found = read(as_bytes(session(*sent)), NAME)
    last = calls(found)[-1]
    plain, review, attached, picture, kept, signed, _, answer = bodies(found, last)
    assert last.provider == "google" and (plain["text"], review["text"]) == ("plain", "look at it")
    assert attached["text"] == '<file_content path="a.txt">\none\n</file_content>'
    assert picture["source"]["data"] == "iVBORw0K" and (kept, signed) == (unknown, thought)
    assert answer["is_error"] is True and found.threads["main"].tip == last.response_head


def test_thinking_is_an_answers_own_where_the_provider_gets_none_back() -> None:
    thought = {"type": "thinking", "thinking": "hm"}
    for provider, kept in (("anthropic", 0), ("openai-native", 0), ("deepseek", 1)):
        sent = (asked("Hi"), said("m1", thought, text("a"), provider=provider), asked("And?"), said("m2", text("b")))
        found = read(as_bytes(session(*sent)), NAME)
        first, second = calls(found)
        assert [i.block.kind for i in found.tree.items(first.response_head, first.raw_head)][1] == "thinking"
        assert sum(part["type"] == "thinking" for part in bodies(found, second)) == kept


def test_results_are_as_they_are_sent() -> None:
    picture = {"type": "image", "data": "iVBORw0K", "mediaType": "image/png"}
    big = picture | {"data": "iVBORw0K" * 2000}
    seen = [{"query": "p", "result": [text("Successfully read image"), picture], "success": True}]
    long = "x" * 5000 + "y" * 5000
    contents: list[Any] = ["plain", seen, [text("part"), big], [{"result": long}], long]
    messages: list[Any] = [asked("Hi"), said("m1", *(use(f"t{n}") for n in range(5)))]
    messages += [result(f"t{n}", content) for n, content in enumerate(contents)]
    found = read(as_bytes(session(*messages, said("m2", text("b")))), NAME)
    items = list(found.tree.items(calls(found)[-1].raw_head))
    plain, image, parts, nested, cut = [i.block.value()["content"] for i in items if i.block.kind == "tool_result"]
    assert sum(i.block.kind == "header" for i in items) == 3, "results of parallel calls are one message"
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}
    said_of = '[{"query":"p","result":["Successfully read image"],"success":true}]'
    assert (plain, image) == ("plain", [text(said_of), block])
    assert parts[0] == text("part") and parts[1]["source"]["data"] == big["data"], "a picture is never cut"
    assert len(cut) <= 8000 and "\n\n...[truncated 2032 chars]...\n\n" in cut and cut[-1] == "y"
    assert json.loads(nested) == [{"result": cut}]


def test_what_is_only_displayed_is_not_sent() -> None:
    status = DISPLAYED | {"metadata": {"displayOnly": True}}
    found = read(as_bytes(session(asked("Hi"), DISPLAYED, asked("Again"), said("m1", text("a")), status)), NAME)
    (call,) = calls(found)
    assert [part["text"] for part in bodies(found, call)] == ["Hi", "Again"]
    noted = [(one.kind, one.text) for one in found.happenings]
    assert noted == [("api error", "Cannot connect"), ("note", "Cannot connect")]
    assert [one.after for one in found.happenings] == ["", call.id]


def test_the_system_prompt_is_the_last_modes() -> None:
    sent = (
        asked("1"),
        said("m1", text("a")),
        asked("2", "plan"),
        said("m2", text("b")),
        asked("3"),
        said("m3", text("c")),
    )
    found = read(as_bytes(session(*sent)), NAME)
    sections = [[i.place.section for i in found.tree.items(call.raw_head)] for call in calls(found)]
    assert [("system" in names) for names in sections] == [True, False, True]
    assert [part["text"] for part in bodies(found, calls(found)[-1])] == ["1", "a", "2", "b", "3"]


def folder_with(tmp_path: Path, **beside: Any) -> Any:
    """A session's folder, with other files beside the messages, as it is opened."""
    questions = asked("1"), said("m1", text("a")), asked("2"), said("m2", text("b"))
    main = session(*questions, DISPLAYED, asked("3"), said("m3", text("c")))
    for name, value in {NAME: main, **beside}.items():
        (tmp_path / name).write_bytes(as_bytes(value))
    return load(tmp_path / NAME).session


@pytest.mark.parametrize("last", ["id:m2", "id:gone"])
def test_after_a_compaction_the_context_is_the_compacted_one(tmp_path: Path, last: str) -> None:
    summary = {"role": "user", "content": [text("Context summary: 1, 2")], "metadata": {"kind": "compaction_summary"}}
    compaction = {"conversation_id": ID, "source_message_count": 4, "source_last_message_key": last}
    beside = {f"{ID}.compaction.json": {**compaction, "messages": [summary, said("m2", text("b"))]}}
    found = folder_with(tmp_path, **beside)
    first, second, third = calls(found)
    assert (first.epoch.number, second.epoch.number, third.epoch.number) == (1, 1, 2)
    assert [part["text"] for part in bodies(found, second)] == ["1", "a", "2"]
    assert [part["text"] for part in bodies(found, third)] == ["Context summary: 1, 2", "b", "3"]
    marks = [item.place.mark for item in found.tree.items(third.raw_head) if item.place.mark]
    assert marks == ["summary", "summary"], "its header and its text"
    assert len(found.calls) == 3 and third.epoch.start == "compaction"
    assert len(found.happenings) == 1, "an error before it is not reported again"


def test_files_beside_a_session(tmp_path: Path) -> None:
    sub = f"{ID}__agent_7"
    origin = {"sessionId": sub, "parentThreadId": ID, "subagent": "agent_7"}
    of_agent = session(asked("read"), said("s1", text("done")), agent="subagent", id_=sub, origin=origin)
    strange = session(asked("read"), said("s2", text("done")), id_="2_b", origin={"parentThreadId": "2_b"})
    details = {"session_id": ID, "cwd": "/shop", "messages_path": "m", "metadata": {"title": "Own title"}}
    found = folder_with(
        tmp_path,
        **{f"{ID}.json": details, "agent_7.messages.json": of_agent, "agent_8.messages.json": strange},
    )
    assert (found.about.cwd, found.about.title) == ("/shop", "Own title")
    assert {name: thread.parent for name, thread in found.threads.items()} == {"main": "", "agent_7": "main"}
    assert found.threads["agent_7"].label == "agent_7"
    assert [call.id for call in calls(found, "agent_7")] == ["s1"] and len(found.calls) == 4
    assert describe_file(as_bytes(details)) == "a Cline session without any message of a model"
    (alone,) = load(tmp_path / "agent_7.messages.json").session.calls
    assert alone == "s1"


def test_a_file_of_another_session_is_no_part_of_this_one() -> None:
    main, other = as_bytes(session()), as_bytes(session(id_="2_b", origin={"parentThreadId": "2_b"}))
    assert not is_companion(main, other) and not is_companion(other, main)
    reader = ClineReader(Tree())
    reader.feed(main)
    assert reader.settle()
    part = reader.part("agent_8.messages.json")
    part.feed(other)
    assert part.settle() == []


def test_laws() -> None:
    data = as_bytes(session())
    law_2(data, NAME)
    survives_cuts(data, NAME)
    survives_values(session(), NAME)
