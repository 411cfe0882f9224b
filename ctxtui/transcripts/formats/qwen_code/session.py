"""Qwen Code's chats: a record per line, a tree by ``parentUuid``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block import Item
from ctxtui.core.call import COPIED_BY, ESTIMATED_INPUT, WINDOW, Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.session import MAIN, Described, Event, Happened, ThreadSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import COPIED, ESTIMATED_BY, as_time, get_path
from ctxtui.transcripts.kit.http_exchange import google
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import RawRecord
from ctxtui.wire.usage import google_usage

NAME: Final = "qwen code"
RESPONSE_TEXTS: Final = ("output", "error")
"""Members of a tool's response, of which the client sends the first that is a text."""
_KEYS: Final = frozenset({"uuid", "parentUuid", "sessionId", "type"})


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins a chat.

    Claude Code's records have the same members, but no parts.
    """
    records = [record for record in file_head.parse_records(head) if record.keys() >= _KEYS]
    is_qwen = any("systemPayload" in record or "parts" in as_dict(record.get("message")) for record in records)
    return 0.98 if is_qwen else 0.0


class _QwenHandler:
    """Handles the records of a chat; a record continues from the context of its parent."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._ids = Ids()
        self._about = Described(source=NAME)
        self._threads: dict[str, Dialogue] = {MAIN: Dialogue(tree, MAIN, self._ids)}
        self._ends: dict[str, int] = {}
        """End of the context after each record, by uuid: any later one may continue from it."""

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        about = self._about
        self._about = replace(
            about,
            id=about.id or as_str(value.get("sessionId")),
            cwd=about.cwd or as_str(value.get("cwd")),
            version=as_str(value.get("version")) or about.version,
        )
        name = as_str(value.get("agentId")) or MAIN
        if name not in self._threads:
            self._threads[name] = Dialogue(self._tree, name, self._ids)
            yield ThreadSeen(name, as_str(value.get("agentName")) or name, MAIN)
        dialogue = self._threads[name]
        if "parentUuid" in value:
            parent = value["parentUuid"]
            dialogue.head = ROOT if parent is None else self._ends.get(as_str(parent), dialogue.head)
        content = as_dict(value.get("message"))
        match value.get("type"):
            case "assistant":
                yield dialogue.add_call(
                    make_message("model", *convert_parts(content.get("parts"))), _make_call(value, source)
                )
            case "user" | "tool_result":
                dialogue.add(make_message("user", *convert_parts(content.get("parts"))))
            case "system":
                yield from self._handle_system(dialogue, value)
        self._ends[as_str(value.get("uuid"))] = dialogue.head

    def state_events(self) -> Iterator[Event]:
        yield replace(self._about, title=self._about.title or self._threads[MAIN].title)
        yield from (dialogue.tip_event() for dialogue in self._threads.values())

    def _handle_system(self, dialogue: Dialogue, value: dict[str, Json]) -> Iterator[Event]:
        payload, happened = as_dict(value.get("systemPayload")), as_time(value.get("timestamp"))
        event = as_dict(payload.get("uiEvent"))
        match value.get("subtype"):
            case "custom_title":
                self._about = replace(self._about, title=as_str(payload.get("customTitle")))
            case "chat_compression":
                history = [item for content in as_list(payload.get("compressedHistory")) for item in _convert(content)]
                dialogue.restart(EpochStart.COMPACTION, head=self._tree.extend(ROOT, history))
            case "ui_telemetry" if as_str(event.get("event.name")).endswith("api_error"):
                text = as_str(event.get("error_message")) or as_str(event.get("error"))
                yield Happened("api error", text, dialogue.thread, happened, dialogue.last_id)


def _convert(content: Json) -> list[Item]:
    if isinstance(content, str):
        return make_message("user", content)
    fields = as_dict(content)
    return make_message(as_str(fields.get("role")) or "user", *convert_parts(fields.get("parts")))


def convert_parts(content: Json) -> list[Json]:
    return google.convert_parts([_with_plain_response(part) for part in parts_of(content)])


def parts_of(content: Json) -> list[Json]:
    return [content] if isinstance(content, str | dict) else as_list(content)


def _with_plain_response(part: Json) -> Json:
    """Replace a tool's response by what the client sends of it: its text, then its media."""
    answer = as_dict(as_dict(part).get("functionResponse"))
    response, media = as_dict(answer.get("response")), as_list(answer.get("parts"))
    text = next((response[key] for key in RESPONSE_TEXTS if isinstance(response.get(key), str)), None)
    if text is None:
        return part
    sent = [messages.text(text), *google.convert_parts(media)] if media else text
    return {**part, "functionResponse": {**answer, "response": sent}}


def _make_call(value: dict[str, Json], source: RawRecord) -> Call:
    window = as_count(value.get("contextWindowSize"))
    # A branched session holds copies of its parent's records.
    id_ = as_str(get_path(value, "forkedFrom", "messageUuid")) or as_str(value.get("uuid"))
    used, report = usage(value.get("usageMetadata")), as_dict(value.get("usageMetadata"))
    extra: dict[str, Json] = {WINDOW: window} if window else {}
    if used is not None and ESTIMATED_BY in report:
        extra[ESTIMATED_INPUT], used = used.input, None
    if copied_by := as_str(value.get(COPIED)):
        extra[COPIED_BY] = copied_by
    return Call(
        id_,
        "",
        model=as_str(value.get("model")),
        ended=as_time(value.get("timestamp")),
        usage=used,
        line=source.line,
        extra=extra,
    )


def usage(report: Json) -> Usage | None:
    """Convert the usage of one answer; outside Google's API its candidates include the thoughts."""
    reported, figures = google_usage(report), as_dict(report)
    if reported is None or not (reported.input or reported.output):
        return None
    total_output = as_count(figures.get("totalTokenCount")) - reported.input
    return replace(reported, output=total_output) if 0 < total_output < reported.output else reported


reader = lines_reader(_QwenHandler)
