"""An independent reader of resumable files: plain `json`, none of the house's own readers.

It follows the records as the client does and says what a client would trip over.
"""

from __future__ import annotations

import json
from typing import Any

Record = dict[str, Any]


def records(data: bytes) -> list[Record]:
    """The lines of a file; raises where one is no JSON object."""
    assert data.endswith(b"\n")
    found = [json.loads(line) for line in data.decode().split("\n")[:-1]]
    assert all(isinstance(one, dict) for one in found)
    return found


def claude_code_faults(data: bytes, original: bytes, session_id: str) -> list[str]:
    """What is wrong with a resumed Claude Code file, beside the file that it was made from."""
    found, faults = records(data), []
    uuids = [one["uuid"] for one in found if one.get("uuid")]
    old = {one["uuid"]: one for one in _lenient(original) if one.get("uuid")}
    known = set(uuids)
    if len(known) != len(uuids):
        faults.append("a uuid stands twice")
    faults += [f"session {one['sessionId']}" for one in found if one.get("sessionId", session_id) != session_id]
    for one in found:
        parent = one.get("parentUuid")
        was = old.get(one.get("uuid", ""), {}).get("parentUuid")
        if parent and parent not in known and not (parent == was and parent not in old):
            faults.append(f"{one['uuid']} hangs on {parent}, which is not there")
    spans: dict[str, set[str]] = {}
    for one in found:
        if one.get("type") == "assistant" and one["uuid"] not in old:
            spans.setdefault(one["message"]["id"], set()).add(one["uuid"])
    taken = {one["message"].get("id") for one in old.values() if isinstance(one.get("message"), dict)}
    faults += [f"message id {name} is not its own" for name, who in spans.items() if len(who) > 1 or name in taken]
    return faults


def unmarked(data: bytes) -> bytes:
    """A file without what says of each answer that ctxtui copied it."""
    return data.replace(b',"copiedBy":"ctxtui"', b"")


def untouched(data: bytes, original: bytes, session_id: str) -> set[str]:
    """The uuids of records that stand in both files byte for byte, but for the session's id and the copier."""
    new = {json.loads(line).get("uuid"): line for line in unmarked(data).splitlines()}
    same = set()
    for line in original.splitlines():
        try:
            one = json.loads(line)
        except ValueError:
            continue
        if not one.get("uuid") or one["uuid"] not in new:
            continue
        renamed = line.replace(f'"sessionId":"{one.get("sessionId")}"'.encode(), f'"sessionId":"{session_id}"'.encode())
        if new[one["uuid"]] == renamed:
            same.add(one["uuid"])
    return same


def claude_code_context(data: bytes) -> list[tuple[str, Any]]:
    """(role, part) of the context that the client resumes with: from the last record that speaks up to the root, with
    the results of parallel calls that hang beside the chain."""
    found = [one for one in records(data) if not one.get("isSidechain")]
    by_id = {one["uuid"]: one for one in found if one.get("uuid")}
    speaking = [one for one in found if one.get("type") in ("user", "assistant")]
    chain: list[Record] = []
    at: Record | None = speaking[-1] if speaking else None
    while at is not None:
        chain.append(at)
        at = by_id.get(at.get("parentUuid") or "")
    chain.reverse()
    on = {one["uuid"] for one in chain}
    messages = {one["message"]["id"] for one in chain if one.get("type") == "assistant"}
    beside = [one for one in speaking if one["uuid"] not in on and _belongs(one, by_id, messages)]
    order = {one["uuid"]: n for n, one in enumerate(found) if one.get("uuid")}
    parts: list[tuple[str, Any]] = []
    for one in sorted([*chain, *beside], key=lambda one: order[one["uuid"]]):
        if isinstance(one.get("message"), dict):
            content = one["message"]["content"]
            listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
            parts += [(one["message"]["role"], part) for part in listed]
    return parts


def _belongs(one: Record, by_id: dict[str, Record], messages: set[str]) -> bool:
    if one["type"] == "assistant":
        return one["message"].get("id") in messages
    above = by_id.get(one.get("parentUuid") or "")
    is_result = (
        isinstance(one["message"]["content"], list) and one["message"]["content"][0].get("type") == "tool_result"
    )
    return is_result and above is not None and above.get("type") == "assistant" and above["message"]["id"] in messages


def _lenient(data: bytes) -> list[Record]:
    found = []
    for line in data.splitlines():
        try:
            one = json.loads(line)
        except ValueError:
            continue
        if isinstance(one, dict):
            found.append(one)
    return found


def codex_faults(data: bytes, original: bytes, session_id: str) -> list[str]:
    """What is wrong with a resumed rollout: its id, and calls of tools without their outputs or the other way round."""
    found = records(data)
    faults = []
    if "ordinal" in found[0] and [one.get("ordinal") for one in found] != list(range(len(found))):
        faults.append("the lines are not numbered without a gap")
    if found[0]["payload"]["id"] != session_id:
        faults.append(f"the first record names {found[0]['payload']['id']}")
    old = set(original.split(b"\n"))
    new = [line for line in data.split(b"\n") if line and line not in old]
    calls, outputs = set(), set()
    for one in found:
        payload = one.get("payload") or {}
        if one.get("type") == "response_item" and payload.get("call_id"):
            (outputs if str(payload["type"]).endswith("_output") else calls).add(payload["call_id"])
    if not any(b'"compacted"' in line for line in data.split(b"\n")):
        faults += [f"no output of {name}" for name in calls - outputs]
        faults += [f"an output of {name}, which was never called" for name in outputs - calls]
    if any(json.loads(line).get("type") not in ("session_meta", "response_item", "compacted") for line in new):
        faults.append("an event was changed")
    return faults


def codex_context(data: bytes) -> list[Any]:
    """The items of the context that the client resumes with."""
    items: list[Any] = []
    for one in records(data):
        if one.get("type") == "response_item":
            items.append(one["payload"])
        elif one.get("type") == "compacted" and isinstance(one["payload"].get("replacement_history"), list):
            items = list(one["payload"]["replacement_history"])
    return items
