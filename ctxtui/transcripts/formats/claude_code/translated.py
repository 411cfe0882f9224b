"""A new Claude Code session with a context that another tool recorded (facts §11)."""

from __future__ import annotations

from typing import Any, Final

from ctxtui.core import canonical
from ctxtui.transcripts.formats.claude_code.resume.record import made_record
from ctxtui.transcripts.kit.resume import ResumedFile
from ctxtui.transcripts.kit.translated import ONLY_THERE, OWN, Body, TranslatedOrder, Translation, stamp
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.translate.turns import Losses

_VERSION: Final = "2.1.330"
"""The version whose records these are (facts §13)."""
_SAID: Final = frozenset({"text", "image", "document", "tool_use", "tool_result"})
_IN_RESULT: Final = frozenset({"text", "image", "document"})
_REMINDER: Final = "<system-reminder>\n{}\n</system-reminder>"
_BESIDE: Final = frozenset({"cache_control", "citations"})
"""Members of a block that hold only where it stood."""


def _kept(body: Body, losses: Losses) -> Body:
    messages: list[Body] = []
    for message in body.get("messages", []):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else _readable(content, losses)
        role = message["role"]
        if role == "system":
            losses.note("system messages became reminders of the user")
            parts = [{**part, "text": _REMINDER.format(part.get("text", ""))} for part in parts]
            role = "user"
        kept = [made for part in parts if (made := _block(part, _SAID, losses)) is not None]
        if kept and messages and messages[-1]["role"] == role:
            messages[-1]["content"] += kept
        elif kept:
            messages.append({"role": role, "content": kept})
    if body.get("system") or body.get("tools"):
        losses.note(OWN)
    return {"model": body["model"], "max_tokens": body.get("max_tokens", 1), "messages": messages}


def _readable(content: Any, losses: Losses) -> list[Body]:
    """The parts of `content` that say of what type they are: a damaged recording may have others."""
    parts = content if isinstance(content, list) else [content]
    found = [part for part in parts if isinstance(part, dict) and isinstance(part.get("type"), str)]
    if len(found) < len(parts):
        losses.note("parts that could not be read")
    return found


def _block(part: Body, known: frozenset[str], losses: Losses) -> Body | None:
    if part["type"] not in known:
        losses.note(f"{part['type']}{ONLY_THERE}")
        return None
    made = {key: value for key, value in part.items() if key not in _BESIDE}
    if isinstance(made.get("content"), list) and part["type"] == "tool_result":
        inner = _readable(made["content"], losses)
        made["content"] = [one for each in inner if (one := _block(each, _IN_RESULT, losses)) is not None]
    return made


def _write(order: TranslatedOrder) -> ResumedFile:
    session_id, cwd, above = next(order.ids), order.cwd, None
    like = {
        "isSidechain": False,
        "userType": "external",
        **({"cwd": cwd} if cwd else {}),
        "sessionId": session_id,
        "version": _VERSION,
        "timestamp": stamp(order.now),
    }
    lines = []
    for message in order.body["messages"]:
        record = made_record(like, message["role"], message["content"], next(order.ids))
        lines.append(canonical.dumps({**record, "parentUuid": above}) + b"\n")
        above = record["uuid"]
    return ResumedFile(b"".join(lines), (), session_id, f"{session_id}.jsonl")


TRANSLATION: Final = Translation(ANTHROPIC, _kept, _write)
"""For any recording's context."""
