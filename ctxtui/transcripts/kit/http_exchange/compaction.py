"""Requests with which a client compacts its history, and the summaries in their answers.

Those of Claude Code and Codex are recognized (facts §13).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.block_content import read
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.transcripts.kit.fields import as_dicts
from ctxtui.transcripts.kit.http_exchange.decode import decode_response
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, parse_body
from ctxtui.wire import sse
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES

_CLAUDE_CODE: Final = re.compile(
    r"\s*(?:CRITICAL: Respond with TEXT ONLY\b.{0,900}?)?Your task is to create a detailed summary of ", re.DOTALL
)
_CODEX: Final = "You are performing a CONTEXT CHECKPOINT COMPACTION."
_SUMMARY: Final = re.compile(r"<summary>\n?(.*?)\n?</summary>", re.DOTALL)
"""The part of Claude Code's answer that becomes the summary; the rest is its analysis, which is dropped."""
_TEXT_KINDS: Final = ("text", "input_text", "output_text")
_COMPACT_PATH: Final = "/responses/compact"
_SYSTEM: Final = ("system", "developer")


class CompactionRequest(Struct, frozen=True):
    """A request of the `client` to compact a conversation.

    `sealed`: only the provider can read its summary.
    """

    client: str
    sealed: bool = False


_SIGNS: Final = (b"detailed summary of ", b"CONTEXT CHECKPOINT COMPACTION", b"compaction_trigger")
"""Every body that is recognized by its content has one of these; others need not be parsed."""


def may_compact(path: str, body: bytes) -> bool:
    """Whether a request may be one to compact: a cheap test before its body is parsed."""
    return path.rstrip("/").endswith(_COMPACT_PATH) or any(sign in body for sign in _SIGNS)


def recognize_compaction(path: str, body: Json) -> CompactionRequest | None:
    """Recognize the compaction that a request asks for; None for other requests."""
    request = as_dict(body)
    if path.rstrip("/").endswith(_COMPACT_PATH):
        return CompactionRequest("codex", sealed=True)
    last = next(iter(reversed(conversation_of(request))), {})
    return _recognize(as_str(last.get("type")), _last_text(last))


def conversation_of(request: dict[str, Json]) -> list[dict[str, Json]]:
    """List the messages or items of a request, without those of the system.

    Claude Code 2.1.332 has system messages at the end, too.
    """
    turns = as_list(request.get("messages")) or as_list(request.get("input"))
    return [as_dict(turn) for turn in turns if as_dict(turn).get("role") not in _SYSTEM]


def compaction_of(items: Sequence[Item]) -> CompactionRequest | None:
    """Recognize the compaction that a decoded request asks for; None for other requests."""
    last = next((item for item in reversed(items) if item.place.role not in _SYSTEM), None)
    if last is None:
        return None
    is_text = last.block.kind in _TEXT_KINDS and last.place.role == "user"
    return _recognize(last.block.kind, read(last.block).text if is_text else "")


def _recognize(kind: str, text: str) -> CompactionRequest | None:
    if kind == "compaction_trigger":
        return CompactionRequest("codex", sealed=True)
    if text.startswith(_CODEX):
        return CompactionRequest("codex")
    return CompactionRequest("claude code") if _CLAUDE_CODE.match(text) else None


def _last_text(message: dict[str, Json]) -> str:
    """The last part of a user's message if it is text, else ""."""
    content = message.get("content")
    if message.get("role") != "user":
        return ""
    if isinstance(content, list):
        part = as_dict(content[-1]) if content else {}
        return as_str(part.get("text")) if part.get("type") in ("text", "input_text") else ""
    return as_str(content)


def read_summary(dialect: str, answer: bytes) -> str:
    """Read the text of a provider's decompressed answer; "" for an error or an incomplete one."""
    response = decode_response(dialect, Exchange(b"", answer, status=200))
    if response.error or not response.complete:
        return ""
    return "".join(read(item.block).text for item in response.items if item.block.kind in _TEXT_KINDS)


def summary_part(text: str) -> str:
    """Return the inside of ``<summary>`` in an answer's text, else all of it."""
    match = _SUMMARY.search(text)
    return match[1] if match else text


