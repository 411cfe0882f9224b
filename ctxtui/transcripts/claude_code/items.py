"""The blocks that records of Claude Code put into a context, other than the model's answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxtui.core import block, reading
from ctxtui.core.block import Item, Place
from ctxtui.core.canonical import Json
from ctxtui.transcripts.claude_code.attachments import META, mark_of
from ctxtui.transcripts.claude_code.message import Part, Said
from ctxtui.transcripts.claude_code.records import Record
from ctxtui.transcripts.titles import plain

SUMMARY = "summary"
INTERRUPTED = "[Request interrupted by user"


@dataclass(slots=True)
class Spoken:
    """What a user record says: results of calls, other blocks, and the words a person said in it."""

    results: list[Part] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    words: str = ""
    interrupted: str = ""


def spoken(record: Record, message: Said) -> Spoken:
    """What the user record `record` with `message` says."""
    mark = SUMMARY if record.is_compact_summary else META if record.is_meta else ""
    role = message.role if message.role != "assistant" else "user"
    found = Spoken()
    for part in message.parts:
        if part.answers:
            found.results.append(part)
            continue
        words = reading.read(part.block).text if part.block.kind == "text" else ""
        own = mark or mark_of(words)
        found.items.append(Item(part.block, Place("messages", role, own)))
        if words.startswith(INTERRUPTED):
            found.interrupted = words
        elif not own and words.strip():
            found.words = found.words or words
    return found


def client_text(content: Json) -> list[Item]:
    """A text that the client wrote, as a meta block of the user's; nothing for anything but words."""
    if not isinstance(content, str) or not content.strip():
        return []
    return [Item(block.text(content), Place("messages", "user", META))]


def error_text(error: Json) -> str:
    """The words of an API error in whatever envelope it stands: status and message, else its JSON cut short."""
    if isinstance(error, str):
        return plain(error)
    status, message, inner = "", "", error
    while isinstance(inner, dict):
        status = status or str(inner.get("status") or "")
        message = inner["message"] if isinstance(inner.get("message"), str) else message
        inner = inner.get("error")
    text = " ".join(filter(None, (status, message)))
    return plain(text or reading.read_value("", error).text[:200])
