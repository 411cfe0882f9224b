"""Reads pi's session files: entries, a list in older versions, a tree in newer ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.core.answer_least import mark_partial
from ctxtui.core.block import Item
from ctxtui.core.call import COPIED_BY, ESTIMATED_INPUT, Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_number, as_str
from ctxtui.core.session import Described, Event, Happened
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import COPIED, ESTIMATED_BY, as_time, compaction_detail, get_path
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import RawRecord

NAME: Final = "pi"
_BROKEN: Final = frozenset({"aborted", "error"})
"""Stop reasons of interrupted answers."""
_SILENT: Final = frozenset({"session", "model_change", "thinking_level_change", "label", "session_info", "custom"})


def sniff(head: bytes, name: str) -> float:
    records = file_head.parse_records(head)
    first = records[0] if records else {}
    if first.get("type") == "session" and "cwd" in first and "payload" not in first:
        return 0.95
    pi_messages = [r for r in records if r.get("type") == "message" and "stopReason" in as_dict(r.get("message"))]
    is_pi = any("api" in r["message"] or "totalTokens" in as_dict(r["message"].get("usage")) for r in pi_messages)
    return 0.8 if is_pi else 0.0


class _Entry(NamedTuple):
    """An entry: its id and its parent's, its items, and the context after it."""

    id: str
    parent: str
    items: list[Item]
    head: int


class _PiHandler:
    """Handles the entries of a session; an entry continues from the context of its parent."""

    def __init__(self, tree: Tree) -> None:
        self._dialogue = Dialogue(tree)
        self._entries: list[_Entry] = []
        self._by_id: dict[str, _Entry] = {}
        self._about = Described(source=NAME)
        self._level = ""
        self._broken: tuple[int, list[Item]] | None = None
        """Context and items of an interrupted answer, until a result shows that its calls were executed."""
        self._broken_head = ROOT

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        id_, parent = as_str(value.get("id")), as_str(value.get("parentId"))
        kind = as_str(value.get("type"))
        if kind == "session":
            self._about = replace(self._about, id=id_, cwd=as_str(value.get("cwd")), title=as_str(value.get("name")))
            parent = id_ = ""
        elif kind == "session_info":
            self._about = replace(self._about, title=as_str(value.get("name")))
        elif kind == "thinking_level_change":
            self._level = as_str(value.get("thinkingLevel"))
        if id_ and self._entries and self._entries[-1].id != parent:
            parent_entry = self._by_id.get(parent)
            self._dialogue.restart(EpochStart.REWIND, head=parent_entry.head if parent_entry else ROOT)
        items: list[Item] = []
        if kind == "compaction":
            self._apply_compaction(value, parent)
        elif kind == "message" and get_path(value, "message", "role") == "assistant":
            self._drop_unexecuted_calls()
            event, items = self._add_answer(as_dict(value["message"]), value, source)
            yield event
        elif kind in ("message", "custom_message", "branch_summary"):
            items = self._message_items(kind, as_dict(value.get("message")) or value)
            self._dialogue.add(items)
        elif kind not in _SILENT:
            yield Happened("record", kind or "without type", at=as_time(value.get("timestamp")))
        entry = _Entry(id_, parent, items, self._dialogue.head)
        self._entries.append(entry)
        if id_:
            self._by_id[id_] = entry

    def state_events(self) -> Iterator[Event]:
        yield replace(self._about, title=self._about.title or self._dialogue.title)
        yield self._dialogue.tip_event()

    def _drop_unexecuted_calls(self) -> None:
        """Remove the unexecuted calls of an interrupted answer, as pi does."""
        if self._broken is not None and self._dialogue.head == self._broken_head:
            request_tip, items = self._broken
            self._dialogue.head = self._dialogue.tree.extend(request_tip, _without_calls(items))
        self._broken = None

    def _message_items(self, kind: str, message: dict[str, Json]) -> list[Item]:
        role = as_str(message.get("role"))
        if role == "toolResult":
            self._broken = None
        else:
            self._drop_unexecuted_calls()
        if kind == "branch_summary" or role in ("branchSummary", "compactionSummary"):
            return make_message("user", as_str(message.get("summary")), mark="summary")
        if role == "toolResult":
            content_parts = [convert_part(part) for part in as_list(message.get("content"))]
            result = messages.tool_result(message.get("toolCallId"), content_parts, message.get("isError") is True)
            return messages.result_items(self._dialogue, [{**result, "name": message.get("toolName")}])
        if role == "bashExecution":
            if message.get("excludeFromContext") is True:
                return []
            ran = f"Ran `{as_str(message.get('command'))}`\n```\n{as_str(message.get('output'))}\n```"
            return make_message("user", ran, mark="meta")
        content = message.get("content")
        parts = [content] if isinstance(content, str) else [convert_part(part) for part in as_list(content)]
        return make_message("user" if role in ("", "custom", "hookMessage") else role, *parts)

    def _add_answer(
        self, message: dict[str, Json], value: dict[str, Json], source: RawRecord
    ) -> tuple[Event, list[Item]]:
        items = make_message("assistant", *(convert_part(part) for part in as_list(message.get("content"))))
        # An answer interrupted before its first content adds nothing.
        items = items if len(items) > 1 else []
        call_extra: dict[str, Json] = {key: message[key] for key in ("api", "responseId") if key in message}
        usage = _parse_usage(as_dict(message.get("usage")))
        if usage is not None and ESTIMATED_BY in as_dict(message.get("usage")):
            call_extra[ESTIMATED_INPUT], usage = usage.input, None
        if copied_by := as_str(value.get(COPIED)):
            call_extra[COPIED_BY] = copied_by
        if as_str(message.get("stopReason")) in _BROKEN:
            # pi then has only the output reported at the beginning of the message.
            usage, call_extra = mark_partial(usage, call_extra, (item.block for item in items))
        call = Call(
            as_str(message.get("responseId")),
            "",
            provider=as_str(message.get("provider")),
            model=as_str(message.get("model")),
            started=as_time(message.get("timestamp")),
            ended=as_time(value.get("timestamp")),
            usage=usage,
            stop_reason=as_str(message.get("stopReason")),
            error=as_str(message.get("errorMessage")),
            line=source.line,
            bytes_=(source.start, source.end),
            extra={**call_extra, **({"thinking_level": self._level} if self._level else {})},
        )
        head = self._dialogue.head
        event = self._dialogue.add_call(items, call)
        if call.stop_reason in _BROKEN and any(item.block.kind == "tool_use" for item in items):
            self._broken, self._broken_head = (head, items), self._dialogue.head
        return event, items

    def _apply_compaction(self, value: dict[str, Json], parent: str) -> None:
        kept_entries = self._entries_kept(value, parent)
        self._dialogue.restart(EpochStart.COMPACTION, compaction_detail(as_count(value.get("tokensBefore")), 0, NAME))
        self._dialogue.add(make_message("user", as_str(value.get("summary")), mark="summary"))
        self._dialogue.add(item for entry in kept_entries for item in entry.items)

    def _entries_kept(self, value: dict[str, Json], parent: str) -> list[_Entry]:
        """Entries that a compaction keeps after its summary; empty if the first one does not exist."""
        first = value.get("firstKeptEntryIndex")
        if isinstance(first, int):
            return self._entries[max(0, first) :]
        first_id = as_str(value.get("firstKeptEntryId"))
        kept_entries: list[_Entry] = []
        entry = self._by_id.get(parent)
        while entry is not None and len(kept_entries) < len(self._entries):
            kept_entries.append(entry)
            if entry.id == first_id:
                return kept_entries[::-1]
            entry = self._by_id.get(entry.parent)
        return []


