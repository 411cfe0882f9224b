"""Where the blocks of a context stand in a Claude Code session's file.

A context that is known from the records of requests holds the client's reminders as they were sent: wrapped, joined to
what a person typed, several in one turn. In the file each is an attachment of its own (facts §13.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct, field

from ctxtui.core.block import Item
from ctxtui.transcripts.formats.claude_code.resume.record import SourceRecord
from ctxtui.transcripts.kit.resume import matched, told

_OPEN: Final = "<system-reminder>"
_CLOSE: Final = "</system-reminder>"


class Places(Struct):
    """`found` gives the record and part (both 0-based) of places of the path; `beside` the further records that a place
    was made of."""

    found: dict[int, tuple[int, int]]
    beside: dict[int, list[int]] = field(default_factory=dict)


def places(records: Sequence[SourceRecord], path: Sequence[Item]) -> Places:
    """Where each place of `path` stands: by its block; else by the call that a result answers (a client may have
    cleared or shortened it in its requests); else by the words of the client's own texts, however they were joined."""
    made = Places(matched(path, [one.digests for one in records]))
    results = {call: (n, part) for n, one in enumerate(records) for part, call in one.answers.items()}
    taken = set(made.found.values())
    words = _words(records)
    for at, item in told(enumerate(path)):
        if at in made.found or item.place.section != "messages":
            continue
        if item.block.kind == "tool_result":
            place = results.get(str(item.block.member("tool_use_id")))
            if place is not None:
                made.found[at] = place
        elif item.block.kind == "text":
            said = _bare(item.block.member("text"))
            same = [place for place in words.get(said, ()) if place not in taken]
            held = same[-1:] or [
                place
                for told_, there in words.items()
                if told_ and told_ in said
                for place in there
                if place not in taken and records[place[0]].value.get("type") == "attachment"
            ]
            if held:
                taken |= set(held)
                made.found[at] = min(held)
                made.beside[at] = sorted({number for number, _ in held} - {made.found[at][0]})
    return made


def _words(records: Sequence[SourceRecord]) -> dict[str, list[tuple[int, int]]]:
    """Places of texts by what they say, without the client's wrapping."""
    found: dict[str, list[tuple[int, int]]] = {}
    for number, record in enumerate(records):
        for part, words in enumerate(_texts(record)):
            if words:
                found.setdefault(words, []).append((number, part))
    return found


def _texts(record: SourceRecord) -> list[str]:
    value = record.value
    if value.get("isSidechain"):
        return []
    rendered, message = value.get("rendered"), value.get("message")
    if value.get("type") == "attachment" and isinstance(rendered, list):
        return [_bare(one.get("content")) for one in rendered if isinstance(one, dict)]
    if value.get("type") == "user" and isinstance(message, dict):
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        return [_bare(one.get("text") if isinstance(one, dict) else one) for one in parts]
    return []


def _bare(words: Any) -> str:
    if not isinstance(words, str):
        return ""
    bare: str = words.strip()
    if bare.startswith(_OPEN) and bare.endswith(_CLOSE):
        return bare[len(_OPEN) : -len(_CLOSE)].strip()
    return bare
