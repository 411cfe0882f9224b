"""A new Codex rollout with a context that another tool recorded (facts §11, §13)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from ctxtui.core import canonical
from ctxtui.transcripts.formats.codex.records import COPIED_LINES
from ctxtui.transcripts.formats.codex.resume import name_of, named
from ctxtui.transcripts.kit.resume import ResumedFile
from ctxtui.transcripts.kit.translated import ONLY_THERE, OWN, Body, TranslatedOrder, Translation, stamp
from ctxtui.wire.grammar import RESPONSES
from ctxtui.wire.translate.turns import Losses

_VERSION: Final = "0.169.0"
"""The version whose records these are (facts §13)."""
_ITEMS: Final[Mapping[str, tuple[str, ...]]] = {
    "message": ("type", "role", "content"),
    "function_call": ("type", "name", "namespace", "arguments", "call_id"),
    "function_call_output": ("type", "call_id", "output"),
    "custom_tool_call": ("type", "name", "namespace", "input", "call_id"),
    "custom_tool_call_output": ("type", "call_id", "output"),
}
"""Items that the client resumes with, and their members that hold in another session."""
_EVENTS: Final = {"user": "user_message", "assistant": "agent_message"}


def _kept(body: Body, losses: Losses) -> Body:
    items: list[Body] = []
    for item in body.get("input", []):
        members = _ITEMS.get(str(item.get("type", "message")))
        if members is None:
            losses.note(f"{item['type']}{ONLY_THERE}")
            continue
        made = {"type": "message", **{key: item[key] for key in members if key in item}}
        if made["type"] == "message" and isinstance(made["content"], str):
            kind = "output_text" if made["role"] == "assistant" else "input_text"
            made["content"] = [{"type": kind, "text": made["content"]}]
        items.append(made)
    if body.get("instructions") or body.get("tools"):
        losses.note(OWN)
    return {"model": body["model"], "input": items}


def _write(order: TranslatedOrder) -> ResumedFile:
    session_id, when = named(next(order.ids), order.now), stamp(order.now)
    meta: Body = {"id": session_id, "timestamp": when, "cwd": order.cwd or "/", "originator": "ctxtui"}
    meta |= {"cli_version": _VERSION, "source": "cli", "model_provider": "openai"}
    lines: list[tuple[str, Body]] = [("session_meta", meta)]
    for item in order.body["input"]:
        lines.append(("response_item", item))
        words = "\n".join(part["text"] for part in item.get("content", []) if part.get("text"))
        if item["type"] == "message" and item["role"] in _EVENTS and words:
            # The client draws the conversation from these, and goes on from the items.
            lines.append(("event_msg", {"type": _EVENTS[item["role"]], "message": words}))
    meta[COPIED_LINES] = len(lines)
    data = b"".join(
        canonical.dumps({"timestamp": when, "type": type_, "payload": payload}) + b"\n" for type_, payload in lines
    )
    folder = f"{datetime.fromtimestamp(order.now, UTC):%Y/%m/%d}"
    return ResumedFile(data, (), session_id, name_of(session_id, order.now), folder)


TRANSLATION: Final = Translation(RESPONSES, _kept, _write)
"""For any recording's context."""
