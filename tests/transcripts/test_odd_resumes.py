"""A session with a value of an odd type anywhere is written for its tool, or refused by name: never a fault."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from itertools import count
from typing import Any

import pytest

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.errors import CtxtuiError
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock
from ctxtui.transcripts.targets import TARGETS
from tests.cases import (
    claude_code_requests,
    cline,
    codex_current,
    continue_cli,
    copilot_cli,
    goose,
    kimi_code,
    opencode,
    pi,
    qwen_code,
)
from tests.cases.claude_code import Script, text, tool_use
from tests.sampling import few
from tests.transcripts.driving import read
from tests.transcripts.resuming import order, path_of, whole

ODD: tuple[Any, ...] = ({}, [], {"a": [1]}, ["a"], 7, None, True)


def claude_code() -> bytes:
    script = Script()
    script.user("fix the shop")
    (uuid,) = script.assistant(tool_use("t1", path="a.py"), id="msg_1")
    script.result("t1", "one", parent=uuid, toolUseResult={"stdout": "one"})
    script.loose("content-replacement", replacements=[{"toolUseId": "t1", "replacement": "short"}])
    script.loose("file-history-snapshot", messageId="u1", snapshot={})
    script.assistant(text("Done."), id="msg_2", stop="end_turn")
    script.user("and now?")
    return script.dump()


def opencode_export() -> bytes:
    session = json.loads(opencode.shop(1).dump())
    session["info"]["metadata"] = {"note": "one"}
    return json.dumps(session).encode()


def qwen_code_compaction() -> bytes:
    script = qwen_code.Script()
    script.compaction({"role": "user", "parts": [qwen_code.text("So far")]}, "and on")
    script.answer(qwen_code.call("c1"))
    script.result("c1", "one", parts=[{"inlineData": {"mimeType": "image/png", "data": "aGk="}}])
    script.answer(qwen_code.text("Done."))
    return script.dump()


def copilot() -> bytes:
    script = copilot_cli.shop(1)
    script.add("session.compaction_complete", success=True, summaryContent="so far")
    script.ask("On.")
    script.answer("c", "I send.", "t9")
    script.answer("s", "One.", parentToolCallId="t9")
    script.add("tool.execution_complete", toolCallId="t9", success=False, error={"message": "denied"})
    script.answer("d", "Well.")
    return script.dump()


SESSIONS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "claude-code": ("claude-code", claude_code),
    "claude-code with requests": ("claude-code", lambda: claude_code_requests.parallel().dump()),
    "codex": ("codex", lambda: codex_current.parent().dump()),
    "opencode": ("opencode", opencode_export),
    "pi": ("pi", lambda: pi.shop(1).dump()),
    "kimi-code": ("kimi-code", lambda: kimi_code.shop(1).dump()),
    "goose": ("goose", lambda: goose.dump(goose.shop(1))),
    "qwen-code": ("qwen-code", lambda: qwen_code.shop(1).dump()),
    "qwen-code with a compaction": ("qwen-code", qwen_code_compaction),
    "continue-cli": ("continue-cli", lambda: continue_cli.dump(continue_cli.shop(1))),
    "cline": ("cline", lambda: cline.dump(cline.shop(1))),
    "copilot-cli": ("copilot-cli", copilot),
}
ONE_VALUE = ("opencode", "goose", "continue-cli", "cline")
"""Targets whose sessions are one JSON."""
FAILED_IN_TEXT = ("kimi-code", "qwen-code")
"""Targets whose results say only in their text that they failed."""
BESIDE: dict[str, dict[str, Any]] = {"cline": {f"{cline.ID}.json": cline.details()}}
"""What else is in the folder of a session: JSON by name."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every member of `value`, however deep."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*path, step)
        yield from places(inner, (*path, step))