def _without_calls(items: list[Item]) -> list[Item]:
    """Items of an answer without its calls; empty if only its header is left."""
    remaining = [item for item in items if item.block.kind != "tool_use"]
    return remaining if len(remaining) > 1 else []


def convert_part(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    other_members = {key: item for key, item in part.items() if key != "type"}
    match part.get("type"):
        case "toolCall":
            return messages.tool_use(
                other_members.pop("id", None),
                other_members.pop("name", None),
                other_members.pop("arguments", None),
                **other_members,
            )
        case "thinking":
            return messages.thinking(
                as_str(other_members.pop("thinking", "")), other_members.pop("thinkingSignature", None), **other_members
            )
        case "image" if "data" in other_members:
            return messages.image(as_str(other_members.pop("mimeType", "")), other_members.pop("data"), **other_members)
    return part


def _parse_usage(report: dict[str, Json]) -> Usage | None:
    """Convert pi's usage, whose input excludes the cache; None for a call that never ran."""
    fresh, read, written = (as_count(report.get(key)) for key in ("input", "cacheRead", "cacheWrite"))
    if fresh + read + written + as_count(report.get("output")) == 0:
        return None
    cost = as_number(get_path(report, "cost", "total"))
    output, reasoning = as_count(report.get("output")), as_count(report.get("reasoning"))
    return Usage(fresh, read, write_5m=written, output=output, reasoning=min(reasoning, output), cost=cost)


reader = lines_reader(_PiHandler)
