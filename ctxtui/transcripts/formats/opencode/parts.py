"""Convert the parts of OpenCode's messages to Anthropic's spelling, as OpenCode sends them."""

from __future__ import annotations

import re
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_number, as_str
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.fields import as_dicts, as_time, get_path

_CLEARED: Final = "[Old tool result content cleared]"
"""Text that OpenCode sends in place of a pruned result."""
_COMPACTION_TEXT: Final = "What did we do so far?"
"""Text that OpenCode sends in place of a compaction's marker."""

_SUBTASK: Final = "The following tool was executed by the user"
_INTERRUPTED: Final = "[Tool execution was interrupted]"
# Types of files whose text is in separate parts.
_READ: Final = frozenset({"text/plain", "application/x-directory"})
_DATA: Final = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_SILENT: Final = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent", "retry"})
_ENDED: Final = ("completed", "error")

Part = dict[str, Json]


def is_known(part: Part) -> bool:
    kinds = ("text", "reasoning", "tool", "file", "compaction", "subtask")
    return as_str(part.get("type")) in {*_SILENT, *kinds}


def convert_user_part(part: Part) -> Json:
    """Convert a part of a user's message; None if no model reads it."""
    match part.get("type"):
        case "text":
            text = as_str(part.get("text"))
            return messages.text(text) if text and part.get("ignored") is not True else None
        case "compaction":
            return messages.text(_COMPACTION_TEXT)
        case "subtask":
            return messages.text(_SUBTASK)
        case "file":
            return _convert_file(part) if as_str(part.get("mime")) not in _READ else None
    return None


def convert_answer_part(part: Part) -> Json:
    """Convert a part of an answer; None if no model reads it."""
    match part.get("type"):
        case "text":
            return messages.text(as_str(part.get("text")))
        case "reasoning":
            return messages.thinking(as_str(part.get("text")), **_keep_members(part, "metadata"))
        case "tool":
            return messages.tool_use(part.get("callID"), part.get("tool"), get_path(part, "state", "input"))
        case "file":
            return _convert_file(part)
    return None


def convert_result(part: Part, when: float = 0.0) -> Json:
    """Convert a tool result as sent in a request at `when` (Unix seconds).

    None for any other part, and for a call that has not ended.
    """
    state = as_dict(part.get("state"))
    if part.get("type") != "tool" or state.get("status") not in _ENDED:
        return None
    if state["status"] == "error":
        return _failed_result(part, state)
    cleared = pruned_at(part)
    if cleared is not None and cleared <= when:
        return messages.tool_result(part.get("callID"), _CLEARED)
    output = state.get("output") if state.get("output") is not None else ""
    files = [_convert_file(attachment) for attachment in as_dicts(state.get("attachments"))]
    if not files:
        return messages.tool_result(part.get("callID"), output)
    text_parts = [messages.text(output)] if output != "" else []
    return messages.tool_result(part.get("callID"), [*text_parts, *files])


def interrupted_result(part: Part) -> Json:
    """Make the result that OpenCode sends for an unfinished call; None for any other part."""
    if part.get("type") != "tool" or get_path(part, "state", "status") in _ENDED:
        return None
    return messages.tool_result(part.get("callID"), _INTERRUPTED, error=True)


def pruned_at(part: Part) -> float | None:
    """Return when a tool's result was pruned, in Unix seconds; None if it was not."""
    return as_time(get_path(part, "state", "time", "compacted"))


def usage(figures: dict[str, Json]) -> Usage | None:
    """Convert usage: input excludes the cache, output excludes reasoning; None for zeros."""
    tokens = as_dict(figures.get("tokens"))
    fresh, read = as_count(tokens.get("input")), as_count(get_path(tokens, "cache", "read"))
    written, thought = as_count(get_path(tokens, "cache", "write")), as_count(tokens.get("reasoning"))
    output = as_count(tokens.get("output")) + thought
    if fresh + read + written + output == 0:
        return None
    return Usage(fresh, read, write_5m=written, output=output, reasoning=thought, cost=as_number(figures.get("cost")))


def _failed_result(part: Part, state: dict[str, Json]) -> Json:
    output = get_path(state, "metadata", "output") if get_path(state, "metadata", "interrupted") is True else None
    if isinstance(output, str):
        return messages.tool_result(part.get("callID"), output)
    error = state.get("error")
    return messages.tool_result(part.get("callID"), error if error is not None else "", error=True)


def _convert_file(part: Part) -> Json:
    match = _DATA.fullmatch(as_str(part.get("url")))
    mime = as_str(part.get("mime"))
    kept_members = _keep_members(part, "filename")
    if match and mime.startswith("image/"):
        return messages.image(mime, match.group(2), **kept_members)
    kind = "image" if mime.startswith("image/") else "document"
    source: dict[str, Json] = {"type": "url", "url": part.get("url"), "media_type": part.get("mime")}
    if match:
        source = {"type": "base64", "media_type": mime, "data": match.group(2)}
    return {"type": kind, "source": source, **kept_members}


def _keep_members(part: Part, *names: str) -> dict[str, Json]:
    return {name: part[name] for name in names if part.get(name) is not None}
