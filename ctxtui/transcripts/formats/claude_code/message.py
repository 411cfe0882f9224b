"""Parses the message in a Claude Code record, and the blocks that it adds to a context."""

from __future__ import annotations

import re
from functools import lru_cache
from sys import intern
from typing import Annotated, Any, Final

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from ctxtui.core import block, block_content, canonical
from ctxtui.core.block import Block, Item, message_place
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_str
from ctxtui.core.usage import Usage
from ctxtui.transcripts.formats.claude_code.attachments import META, text_mark
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.kit import raw_block
from ctxtui.transcripts.kit.fields import ESTIMATED_BY, replace_surrogates
from ctxtui.transcripts.kit.records import has_needless_escapes, minify
from ctxtui.wire import usage

_EXTRA_KEYS: Final = ("service_tier", "speed", "inference_geo", "server_tool_use", "iterations", "fallback_credit")


class Report(Struct, frozen=True):
    """A message's usage report.

    - `usage`: None if the input is 0 or an estimate.
    - `estimated`: the input in tokens if it is an estimate, else 0.
    - `extra`: members that a call keeps unchanged.
    """

    usage: Usage | None = None
    estimated: int = 0
    extra: dict[str, Json] = field(default_factory=dict)


_NO_REPORT: Final = Report()
_Count = Annotated[int, msgspec.Meta(ge=0, lt=10**18)]


