"""Convert the parts of OpenCode's messages to Anthropic's spelling, as OpenCode sends them to a model."""

from __future__ import annotations

import re
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.fields import at, count, moment, money, obj, objects, word

CLEARED: Final = "[Old tool result content cleared]"
"""Text that OpenCode sends in place of a pruned result."""
ASKED: Final = "What did we do so far?"
"""Text that OpenCode sends in place of a compaction's marker."""

_SUBTASK: Final = "The following tool was executed by the user"
_INTERRUPTED: Final = "[Tool execution was interrupted]"
# Their text is in separate parts.
_READ: Final = frozenset({"text/plain", "application/x-directory"})
_DATA: Final = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_SILENT: Final = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent", "retry"})
_ENDED: Final = ("completed", "error")

Part = dict[str, Json]


def is_known(part: Part) -> bool:
    """Whether a part has a known kind."""
    said = ("text", "reasoning", "tool", "file", "compaction", "subtask")
    return word(part.get("type")) in {*_SILENT, *said}


def asked(part: Part) -> Json:
    """Convert a part of a user's message; None if no model reads it."""
    match part.get("type"):
        case "text":
            told = word(part.get("text"))
            return messages.text(told) if told and part.get("ignored") is not True else None
        case "compaction":
            return messages.text(ASKED)
        case "subtask":
            return messages.text(_SUBTASK)
        case "file":
            return _file(part) if word(part.get("mime")) not in _READ else None
    return None


def answered(part: Part) -> Json:
    """Convert a part of an answer; None if no model reads it."""
    match part.get("type"):
        case "text":
            return messages.text(word(part.get("text")))
        case "reasoning":
            return messages.thinking(word(part.get("text")), **_kept(part, "metadata"))
        case "tool":
            return messages.tool_use(part.get("callID"), part.get("tool"), at(part, "state", "input"))
        case "file":
            return _file(part)
    return None


def result(part: Part, when: float = 0.0) -> Json:
    """Convert a tool result as sent in a request at `when` (Unix seconds).

    None for any other part, and for a call that has not ended.
    """
    state = obj(part.get("state"))
    if part.get("type") != "tool" or state.get("status") not in _ENDED:
        return None
    if state["status"] == "error":
        return _failed(part, state)
    cleared = compacted(part)
    if cleared is not None and cleared <= when:
        return messages.tool_result(part.get("callID"), CLEARED)
    output = state.get("output") if state.get("output") is not None else ""
    files = [_file(one) for one in objects(state.get("attachments"))]
    if not files:
        return messages.tool_result(part.get("callID"), output)
    told = [messages.text(output)] if output != "" else []
    return messages.tool_result(part.get("callID"), [*told, *files])


def unended(part: Part) -> Json:
    """Make the result that OpenCode sends for an interrupted call; None for any other part."""
    if part.get("type") != "tool" or at(part, "state", "status") in _ENDED:
        return None
    return messages.tool_result(part.get("callID"), _INTERRUPTED, error=True)


def compacted(part: Part) -> float | None:
    """Return when a tool's result was pruned, in Unix seconds; None if it was not."""
    return moment(at(part, "state", "time", "compacted"))


def usage(figures: dict[str, Json]) -> Usage | None:
    """Convert usage whose input excludes the cache and whose output excludes reasoning; None for zeros."""
    tokens = obj(figures.get("tokens"))
    fresh, read = count(tokens.get("input")), count(at(tokens, "cache", "read"))
    written, thought = count(at(tokens, "cache", "write")), count(tokens.get("reasoning"))
    output = count(tokens.get("output")) + thought
    if fresh + read + written + output == 0:
        return None
    return Usage(fresh, read, write_5m=written, output=output, reasoning=thought, cost=money(figures.get("cost")))


def _failed(part: Part, state: dict[str, Json]) -> Json:
    told = at(state, "metadata", "output") if at(state, "metadata", "interrupted") is True else None
    if isinstance(told, str):
        return messages.tool_result(part.get("callID"), told)
    error = state.get("error")
    return messages.tool_result(part.get("callID"), error if error is not None else "", error=True)


def _file(part: Part) -> Json:
    held = _DATA.fullmatch(word(part.get("url")))
    mime = word(part.get("mime"))
    kept = _kept(part, "filename")
    if held and mime.startswith("image/"):
        return messages.image(mime, held.group(2), **kept)
    kind = "image" if mime.startswith("image/") else "document"
    source: dict[str, Json] = {"type": "url", "url": part.get("url"), "media_type": part.get("mime")}
    if held:
        source = {"type": "base64", "media_type": mime, "data": held.group(2)}
    return {"type": kind, "source": source, **kept}


def _kept(part: Part, *names: str) -> dict[str, Json]:
    return {name: part[name] for name in names if part.get(name) is not None}
