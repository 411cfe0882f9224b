"""What a progress record of Claude Code reports: a hook, a command's output, or a subagent's message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Raw

from ctxtui.core.canonical import Json
from ctxtui.transcripts.claude_code.records import Record, decode, of_value


@dataclass(frozen=True, slots=True)
class Progress:
    """The data of a progress record; `record` is the subagent's record in it, None for anything else."""

    type: str = ""
    hook_name: str = ""
    agent_id: str = ""
    tool_use: str = ""
    record: Record | None = None


class _Data(msgspec.Struct, rename="camel"):
    type: str | None = None
    hook_name: str | None = None
    agent_id: str | None = None
    message: Raw = Raw(b"")


_data: Final = msgspec.json.Decoder(_Data)


def progress_of(record: Record) -> Progress:
    """The progress that `record` reports."""
    tool_use = record.parent_tool_use_id or ""
    raw = bytes(record.data)
    if record.loose is None and raw[:1] == b"{":
        try:
            data = _data.decode(raw)
            message = bytes(data.message)
            inner = decode(message) if message[:1] == b"{" else None
            return Progress(data.type or "", data.hook_name or "", data.agent_id or "", tool_use, inner)
        except msgspec.MsgspecError:
            pass
    value = record.json("data")
    return _of_value(value, tool_use) if isinstance(value, dict) else Progress()


def _of_value(value: dict[str, Json], tool_use: str) -> Progress:
    words = [found if isinstance(found := value.get(key), str) else "" for key in ("type", "hookName", "agentId")]
    inner = value.get("message")
    return Progress(words[0], words[1], words[2], tool_use, of_value(inner) if isinstance(inner, dict) else None)
