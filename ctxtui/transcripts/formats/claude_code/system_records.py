"""Handles Claude Code's records without messages: compactions, attachments, progress, queue.

Broken lines become unreadable blocks. Each record becomes a point in the chain of records (`message_chain`).
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct

from ctxtui.core import block
from ctxtui.core.block import TOOL, Item, Place, message_place
from ctxtui.core.call import WHILE_IDLE
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_str
from ctxtui.core.session import ASIDE, Event, Happened
from ctxtui.core.tree import ROOT
from ctxtui.transcripts.formats.claude_code import messages
from ctxtui.transcripts.formats.claude_code.attachments import attachment_items, rendered_items, text_mark
from ctxtui.transcripts.formats.claude_code.message import client_text, error_text, is_exit_command, parse_message
from ctxtui.transcripts.formats.claude_code.message_chain import (
    CLIENT,
    PASSING,
    SAID,
    Point,
    add_side_point,
    after_compaction,
    after_microcompaction,
    kept_items,
)
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord, decode, is_newer, record_from_value
from ctxtui.transcripts.formats.claude_code.request_log.rebuilt import KINDS
from ctxtui.transcripts.formats.claude_code.session_info import OUTPUT, parse_shown_window, window_from_name
from ctxtui.transcripts.formats.claude_code.state import ClaudeState
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread
from ctxtui.transcripts.kit.fields import parse_timestamp
from ctxtui.transcripts.kit.records import BrokenRecord, RawRecord
from ctxtui.transcripts.reader import NeedsContexts

_SNAPSHOT: Final = "prompt_snapshot"


def _handle_snapshot(state: ClaudeState, thread: ClaudeThread, snapshot: dict[str, Json], agent: str) -> list[Event]:
    """Handle a snapshot of system prompt and tools, which applies to the thread's later calls.

    Earlier calls with the same system prompt get its tools too. Ignored if the requests themselves are recorded.
    """
    if state.requests(agent).store.shape_count:
        return []
    texts = snapshot.get("systemPrompt")
    words = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
    prefix, tools = snapshot.get("cliPrefix"), snapshot.get("tools")
    if not words:
        return []
    listed = [_tool_block(tool) for tool in tools] if isinstance(tools, list) else []
    prompt = "\n\n".join(words)
    system = [*([prefix] if isinstance(prefix, str) and prefix else []), prompt]
    items = [Item(tool, Place("tools")) for tool in listed]
    items += [Item(block.text(text), Place("system")) for text in system]
    old, thread.front = thread.front, state.tree.extend(ROOT, items)
    same, thread.prompt = thread.prompt == prompt, prompt
    thread.front_whole = isinstance(tools, list)
    if not thread.front_whole or not same:
        thread.partial.clear()
        return []
    calls, thread.partial = thread.partial, []
    events: list[Event] = list(state.answers.set_front(calls, thread.front, old))
    return events + state.tip_events(thread) if events else []


def _tool_block(tool: Json) -> block.Block:
    schema = tool.get("schema") if isinstance(tool, dict) else None
    if isinstance(schema, dict) and "input_schema" in schema:
        return block.make(TOOL, block.without_markers(schema))
    if isinstance(schema, dict):
        tool = {"input_schema" if key == "schema" else key: item for key, item in tool.items()}
    return block.make(TOOL, tool)


_KEY: Final = rb'"%s":\s*("[^"\\]*"|true)'
_KEYS: Final = {
    key: re.compile(_KEY % key.encode()) for key in ("uuid", "parentUuid", "type", "isSidechain", "agentId")
}
_RESUME: Final = "SessionStart:resume"
_LAST_SENT_OUTPUT: Final = (2, 1, 197)
"""The newest version known to send the output of local commands to the model."""
_ASIDES: Final = {"away_summary": "a recap while its user was away", "memory_saved": "memories after a turn"}
"""Requests that the client makes by itself, with the conversation's prefix (read in the client's code, 2.1.112); their
calls are not recorded."""
_IDLE_NOTES: Final = ("Compacted while idle", "Compacted using a summary written while you were away")
"""Beginnings of the notes that follow a compaction made in a pause (read in the client's code, 2.1.332)."""
_SPEAKERS: Final = ("user", "assistant", "message", "")


def handle_system(state: ClaudeState, record: ClaudeRecord, agent: str) -> list[Event]:
    """Handle a record of the client: a compaction, an API error, a local command, or a note."""
    thread, events = state.thread(record, agent)
    parent = state.threads.parent(record, thread, starts=True)
    match record.subtype:
        case "compact_boundary":
            metadata = record.json("compactMetadata")
            if not state.contexts and isinstance(metadata, dict) and "preservedSegment" in metadata:
                raise NeedsContexts("messages that a compaction keeps")
            after, kept_messages = kept_items(state.tree, state.threads.points, metadata)
            if kept_messages:
                state.kept_messages[after] = kept_messages
            thread.tip = state.register(record, Point(after_compaction(metadata), at=parse_timestamp(record.timestamp)))
            thread.tip = messages.add_kept(state, record, thread.tip)
            return events
        case "microcompact_boundary":
            anchor = after_microcompaction(state.tree, parent, record.json("microcompactMetadata"))
            thread.tip = state.register(record, Point(anchor, at=parse_timestamp(record.timestamp)))
            return events + state.tip_events(thread)
        case "api_error":
            state.add(record, parent, PASSING)
            text = error_text(record.json("error"))
            return [*events, Happened("api error", text, thread.id, parse_timestamp(record.timestamp), thread.call)]
        case "local_command":
            text = record.json("content")
            thread.resumed = thread.resumed or (isinstance(text, str) and is_exit_command(text))
            shown = _is_only_shown(record, text)
            state.about.set_window(parse_shown_window(text) if not agent else 0)
            items = [] if shown else client_text(text)
            return events + state.move(thread, state.add(record, parent, PASSING if shown else CLIENT, items))
        case subtype if subtype in _ASIDES:
            events.append(Happened(ASIDE, _ASIDES[subtype], thread.id, parse_timestamp(record.timestamp), thread.call))
    note = record.json("content")
    if isinstance(note, str) and note.startswith(_IDLE_NOTES) and messages.is_after_compaction(parent.anchor):
        parent.anchor.trigger = WHILE_IDLE
    return events + state.move(thread, state.add(record, parent, PASSING))


def _is_only_shown(record: ClaudeRecord, text: Json) -> bool:
    """Whether a local command's record is only terminal output (the picture of ``/context``).

    Newer clients send what is meant for the model as a message (facts §13.1).
    """
    shown = isinstance(text, str) and text.startswith(OUTPUT)
    return shown and record.version is not None and is_newer(record.version, _LAST_SENT_OUTPUT)


def handle_attachment(state: ClaudeState, record: ClaudeRecord, agent: str) -> list[Event]:
    thread, events = state.thread(record, agent)
    value = record.json("attachment")
    fields = value if isinstance(value, dict) else {}
    kind = str(fields.get("type", ""))
    rendered = rendered_items(record.json("rendered"), kind, record.rendered_role or "")
    items = rendered or attachment_items(value)
    if kind == _SNAPSHOT:
        events += _handle_snapshot(state, thread, fields, agent)
    if kind == "model" and not agent:
        identity = fields.get("identity")
        state.about.set_window(window_from_name(identity.get("modelId")) if isinstance(identity, dict) else 0)
    if str(fields.get("hookName", "")).startswith(_RESUME):
        thread.resumed = True
    kind_of_point = PASSING if not items else CLIENT if all(item.place.mark for item in items) else SAID
    parent = state.threads.parent(record, thread, starts=True)
    return events + state.move(thread, state.add(record, parent, kind_of_point, items, bool(rendered)))


def handle_progress(state: ClaudeState, record: ClaudeRecord, source: RawRecord, agent: str) -> list[Event]:
    """Handle the progress of a hook, a command, or a subagent, with its messages."""
    thread, events = state.thread(record, agent)
    parent = state.threads.parent(record, thread, starts=True)
    events += state.move(thread, state.add(record, parent, PASSING))
    data = _parse_progress(record)
    if data.hook_name.startswith(_RESUME):
        thread.resumed = True
    nested = data.record
    nested_message = parse_message(nested, source.clean, contexts=state.contexts) if nested is not None else None
    if nested is None or nested_message is None or not nested_message.parts:
        return events
    if nested.uuid in state.threads.points:
        return events
    nested.is_sidechain, nested.agent_id = True, data.agent_id or record.agent_id or f"of {data.tool_use}"
    nested.session_id, nested.version = record.session_id, record.version
    nested.parent_uuid = UNSET
    return events + messages.handle_message(state, nested, nested_message, source, nested.agent_id)


def handle_queue(state: ClaudeState, record: ClaudeRecord) -> list[Event]:
    """Handle a queue operation on text that arrives while the agent works.

    It leaves the queue when the model gets it with the next request (remove), when it becomes a separate message
    (dequeue), or returns to the prompt (popAll).
    """
    thread = state.threads.main()
    content = record.json("content")
    match record.operation:
        case "enqueue":
            state.queued.append(content if isinstance(content, str) else "")
        case "remove" if state.queued:
            text = state.queued.pop(0)
            if text and thread.last is not None and thread.tip is not None:
                item = Item(block.text(text), message_place("user", text_mark(text)))
                add_side_point(thread.tip.anchor, state.next_number(), parse_timestamp(record.timestamp), [item])
                return state.tip_events(thread)
        case "dequeue" if state.queued:
            state.queued.pop(0)
        case "popAll":
            state.queued.clear()
    return []


def handle_replacements(state: ClaudeState, record: ClaudeRecord) -> list[Event]:
    listed = record.json("replacements")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("replacement"), str):
            state.answers.replace_result(str(entry.get("toolUseId")), entry["replacement"])
    return state.tip_events(state.threads.main())