class _Split(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    ephemeral_5m_input_tokens: _Count
    ephemeral_1h_input_tokens: _Count


class _CommonReport(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A report in the most common form."""

    input_tokens: _Count
    output_tokens: _Count
    cache_creation_input_tokens: _Count
    cache_read_input_tokens: _Count
    cache_creation: _Split
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    server_tool_use: dict[str, Any] | None = None


_COMMON_DECODER: Final = msgspec.json.Decoder(_CommonReport)


@lru_cache(maxsize=256)
def _parse_report(raw: bytes, final: bool) -> Report:
    """Parse the usage in the JSON text `raw`. Raises `msgspec.DecodeError`.

    Not `final`: the record has no stop reason, and its output count is partial.
    """
    return _parse_common_report(raw, final) or _with_final(_parse_any_report(raw), final)


@lru_cache(maxsize=64)
def _parse_any_report(raw: bytes) -> Report:
    return _report_from_value(msgspec.json.decode(raw))


def _parse_common_report(raw: bytes, final: bool) -> Report | None:
    try:
        record = _COMMON_DECODER.decode(raw)
    except msgspec.ValidationError:
        return None
    split = record.cache_creation
    minutes, hour = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
    unsplit = record.cache_creation_input_tokens - minutes - hour
    converted = Usage(
        record.input_tokens,
        record.cache_read_input_tokens,
        write_5m=minutes + unsplit if unsplit > 0 else minutes,
        write_1h=hour,
        output=record.output_tokens,
        output_final=final,
    )
    extra: dict[str, Json] = {}
    if record.service_tier:
        extra["service_tier"] = record.service_tier
    if record.speed:
        extra["speed"] = record.speed
    if record.inference_geo:
        extra["inference_geo"] = record.inference_geo
    if record.server_tool_use:
        extra["server_tool_use"] = record.server_tool_use
    return Report(converted if converted.input else None, 0, extra)


def _report_from_value(value: Json) -> Report:
    extra = (
        {key: extra_value for key in _EXTRA_KEYS if (extra_value := value.get(key))} if isinstance(value, dict) else {}
    )
    if isinstance(value, dict) and ESTIMATED_BY in value:
        return Report(None, as_count(value.get("input_tokens")), extra)
    converted, _ = usage.anthropic_passes(value)
    return Report(converted if converted is not None and converted.input else None, 0, extra)


def _with_final(report: Report, final: bool) -> Report:
    if report.usage is None or report.usage.output_final == final:
        return report
    return replace(report, usage=replace(report.usage, output_final=final))


SYNTHETIC: Final = "<synthetic>"
"""Model name of a message that the client wrote itself, without a call."""


class ContentPart(Struct, frozen=True):
    """A content part: its block, and the id of the call that it makes or answers ("": none)."""

    block: Block
    makes: str = ""
    answers: str = ""


class ClaudeMessage(Struct):
    """The message of a record.

    `string`: its content is one string. `content`: its JSON text if `parts` may be blocks without bodies, else empty.
    """

    role: str
    parts: list[ContentPart] = field(default_factory=list)
    id: str = ""
    model: str = ""
    stop: str = ""
    report: Report = _NO_REPORT
    string: bool = False
    content: bytes = b""


_ABSENT: Final = Raw(b"")


class _RawPart(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    tool_use_id: str | None = None
    text: Raw = _ABSENT
    content: Raw = _ABSENT
    cache_control: Raw = _ABSENT
    prompt_cache_breakpoint: Raw = _ABSENT


_EXIT_COMMAND: Final = re.compile(r"\s*(?:<command-message>[^<]*</command-message>\s*)?<command-name>/(?:exit|quit)</")
_PART_DECODER: Final = msgspec.json.Decoder(_RawPart)
_PARTS_DECODER: Final = msgspec.json.Decoder(list[_RawPart])
_RAW_PARTS_DECODER: Final = msgspec.json.Decoder(list[Raw])


def parse_message(record: ClaudeRecord, clean: bool | None, *, contexts: bool = True) -> ClaudeMessage | None:
    """Parse the message in `record`, None if it has none.

    `clean`: whether the record's JSON is canonical (`records.minify`); None if it is neither minified nor checked yet.
    Without `contexts`, the bodies of most blocks are skipped.
    """
    if record.loose is not None:
        return message_from_value(record.loose.get("message"), record.type or "")
    fields = record.message
    if fields is None:
        return None
    role, usage_json = fields.role or record.type or "", bytes(fields.usage)
    content = bytes(fields.content)
    try:
        report = _parse_report(usage_json, bool(fields.stop_reason)) if usage_json else _NO_REPORT
        return ClaudeMessage(
            role,
            parse_parts(content, clean) if contexts else _parse_outline(content),
            id=fields.id or "",
            model=intern(fields.model or ""),
            stop=intern(fields.stop_reason or ""),
            report=report,
            string=content[:1] == b'"',
            content=b"" if contexts else content,
        )
    except msgspec.MsgspecError:
        head = {"role": fields.role, "id": fields.id, "model": fields.model, "stop_reason": fields.stop_reason}
        parts = {"content": content, "usage": usage_json}
        return message_from_value(
            head | {name: canonical.loads(raw) for name, raw in parts.items() if raw}, record.type or ""
        )


def _parse_outline(raw: bytes) -> list[ContentPart]:
    """Parse a content's parts, skipping all bodies but those of text. Such a block has no digest."""
    if raw[:1] != b"[":
        return parse_parts(raw, None)
    outline = []
    for part in _PARTS_DECODER.decode(raw):
        kind = part.type or "text"
        if kind == "text":
            body = b'{"type":"text","text":' + (bytes(part.text) or b"null") + b"}"
        elif kind == "tool_use" and b'"prompt"' in raw:
            # The call may start a subagent.
            return parse_parts(raw, None)
        else:
            body = b"{}"
        outline.append(_make_part(Block("", kind, body), part.id or "", part.tool_use_id or ""))
    return outline


def message_from_value(message: Json, role: str) -> ClaudeMessage | None:
    if isinstance(message, str):
        return ClaudeMessage(role, _parts_from_value(message), string=True)
    if not isinstance(message, dict):
        return None
    stop = as_str(message.get("stop_reason"))
    return ClaudeMessage(
        as_str(message.get("role")) or role,
        _parts_from_value(message.get("content")),
        id=as_str(message.get("id")),
        model=as_str(message.get("model")),
        stop=stop,
        report=_with_final(_report_from_value(message.get("usage")), bool(stop)),
        string=isinstance(message.get("content"), str),
    )


def parse_parts(raw: bytes, clean: bool | None) -> list[ContentPart]:
    """Parse the parts of a content's JSON text; `clean` as in `parse_message`."""
    first = raw[:1]
    if first == b'"':
        # A string is always minified.
        clean = not has_needless_escapes(raw) if clean is None else clean
        return [ContentPart(raw_block.from_text(raw, clean))] if raw != b'""' else []
    if not raw or raw == b"null":
        return []
    if first != b"[":
        return _parts_from_value(canonical.loads(raw))
    try:
        parts = _PARTS_DECODER.decode(raw)
    except msgspec.ValidationError:
        return _parse_mixed_parts(*(minify(raw) if clean is None else (raw, clean)))
    if clean is None:
        raw, clean = minify(raw)
    if clean and len(parts) == 1:
        # Most lists have one part, which in canonical JSON is the text between the brackets.
        return [_part_from_raw(raw[1:-1], parts[0], clean)]
    return [
        _part_from_raw(bytes(item), part, clean)
        for item, part in zip(_RAW_PARTS_DECODER.decode(raw), parts, strict=True)
    ]


def _parse_mixed_parts(raw: bytes, clean: bool) -> list[ContentPart]:
    parts = []
    for item in map(bytes, _RAW_PARTS_DECODER.decode(raw)):
        if item[:1] != b"{":
            parts.extend(_parts_from_value([canonical.loads(item)]))
            continue
        parts.append(_part_from_raw(item, _PART_DECODER.decode(item), clean))
    return parts


def _part_from_raw(raw: bytes, part: _RawPart, clean: bool) -> ContentPart:
    # Breakpoints are in the part itself, or in the items of a result (`block.without_markers`).
    unmarked = part.cache_control is _ABSENT and part.prompt_cache_breakpoint is _ABSENT
    if unmarked and part.type == "tool_result":
        unmarked = bytes(part.content)[:1] == b'"'
    block = raw_block.from_part(raw, part.type or "", clean, unmarked=unmarked)
    return _make_part(block, part.id or "", part.tool_use_id or "")


def _parts_from_value(content: Json) -> list[ContentPart]:
    if content is None or content == "":
        return []
    parts = []
    for item in content if isinstance(content, list) else [content]:
        block = raw_block.from_value(item)
        inner = item if isinstance(item, dict) else {}
        parts.append(_make_part(block, as_str(inner.get("id")), as_str(inner.get("tool_use_id"))))
    return parts


def _make_part(block: Block, id_: str, tool_use_id: str) -> ContentPart:
    # Server tools (facts §1) are answered inside the assistant's own message; only client tools make pairs.
    if block.kind == "tool_use":
        return ContentPart(block, makes=id_)
    if block.kind == "tool_result":
        return ContentPart(block, answers=tool_use_id)
    return ContentPart(block)


SUMMARY = "summary"
INTERRUPTED = "[Request interrupted by user"


class UserContent(Struct):
    """Content of a user record.

    - `results`: results of calls; `items`: the other blocks.
    - `typed_text`: the first text that a person typed.
    - `interrupted`: the client's text about an interruption by the user.
    - `exits`: it contains a command that leaves the client.
    """

    results: list[ContentPart] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    typed_text: str = ""
    interrupted: str = ""
    exits: bool = False


def sort_content(record: ClaudeRecord, message: ClaudeMessage) -> UserContent:
    """Sort the parts of a user's message into results, other blocks, and what was typed."""
    mark = _context_mark(record)
    role = message.role if message.role != "assistant" else "user"
    content = UserContent()
    for part in message.parts:
        if part.answers:
            content.results.append(part)
            continue
        text = ""
        if part.block.kind == "text":
            value = part.block.value()
            text = block_content.read_value("text", value).text
            content.exits = content.exits or (isinstance(value, dict) and is_exit_command(str(value.get("text"))))
        part_mark = mark or text_mark(text)
        content.items.append(Item(part.block, message_place(role, part_mark)))
        if text.startswith(INTERRUPTED):
            content.interrupted = text
        elif not part_mark and text.strip():
            content.typed_text = content.typed_text or text
    return content


def _context_mark(record: ClaudeRecord) -> str:
    return SUMMARY if record.is_compact_summary else META if record.is_meta else ""


def sent_items(record: ClaudeRecord, message: ClaudeMessage) -> list[Item]:
    """List the blocks of a message in its own order, with marks as by `sort_content`."""
    items, mark, user = [], _context_mark(record), message.role == "user"
    for part in message.parts:
        part_mark = ""
        if user and not part.answers:
            part_mark = mark or (text_mark(block_content.read(part.block).text) if part.block.kind == "text" else "")
        items.append(Item(part.block, message_place(message.role, part_mark)))
    return items


def is_exit_command(text: str) -> bool:
    return _EXIT_COMMAND.match(text) is not None


def client_text(content: Json) -> list[Item]:
    """Convert a text that the client wrote to a user block. Empty for anything else and for blank text."""
    if not isinstance(content, str) or not content.strip():
        return []
    return [Item(block.text(content), message_place("user", META))]


def error_text(error: Json) -> str:
    """Format an API error: status and message, else its JSON cut short."""
    if isinstance(error, str):
        return replace_surrogates(error)
    status, message, inner = "", "", error
    while isinstance(inner, dict):
        status = status or str(inner.get("status") or "")
        message = inner["message"] if isinstance(inner.get("message"), str) else message
        inner = inner.get("error")
    text = " ".join(filter(None, (status, message)))
    return replace_surrogates(text or block_content.read_value("", error).text[:200])
