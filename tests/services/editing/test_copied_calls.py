"""What ctxtui writes for a tool to resume says itself which of its calls are copies; what the tool adds is none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core.session import Session
from ctxtui.services.editing.exporting import copy_session, prepare_path, write_beside
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.targets import TARGETS
from tests.cases import client_homes, cline, continue_cli, copilot_cli, goose, kimi_code, opencode, pi, qwen_code
from tests.services.lookalike import claude_code, codex


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def claude_code_more(data: bytes) -> bytes:
    record = {key: value for key, value in lines(data)[-1].items() if key != "copiedBy"}
    record |= {"uuid": "more", "parentUuid": record["uuid"], "message": {**record["message"], "id": "msg_more"}}
    return data + json.dumps(record).encode() + b"\n"


def codex_more(data: bytes) -> bytes:
    later = b"".join(codex(1).splitlines(keepends=True)[1:])
    return data + re.sub(rb'("timestamp": ?")20', rb"\g<1>21", later)


def pi_more(data: bytes) -> bytes:
    answer = next(one for one in reversed(lines(data)) if one.get("copiedBy"))
    record = {key: value for key, value in answer.items() if key != "copiedBy"}
    record |= {"id": "more", "parentId": lines(data)[-1]["id"]}
    record["message"] = {**record["message"], "responseId": "more", "timestamp": 1_999_999_999_000}
    return data + json.dumps(record).encode() + b"\n"


def opencode_more(data: bytes) -> bytes:
    whole = json.loads(data)
    last = next(one for one in reversed(whole["messages"]) if one["info"]["role"] == "assistant")
    whole["messages"].append({**last, "info": {**last["info"], "id": "msg_zzzzzzzzzzzz"}})
    return json.dumps(whole).encode()


def aider_more(data: bytes) -> bytes:
    return data + b"\n# aider chat started at 2027-01-01 10:00:00\n\n#### more\n\nMore.\n"


def kimi_code_more(data: bytes) -> bytes:
    script = kimi_code.Script()
    script.turn = 7
    script.user("more")
    script.answer(kimi_code.text("More."))
    return data + b"".join(script.dump().splitlines(keepends=True)[3:])


def qwen_code_more(data: bytes) -> bytes:
    answer = next(one for one in reversed(lines(data)) if one.get("copiedBy"))
    record = {key: value for key, value in answer.items() if key != "copiedBy"}
    return data + json.dumps(record | {"uuid": "more", "parentUuid": lines(data)[-1]["uuid"]}).encode() + b"\n"


def continue_more(data: bytes) -> bytes:
    session = json.loads(data)
    session["history"] += [continue_cli.user("more"), continue_cli.answer("More.", 70)]
    return json.dumps(session).encode()


def goose_more(data: bytes) -> bytes:
    session = json.loads(data)
    session["conversation"] += goose.turn(9)
    return json.dumps(session).encode()


def cline_more(data: bytes) -> bytes:
    session = json.loads(data)
    session["messages"] += [cline.asked("more"), cline.said("more", cline.text("More."))]
    return json.dumps(session).encode()


def copilot_cli_more(data: bytes) -> bytes:
    script = copilot_cli.Script()
    script.ask("more")
    script.answer("more", "More.", used=70)
    return data + b"".join(line + b"\n" for line in script.dump().splitlines()[2:])


CASES = {
    "claude-code": ("a.jsonl", lambda: claude_code(2), claude_code_more),
    "codex": ("rollout.jsonl", lambda: codex(3), codex_more),
    "pi": ("pi.jsonl", lambda: pi.shop().dump(), pi_more),
    "opencode": ("export.json", lambda: opencode.shop().dump(), opencode_more),
    "kimi-code": ("wire.jsonl", lambda: kimi_code.shop().dump(), kimi_code_more),
    "qwen-code": ("chat.jsonl", lambda: qwen_code.shop().dump(), qwen_code_more),
    "aider": (".aider.chat.history.md", client_homes.aider, aider_more),
    "goose": ("export.json", lambda: goose.dump(goose.shop()), goose_more),
    "continue-cli": ("session.json", lambda: continue_cli.dump(continue_cli.shop()), continue_more),
    "cline": (f"{cline.ID}.messages.json", lambda: cline.dump(cline.shop()), cline_more),
    "copilot-cli": ("events.jsonl", lambda: copilot_cli.shop().dump(), copilot_cli_more),
}
BESIDE = {"cline": {f"{cline.ID}.json": cline.dump(cline.details())}}
"""What else is in the folder of a session."""


def copies(session: Session) -> list[bool]:
    return [call.is_copy for call in session.calls.values()]


def test_there_is_a_case_of_every_target() -> None:
    assert set(CASES) == set(TARGETS)


@pytest.mark.parametrize("form", CASES)
def test_calls_of_a_resumable_file_are_copies_and_those_that_are_added_are_not(form: str, tmp_path: Path) -> None:
    name, data, more = CASES[form]
    source, made, again = (tmp_path / folder / name for folder in ("source", "made", "again"))
    for path in (source, made, again):
        path.parent.mkdir()
    source.write_bytes(data())
    for beside, content in BESIDE.get(form, {}).items():
        source.with_name(beside).write_bytes(content)
    session = load(source).session
    assert not any(copies(session))
    copied = copy_session(session, choose_call(session), form, source)
    written = copied.data
    made = prepare_path(made.parent, copied) if copied.beside else made
    made.write_bytes(written)
    write_beside(made, copied, source)
    first = load(made).session
    assert first.calls and all(copies(first)) and len(first.calls) == len(session.thread_calls())
    # A copy of the copy says the same.
    again.write_bytes(copy_session(first, choose_call(first), form, made).data)
    assert all(copies(load(again).session))
    made.write_bytes(more(written))
    found = copies(load(made).session)
    assert len(found) > len(first.calls) and all(found[: len(first.calls)]) and not any(found[len(first.calls) :])