def handle_broken(state: ClaudeState, piece: BrokenRecord, agent: str) -> list[Event]:
    """Add an unreadable block in place of a conversation's record that cannot be parsed."""
    matches = {key: match.group(1) for key, regex in _KEYS.items() if (match := regex.search(piece.raw))}
    legible: dict[str, Json] = {
        key: value == b"true" if key == "isSidechain" else value.strip(b'"').decode("utf-8", "replace")
        for key, value in matches.items()
    }
    kind = legible.get("type", "")
    if kind in KINDS or (kind not in _SPEAKERS and b'"message"' not in piece.raw):
        return []
    record = record_from_value(legible)
    if record.uuid in state.threads.points:
        record.uuid = None
    thread, events = state.thread(record, agent)
    # Old versions write an answer's message, whose type is "message", before the record's own type.
    role = "assistant" if record.type in ("assistant", "message") else "user"
    item = Item(block.unreadable(f"line {piece.line}", piece.reason), Place("messages", role))
    parent = state.threads.parent(record, thread, starts=False)
    return events + state.move(thread, state.add(record, parent, SAID, [item]))


def handle_link(state: ClaudeState, record: ClaudeRecord, agent: str) -> list[Event]:
    thread, events = state.thread(record, agent)
    return events + state.move(thread, state.add(record, state.threads.parent(record, thread, starts=False), PASSING))


