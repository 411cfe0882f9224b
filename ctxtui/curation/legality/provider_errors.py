"""Reads from a provider's error text which rule was violated, and by which block.

``ctxtui repair`` uses it if a session ends with such an error: the provider may know a rule that `legality` does not
check. Source of the texts: facts §1, §4.
"""

from __future__ import annotations

import re
from typing import Final

from ctxtui.core.block import HEADER
from ctxtui.core.session import MAIN, Session
from ctxtui.curation.context import THINKING, Context
from ctxtui.curation.legality import violation
from ctxtui.curation.legality.violation import PlacedViolation, Violation

BOUND: Final = "bound thinking"
TOO_LONG: Final = "too long"
"""Rules that only the provider can check."""

_ERROR_PATTERNS: Final = (
    (r"tool_use.{0,3} ids were found without|unexpected .tool_use_id|tool_call_ids? did not have", violation.PAIR),
    (r"no tool output found|must be a response to a prec|no tool call found", violation.PAIR),
    (r"must be followed by tool messages", violation.PAIR),
    (r"tool_use.{0,3} ids must be unique", violation.PAIR),
    (r"non-empty|empty text|empty array|content is required|empty content", violation.EMPTY),
    (r"invalid .?signature|blocks? .{0,40}cannot be modified|bound to a different|expected .?thinking", BOUND),
    (r"final block in an assistant message cannot be .?thinking", violation.THINKING),
    (r"maximum of \d+ blocks with cache_control|cache_control|ttl=", violation.MARKERS),
    (r"must end with a user message|prefill", violation.LAST),
    (r"first message must|roles must alternate", violation.FIRST),
    (r"role .?system", violation.SYSTEM),
    (r"prompt is too long|maximum context length|context_length_exceeded|context window", TOO_LONG),
    (r"request_too_large|exceeds the maximum (?:size|allowed number of bytes)", TOO_LONG),
    (r"pdf", violation.DOCUMENTS),
    (r"image.{0,60}(?:exceed|dimension|size|support|invalid|process|not match)|process image|pixels", violation.IMAGES),
    (r"invalid .{0,60}image_url|base64-encoded", violation.IMAGES),
    (r"tool.?reference", violation.REFERENCE),
    (r"encrypted.?content", violation.ENCRYPTED),
    (r"required following item", violation.REASONING),
    (r"tool names must be unique|tools[.\[]\d.{0,40}name", violation.TOOL),
    (r"null (?:byte|char)|\\u0000|surrogate|invalid (?:unicode|utf)", violation.CHARACTERS),
)  # fmt: skip
"""Expressions that occur in error texts, with the violated rule; the first match counts."""
_PLACE: Final = re.compile(r"\b(?:messages|input)(?:\.|\[)(\d{1,9})\]?(?:\.content(?:\.|\[)(\d{1,9}))?")
_ID: Final = re.compile(r"\b(?:srv)?(?:toolu|call|rs|fc|msg|item)_[A-Za-z0-9_-]+")


def from_error_text(context: Context, text: str) -> PlacedViolation | None:
    """The violation that an error's `text` describes; None if unknown."""
    rule = violated_rule(text)
    if not rule:
        return None
    return PlacedViolation(Violation(_path_in(text), " ".join(text.split())[:300], rule), _position_in(context, text))


def violated_rule(text: str) -> str:
    """The rule that an error's text says is violated; "" if unknown."""
    return next((name for pattern, name in _ERROR_PATTERNS if re.search(pattern, text, re.IGNORECASE)), "")


def refusal(session: Session, thread: str = MAIN) -> str:
    """The error text at the end of a thread if it names a known rule, else ""."""
    calls = session.thread_calls(thread)
    last = calls[-1] if calls else None
    after = [
        happening
        for happening in session.happenings
        if happening.thread == thread and (last is None or happening.after == last.id)
    ]
    texts = [happening.text for happening in after if happening.kind == "api error"]
    if last is not None and last.usage is None and last.error:
        texts.append(last.error)
    return texts[-1] if texts and violated_rule(texts[-1]) else ""


def _path_in(text: str) -> str:
    match = _PLACE.search(text)
    return f"$.{match[0]}" if match is not None else "$"


def _position_in(context: Context, text: str) -> int:
    ids = set(_ID.findall(text))
    quoted = [f'"{quoted_id}"'.encode("utf-8", "replace") for quoted_id in ids]
    if ids:
        for position, item in enumerate(context.items):
            if item.block.kind != HEADER and context.reading(position).call_id in ids:
                return position
            if item.block.kind in THINKING and any(quoted_id in item.block.body for quoted_id in quoted):
                return position
    match = _PLACE.search(text)
    if match is None or int(match[1]) >= len(context.messages):
        return -1
    message = context.messages[int(match[1])]
    part = message.start + 1 + int(match[2] or 0) if message.has_header else message.start
    return min(part, message.stop - 1)
