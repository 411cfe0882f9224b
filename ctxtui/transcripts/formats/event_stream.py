"""Streams of one or several answers without their requests, as events or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.core.session import MAIN, Described, Event, Skipped, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import get_path
from ctxtui.transcripts.kit.http_exchange.decode import COHERE, decode_stream
from ctxtui.transcripts.kit.readers import parse_json, whole_reader
from ctxtui.transcripts.kit.records import BOM
from ctxtui.wire import sse
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, OLLAMA, RESPONSES
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent

NAME: Final = "event stream"
_PROVIDERS: Final = {ANTHROPIC: "anthropic", GOOGLE: "google", COHERE: "cohere", OLLAMA: "ollama"}


def sniff(head: bytes, name: str) -> float:
    text = file_head.decode_head(head)
    if not sse.is_stream(text):
        return 0.9 if _is_json_stream(head) else 0.0
    # Streams of unknown dialects are claimed weakly, so that any other format wins.
    return 0.9 if any(_dialect_of(event) for event in sse.parse_stream(head)[:50]) else 0.2


def _is_json_stream(head: bytes) -> bool:
    """Whether a file begins with an event as JSON, in a list or on a line, without a request."""
    first = next(iter(file_head.parse_records(head)), {})
    if first.keys() & {"request", "messages", "contents", "input"}:
        return False
    if get_path(first, "done") is True or "finishReason" in as_dict(get_path(first, "candidates", 0)):
        return False
    return bool(_dialect_of(ServerEvent("", canonical.dump_text(first))))


def _parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
    all_events: list[Event] = [Described(source=NAME)]
    ids = Ids()
    skipped = None
    if data.removeprefix(BOM).lstrip()[:1] == b"[":
        chunks, skipped = parse_json(data)
        events = [ServerEvent("", canonical.dump_text(chunk)) for chunk in as_list(chunks)]
    else:
        events = sse.parse_stream(data)
    streams = list(_split_answers(events))
    for n, (dialect, answer_events) in enumerate(streams):
        response = decode_stream(dialect, answer_events)
        dialogue = Dialogue(tree, MAIN if n == 0 else f"answer {n + 1}", ids)
        all_events += [ThreadSeen(dialogue.thread, response.model)] if n else []
        all_events += [dialogue.add_call(response.items, _make_call(dialect, response)), dialogue.tip_event()]
        if not response.complete and not response.error and n == len(streams) - 1:
            skipped = Skipped(data.count(b"\n") + 1, "the answer is cut off")
    return all_events, skipped


def _make_call(dialect: str, response: Response) -> Call:
    return Call(
        response.id,
        "",
        provider=_PROVIDERS.get(dialect, ""),
        model=response.model,
        usage=response.usage,
        stop_reason=response.stop_reason,
        error=response.error or ("" if response.complete else "the answer is cut off"),
        # The file has no request, only the answer.
        extra={**response.extra, "tail_only": True},
    )


def _split_answers(events: list[ServerEvent]) -> Iterator[tuple[str, list[ServerEvent]]]:
    pending: list[ServerEvent] = []
    dialect, id_ = "", ""
    for event in events:
        value = event.value()
        event_dialect = _dialect_of(event)
        is_new_answer = _starts_answer(value, event_dialect, id_)
        if pending and event_dialect and (is_new_answer or (dialect and event_dialect != dialect)):
            if dialect:
                yield dialect, pending
            pending, dialect = [], ""
        dialect = dialect or event_dialect
        id_ = as_str(as_dict(value).get("id")) if event_dialect == CHAT else id_
        pending.append(event)
        if event_dialect == OLLAMA and get_path(value, "done") is True:
            yield dialect, pending
            pending, dialect = [], ""
    if dialect:
        yield dialect, pending


def _starts_answer(value: Json, dialect: str, id_: str) -> bool:
    kind = as_str(as_dict(value).get("type"))
    if dialect == CHAT:
        now = as_str(as_dict(value).get("id"))
        return bool(now and id_ and now != id_)
    return kind in ("message_start", "message-start", "response.created")


def _dialect_of(event: ServerEvent) -> str:
    value = as_dict(event.value())
    kind = as_str(value.get("type"))
    if kind.startswith("response."):
        return RESPONSES
    if kind in ("message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta"):
        return ANTHROPIC
    if kind == "error" and event.name == "error":
        return ANTHROPIC
    if kind in ("message-start", "content-start", "content-delta", "message-end"):
        return COHERE
    if "candidates" in value:
        return GOOGLE
    if {"model", "done"} <= value.keys() and isinstance(value.get("message"), dict):
        return OLLAMA
    chunk = as_str(value.get("object")) == "chat.completion.chunk" or "delta" in as_dict(get_path(value, "choices", 0))
    return CHAT if chunk else ""


reader = whole_reader(_parse)