class _Progress(Struct, frozen=True):
    """The data of a progress record; `record` is the subagent's record in it."""

    hook_name: str = ""
    agent_id: str = ""
    tool_use: str = ""
    record: ClaudeRecord | None = None


class _Data(msgspec.Struct, rename="camel"):
    hook_name: str | None = None
    agent_id: str | None = None
    message: Raw = Raw(b"")


_data: Final = msgspec.json.Decoder(_Data)


def _parse_progress(record: ClaudeRecord) -> _Progress:
    tool_use = record.parent_tool_use_id or ""
    raw = bytes(record.data)
    if record.loose is None and raw[:1] == b"{":
        try:
            data = _data.decode(raw)
            message = bytes(data.message)
            inner = decode(message) if message[:1] == b"{" else None
            return _Progress(data.hook_name or "", data.agent_id or "", tool_use, inner)
        except msgspec.MsgspecError:
            pass
    value = record.json("data")
    return _parse_value(value, tool_use) if isinstance(value, dict) else _Progress()


def _parse_value(value: dict[str, Json], tool_use: str) -> _Progress:
    inner = value.get("message")
    record = record_from_value(inner) if isinstance(inner, dict) else None
    return _Progress(as_str(value.get("hookName")), as_str(value.get("agentId")), tool_use, record)
