"""What a Claude Code session that is to be resumed says of its size and its requests: only what still holds.

The client's meter and its compaction go by the usage of the last answer, and by nothing else (facts §13.1); a report of
all zeros is none for both, then they go by the one before and count what follows themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ctxtui.core import canonical
from ctxtui.transcripts.formats.claude_code.resume.record import SourceRecord
from ctxtui.transcripts.formats.claude_code.usage import ESTIMATED_BY
from ctxtui.transcripts.kit.resume import UNANSWERED, ResumeOrder

_REQUESTS: Final = frozenset({"api-request", "api-request-blob", "api-request-resumed"})
"""Records of what was sent. The shape of requests (system and tools) holds no conversation and stays."""
_SPENT: Final = "cost-state"
"""The client takes the money in it for the session's own; a copy has spent nothing yet."""
_OF_PROMPTS: Final = ("last-prompt", "queue-operation", "file-history-snapshot", "file-history-delta")
_ABOUT_END: Final = frozenset({*_REQUESTS, *_OF_PROMPTS})
_CHAINED: Final = frozenset({"user", "assistant", "attachment", "system", "progress"})
_NONE: Final = {"input_tokens": 0, "output_tokens": 0}


def cut_behind(records: list[SourceRecord], stop: int) -> Iterator[str]:
    """Take out what follows the record number `stop` (0-based): a prompt that waits for its answer, and what the client
    noted with it. Gives a line for what a reader would miss."""
    for record in records[stop + 1 :]:
        kind = record.value.get("type")
        if kind in _CHAINED or kind in _ABOUT_END:
            if kind == "user" and not record.value.get("isSidechain"):
                yield UNANSWERED
            record.removed = True


def settle(records: list[SourceRecord], first: int, order: ResumeOrder) -> None:
    """Let no figure and no request stand behind the record number `first` (0-based), where the new context begins to
    differ. The last answer gets the size that was worked out, marked as an estimate."""
    last = next((r.answer_id for r in reversed(records) if r.answer_id and not r.removed), "")
    rewritten = any(r.touched for r in records if r.answer_id == last)
    begins = {r.answer_id: n for n, r in reversed(list(enumerate(records)))}
    for number, record in enumerate(records):
        kind, answer = record.value.get("type"), record.answer_id
        if kind == _SPENT or (number > first and str(kind) in _REQUESTS):
            record.removed = True
        elif kind == "content-replacement":
            _replacements(record, records)
        elif answer and not record.removed:
            stale = begins[answer] > first
            if stale and "requestRef" in record.value:
                record.set_["requestRef"] = None
            known, told = record.value["message"].get("usage"), order.input_tokens if answer == last else None
            if isinstance(known, dict) and told is not None and (stale or rewritten):
                record.usage = _estimated(known, told, order.answer_tokens, rewritten)
            elif isinstance(known, dict) and stale:
                record.usage = _NONE


def _estimated(known: dict[str, Any], input_tokens: int, answer_tokens: int, rewritten: bool) -> dict[str, Any]:
    output = answer_tokens if rewritten else known.get("output_tokens")
    return {"input_tokens": input_tokens, "output_tokens": output, ESTIMATED_BY: "ctxtui"}


def _replacements(record: SourceRecord, records: list[SourceRecord]) -> None:
    """The client puts its own shorter text in the place of a large result; not where the result was changed here."""
    listed = record.value.get("replacements")
    if not isinstance(listed, list):
        return
    changed = {call for one in records if one.touched for call in one.answers.values()}
    left = [one for one in listed if not (isinstance(one, dict) and one.get("toolUseId") in changed)]
    if len(left) < len(listed):
        record.set_["replacements"] = canonical.dumps(left)