def replace_summary(dialect: str, answer: bytes, summary: str) -> bytes:
    """Replace the summary in an answer, and keep all other values.

    A stream's whole text goes into its first piece. Raises `CtxtuiError` if not exactly one text is found.
    """
    old_text = read_summary(dialect, answer)
    match = _SUMMARY.search(old_text)
    text = f"{old_text[: match.start(1)]}{summary}{old_text[match.end(1) :]}" if match else summary
    positions: set[Json] = set()
    if dialect not in _REWRITE_PIECE:
        rewritten = b""
    elif sse.is_stream(answer[:512].decode("utf-8", "replace")):
        rewritten = b"".join(_rewrite_events(dialect, sse.parse_stream(answer), text, positions))
    else:
        rewritten = canonical.dumps(_rewrite_whole(dialect, as_dict(parse_body(answer)), text, positions))
    if len(positions) != 1:
        raise CtxtuiError(
            f"{len(positions)} texts found in the answer, so the summary cannot be replaced",
            way_out="release the answer as it is, or refuse it",
        )
    return rewritten


def _rewrite_events(
    dialect: str, events: Sequence[sse.ServerEvent], text: str, positions: set[Json]
) -> Iterator[bytes]:
    """Encode events with `text` in place of the answer's; add its positions to `positions`."""
    for event in events:
        value = event.value()
        if isinstance(value, dict):
            changed = _REWRITE_PIECE[dialect](value, "" if positions else text, positions, text)
            if changed is None:
                continue
            if changed != value:
                event = event._replace(data=canonical.dump_text(changed))
        lines = [f"event: {event.name}"] if event.name else []
        lines += [f"id: {event.id}"] if event.id else []
        lines += [f"data: {line}" for line in event.data.split("\n")]
        yield "\n".join([*lines, "", ""]).encode()


def _message_piece(event: dict[str, Json], text: str, positions: set[Json], whole: str) -> dict[str, Json] | None:
    delta = as_dict(event.get("delta"))
    if event.get("type") != "content_block_delta" or delta.get("type") != "text_delta":
        return event
    positions.add(event.get("index"))
    return {**event, "delta": {**delta, "text": text}} if text else None


def _completion_piece(event: dict[str, Json], text: str, positions: set[Json], whole: str) -> dict[str, Json] | None:
    choices = as_dicts(event.get("choices"))
    if not any(as_dict(choice.get("delta")).get("content") for choice in choices):
        return event
    positions.update(choice.get("index") for choice in choices)
    own = [{**choice, "delta": {**as_dict(choice.get("delta")), "content": text}} for choice in choices]
    return {**event, "choices": own}


def _response_piece(event: dict[str, Json], text: str, positions: set[Json], whole: str) -> dict[str, Json] | None:
    if event.get("type") == "response.output_text.delta":
        positions.add((event.get("output_index"), event.get("content_index")))
        return {**event, "delta": text} if text else None
    if event.get("type") == "response.output_text.done":
        return {**event, "text": whole}
    return as_dict(_with_output_text(event, whole))


def _with_output_text(value: Json, text: str) -> Json:
    if isinstance(value, list):
        return [_with_output_text(item, text) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "output_text":
        return {**value, "text": text} if value.get("text") else value
    inner = ("response", "output", "item", "content", "part")
    return {key: _with_output_text(item, text) if key in inner else item for key, item in value.items()}


_REWRITE_PIECE: Final[dict[str, Callable[[dict[str, Json], str, set[Json], str], dict[str, Json] | None]]] = {
    ANTHROPIC: _message_piece,
    CHAT: _completion_piece,
    RESPONSES: _response_piece,
}
"""Rewrites one event of a stream, by dialect: `text` is for the first piece ("" for others), `whole` for events that
repeat it in full. Positions of texts are added to `positions`. None: the event is dropped."""


def _rewrite_whole(dialect: str, body: dict[str, Json], text: str, positions: set[Json]) -> dict[str, Json]:
    if dialect == CHAT:
        choices = as_dicts(body.get("choices"))
        positions.update(choice.get("index") for choice in choices)
        own = [{**choice, "message": {**as_dict(choice.get("message")), "content": text}} for choice in choices]
        return {**body, "choices": own}
    if dialect == RESPONSES:
        parts = [part for item in as_dicts(body.get("output")) for part in as_dicts(item.get("content"))]
        positions.update(n for n, part in enumerate(parts) if part.get("type") == "output_text" and part.get("text"))
        return as_dict(_with_output_text(body, text))
    parts = as_dicts(body.get("content"))
    positions.update(n for n, part in enumerate(parts) if part.get("type") == "text")
    return {**body, "content": [{**part, "text": text} if part.get("type") == "text" else part for part in parts]}
