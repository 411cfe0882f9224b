"""Rollouts of other ages and in a bad state."""

from __future__ import annotations

import json

from tests.cases.codex import Script, dump
from tests.cases.codex_odd.turns import a_turn, begun, odd


@odd
def forked() -> bytes:
    """A fork: its own session first, then the record and the history of what it came from, then its own turn."""
    lines = [json.loads(one) for one in a_turn().splitlines()]
    script = Script(session="019eef3d-0000-7000-8000-00000000000f")
    script.meta(forked_from_id=lines[0]["payload"]["id"])
    script.records += lines
    script.total = lines[-2]["payload"]["info"]["total_token_usage"]
    script.user("and now?")
    script.says("More.")
    script.counts(10_300, 10_112, 9)
    return script.dump()


@odd
def without_counts() -> bytes:
    """No token counts at all: an answer to a tool call ends a call."""
    script = begun(Script())
    script.calls("call_00000000000001")
    script.output("call_00000000000001", "a.py")
    script.says("One file.")
    script.user("thanks")
    script.says("Welcome.")
    return script.dump()


@odd
def bare_items() -> bytes:
    """The files of 2025: a first line without type, then items as they are."""
    first = {
        "id": "0196aaaa-0000-7000-8000-000000000001",
        "timestamp": "2025-05-07T17:24:21.123Z",
        "instructions": None,
    }
    lines = map(json.loads, without_counts().splitlines())
    items = [record["payload"] for record in lines if record["type"] == "response_item"]
    return dump([first, {"record_type": "state"}, *items])


@odd
def one_object() -> bytes:
    """The first rollouts of all: one JSON object with the items in it."""
    items = [json.loads(one) for one in bare_items().splitlines()[2:]]
    session = {"timestamp": "2025-04-20T10:00:00.000Z", "id": "abc", "instructions": ""}
    return json.dumps({"session": session, "items": items}, indent=2).encode()


@odd
def broken_lines() -> bytes:
    """A torn item, a torn event, a lone surrogate."""
    script = begun(Script())
    lines = dump(script.records).splitlines()
    torn = lines[-2][:-40]
    surrogate = lines[-2].replace(b"list the files", rb"list \ud83d files")
    return b"\n".join([*lines[:-2], torn, lines[-1][:-10], surrogate]) + b"\n"