def with_value(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    changed = inner = deepcopy(value)
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = odd
    return changed


def write(target: str, data: bytes, beside: dict[str, Any] | None = None) -> None:
    """Write the session that `data` is, without its second block, for `target`; `beside` as in `BESIDE`."""
    session = read(data).session
    main = session.threads.get("main")
    if main is None:
        return
    path = list(session.tree.items(main.tip))
    sent = [SentBlock(item, at) for at, item in enumerate(path) if at != 2]
    ids = (f"{n:08x}-0000-4000-8000-{n:012x}" for n in count(1))
    files = {name: json.dumps(value).encode() for name, value in (beside or BESIDE.get(target, {})).items()}
    TARGETS[target].write(
        ResumeOrder(source=data, path=path, sent=sent, ids=ids, now=1e9, session=session.about.id, beside=files)
    )


@pytest.mark.parametrize("first", few(range(len(ODD))))
@pytest.mark.parametrize("name", SESSIONS)
def test_an_odd_value_anywhere_is_no_fault(name: str, first: int) -> None:
    target, make = SESSIONS[name]
    data = make()
    lines = [data.strip()] if target in ONE_VALUE else data.splitlines()
    write(target, b"\n".join(lines) + b"\n")
    faults = []
    for number, line in enumerate(lines):
        record = json.loads(line)
        for at, place in enumerate(places(record)):
            odd = ODD[(first + at + number) % len(ODD)]
            changed = [*lines[:number], json.dumps(with_value(record, place, odd)).encode(), *lines[number + 1 :]]
            try:
                write(target, b"\n".join(changed) + b"\n")
            except CtxtuiError:
                continue
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                faults.append(f"line {number + 1}, {place} = {odd!r}: {error!r}")
    assert faults == []


@pytest.mark.parametrize("target", BESIDE)
@pytest.mark.parametrize("first", few(range(len(ODD))))
def test_an_odd_value_in_a_file_beside_it_is_no_fault(target: str, first: int) -> None:
    data = SESSIONS[target][1]()
    for name, value in BESIDE[target].items():
        for at, place in enumerate(places(value)):
            changed = {**BESIDE[target], name: with_value(value, place, ODD[(first + at) % len(ODD)])}
            with suppress(CtxtuiError):
                write(target, data, changed)


def part(value: dict[str, Any], role: str = "user") -> SentBlock:
    return SentBlock(Item(block.from_part(value), Place("messages", role)))


def with_parts(name: str, *parts: SentBlock) -> ResumedFile:
    """The session `name` with `parts` at its end."""
    target, make = SESSIONS[name]
    data = make()
    beside = {file: json.dumps(value).encode() for file, value in BESIDE.get(target, {}).items()}
    return TARGETS[target].write(order(data, [*whole(data), *parts], beside=beside))


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "NEWDATA"}}
MEDIA: dict[str, dict[str, Any]] = {
    "an image": PICTURE,
    "an image at an address": {"type": "image", "source": {"type": "url", "url": "https://shop/NEWDATA.png"}},
    "a document": {"type": "document", "source": {**PICTURE["source"], "media_type": "application/pdf"}},
    "an image in a result": {"type": "tool_result", "tool_use_id": "new", "content": [PICTURE]},
}
NEW_CALL = part({"type": "tool_use", "id": "new", "name": "look", "input": {"path": "NEWDATA"}}, "assistant")


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("media", MEDIA)
def test_an_image_that_is_put_in_is_written_or_named_as_lost(name: str, media: str) -> None:
    file = with_parts(name, part(MEDIA[media]))
    assert (b"NEWDATA" in file.data) != any("an image or a document" in loss for loss in file.lost)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_call_that_is_put_in_is_written_with_its_result_or_named_as_lost(name: str) -> None:
    result = part({"type": "tool_result", "tool_use_id": "new", "content": "no such file", "is_error": True})
    file = with_parts(name, NEW_CALL, result)
    if SESSIONS[name][0] == "opencode":
        assert file.lost == ("an inserted tool call",) and b"NEWDATA" not in file.data
        return
    assert b"NEWDATA" in file.data and not any("call" in loss for loss in file.lost)
    made = [item.block.value() for item in path_of(read(file.data).session) if item.block.kind != block.HEADER][-2:]
    call, answer = made
    assert "NEWDATA" in json.dumps(call) and call.get("id", call.get("call_id")) == "new"
    assert answer.get("tool_use_id", answer.get("call_id")) == "new" and "no such file" in json.dumps(answer)
    if answer["type"] == "tool_result" and SESSIONS[name][0] not in FAILED_IN_TEXT:
        assert answer.get("is_error") is True


@pytest.mark.parametrize("name", [name for name in SESSIONS if SESSIONS[name][0] != "opencode"])
def test_calls_that_are_put_in_have_their_results_in_order(name: str) -> None:
    calls = [part({"type": "tool_use", "id": id_, "name": "look", "input": {}}, "assistant") for id_ in "xy"]
    results = [part({"type": "tool_result", "tool_use_id": id_, "content": f"of {id_}"}) for id_ in "xy"]
    file = with_parts(name, *calls, *results)
    made = [item.block.value() for item in path_of(read(file.data).session) if item.block.kind != block.HEADER][-4:]
    assert [value.get("id", value.get("call_id")) for value in made[:2]] == ["x", "y"]
    assert [value.get("tool_use_id", value.get("call_id")) for value in made[2:]] == ["x", "y"]
    assert [f"of {id_}" in json.dumps(value) for id_, value in zip("xy", made[2:], strict=True)] == [True, True]


@pytest.mark.parametrize("target", ONE_VALUE)
def test_of_a_cut_session_what_is_lost_is_named(target: str) -> None:
    data = SESSIONS[target][1]()
    data = data[: len(data) * 9 // 10]
    beside = {file: json.dumps(value).encode() for file, value in BESIDE.get(target, {}).items()}
    file = TARGETS[target].write(order(data, whole(data), beside=beside))
    assert any("cut off" in loss for loss in file.lost)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_damaged_session_is_no_fault(name: str) -> None:
    """Cut, with a byte that is no text, with a quote too many, with text after it."""
    target, make = SESSIONS[name]
    data = make()
    for at in range(len(data) // 9, len(data), len(data) // 9):
        for damaged in (data[:at], data[:at] + b"\xff" + data[at:], data[:at] + b'"' + data[at:]):
            with suppress(CtxtuiError):
                write(target, damaged)
    write(target, data + b"\nmore\n")
