"""Reader of Claude Code's session files (facts §11): bytes in, events out."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from ctxtui.core.block_content import read
from ctxtui.core.canonical import Json
from ctxtui.core.session import Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.claude_code import messages, system_records
from ctxtui.transcripts.formats.claude_code.answers import Answers
from ctxtui.transcripts.formats.claude_code.message import parse_message
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord, decode, decode_strictly
from ctxtui.transcripts.formats.claude_code.request_log.rebuilt import KINDS
from ctxtui.transcripts.formats.claude_code.session_info import OUTPUT, SOURCE, parse_shown_window
from ctxtui.transcripts.formats.claude_code.state import ClaudeState
from ctxtui.transcripts.joined import JoinedReader
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.records import BrokenRecord, Piece, RawRecord, RecordStream, decode_legible, is_utf8
from ctxtui.transcripts.reader import NeedsContexts, Reader

if TYPE_CHECKING:
    from ctxtui.transcripts.formats.claude_code.written.exchanges import WrittenExchanges

NAME: Final = SOURCE

_BEGINNING: Final = 120
"""Bytes of a block that are searched for the output of one of the client's own commands."""
_TITLES: Final = frozenset({"summary", "custom-title", "ai-title"})
_SPEAKERS: Final = ("user", "assistant")
"""Types of most records with a message."""
_MESSAGE_ROLES: Final = ("user", "assistant", "system")
"""Roles of messages that belong to a context."""
_OUTPUT: Final = OUTPUT.encode()
_SURE: Final = 0.99
_BODIES: Final = ("index.jsonl", ".request.json", ".response.json")
_AGENT: Final = re.compile(r"agent-([^/\\]+?)\.jsonl$")
_MARKS: Final = (
    {"leafUuid", "summary"},
    {"messageId", "snapshot"},
    {"operation", "sessionId"},
    {"sessionId", "isSidechain"},
)
"""Members by which a record of the client is recognized."""


def sniff(head: bytes, name: str) -> float:
    # The first line identifies most files.
    first = _confidence(head[: head.find(b"\n") + 1])
    return first if first >= _SURE else _confidence(head)


def _confidence(head: bytes) -> float:
    best = 0.0
    for record in file_head.parse_records(head):
        keys = record.keys()
        if "payload" in keys and "sessionId" not in keys:
            continue
        if _may_be_qwen_code(record):
            continue
        if {"uuid", "sessionId"} <= keys and ({"parentUuid", "isSidechain"} & keys):
            return _SURE
        if record.get("type") and any(mark <= keys for mark in _MARKS):
            best = max(best, 0.9)
        elif {"uuid", "parentUuid", "type"} <= keys or (str(record.get("type")) in _SPEAKERS and "message" in keys):
            best = max(best, 0.8 if isinstance(record.get("message"), dict) else 0.6)
    return best


def _may_be_qwen_code(record: dict[str, Json]) -> bool:
    message = record.get("message", {})
    if "systemPayload" in record or (isinstance(message, dict) and "parts" in message):
        return True
    has_content = not isinstance(message, dict) or "content" in message
    return next(iter(record), "") == "uuid" and not has_content and "isSidechain" not in record


class ClaudeCodeReader(Reader):
    """Reads one file of a session; `part` makes readers for its subagents' files."""

    def __init__(self, state: ClaudeState, agent: str = "", name: str = "") -> None:
        self._state = state
        self._stream = RecordStream(decode_strictly)
        self._agent, self._name = agent, name
        self._foreign: bool | None = None if agent else False
        """Whether a subagent's file is of another session; None until a record names its session."""

    @property
    def tail(self) -> Skipped | None:
        if self._stream.tail is not None:
            return None if self._foreign else self._with_name(self._stream.tail)
        return None if self._agent else self._state.threads.missing_files()

    def feed(self, data: bytes) -> list[Event]:
        if self._foreign:
            return []
        return self._handle_pieces(self._stream.feed(data))

    def settle(self) -> list[Event]:
        events = [*self._handle_pieces(self._stream.settle()), *self._state.emit_pending()]
        # Unrecorded usage is emitted once all files are read; the session's own file settles last.
        return events if self._agent else [*events, *self._state.side_calls()]

    def part(self, name: str) -> Reader:
        if _is_body_name(name):
            raise NeedsContexts("bodies of requests")
        return ClaudeCodeReader(self._state, agent_id(name), name)

    def _handle_pieces(self, pieces: list[Piece]) -> list[Event]:
        events: list[Event] = []
        contexts = self._state.contexts
        for piece in pieces:
            # Without contexts, invalid UTF-8 is found when texts are read.
            if isinstance(piece, RawRecord) and (piece.record is None or not contexts or is_utf8(piece.raw)):
                events += self._handle_record(piece)
                continue
            for part in decode_legible(piece) if isinstance(piece, RawRecord) else (piece,):
                events += self._handle_record(part) if isinstance(part, RawRecord) else self._handle_unreadable(part)
        return events

    def _handle_record(self, piece: RawRecord) -> list[Event]:
        record = piece.record or decode(piece.raw)
        if not self._is_of_session(record):
            return []
        events = handle_record(self._state, record, piece, self._agent)
        return [self._with_name(Skipped(piece.line, piece.note)), *events] if piece.note else events

    def _handle_unreadable(self, piece: BrokenRecord | Skipped) -> list[Event]:
        if self._foreign:
            return []
        events: list[Event] = [self._with_name(Skipped(piece.line, piece.reason))]
        if isinstance(piece, BrokenRecord):
            events += self._state.emit_pending() + system_records.handle_broken(self._state, piece, self._agent)
        return events

    def _is_of_session(self, record: ClaudeRecord) -> bool:
        if self._foreign is None and record.session_id:
            sessions = self._state.about.sessions
            self._foreign = bool(sessions) and record.session_id not in sessions
        return not self._foreign

    def _with_name(self, skipped: Skipped) -> Skipped:
        return Skipped(skipped.line, f"{self._name}: {skipped.reason}") if self._name else skipped


def reader(tree: Tree) -> Reader:
    """Make a reader of one session's files, also of bodies in separate files."""
    state = ClaudeState(tree, Answers(tree))

    @cache
    def exchanges() -> WrittenExchanges:
        # Imported late: most sessions have no bodies.
        from ctxtui.transcripts.formats.claude_code.written.exchanges import WrittenExchanges

        return WrittenExchanges(tree, state.about.sessions)

    def companion_reader(name: str) -> Reader | None:
        if not _is_body_name(name):
            return None
        from ctxtui.transcripts.formats.claude_code.written.files import body_reader

        return body_reader(exchanges(), name)

    main = ClaudeCodeReader(state)
    return JoinedReader(main, tree, companion_reader, settle=lambda transcript: exchanges().settle(transcript))


def usage_reader(tree: Tree) -> Reader:
    """Make a reader of one session's files that emits calls with their usage, without contexts."""
    return ClaudeCodeReader(ClaudeState(tree, Answers(tree, contexts=False)))


def _is_body_name(name: str) -> bool:
    return name == _BODIES[0] or name.endswith(_BODIES[1:])


def agent_id(name: str) -> str:
    match = _AGENT.search(name)
    return match.group(1) if match else name.rsplit("/", 1)[-1].removesuffix(".jsonl")


def handle_record(state: ClaudeState, record: ClaudeRecord, source: RawRecord, agent: str) -> list[Event]:
    """Return the events of one record; `agent` is the file's subagent ("": the session)."""
    state.threads.make_ids_unique(record, agent)
    if record.uuid in state.threads.points:
        return []  # a repeated record
    if not agent:
        state.about.add_record(record)
        state.clock = record.timestamp if record.timestamp is not None else state.clock
    owner = record.agent_id or agent if agent else ""
    handle = _handle_message_record if record.type in _SPEAKERS else _dispatch
    events = handle(state, record, source, owner)
    about = state.about
    return [*events, about.describe()] if about.now is not about.emitted else events


def _dispatch(state: ClaudeState, record: ClaudeRecord, source: RawRecord, agent: str) -> list[Event]:
    match record.type:
        case "system":
            return state.emit_pending() + system_records.handle_system(state, record, agent)
        case "progress":
            return state.emit_pending() + system_records.handle_progress(state, record, source, agent)
        case "attachment":
            return state.emit_pending() + system_records.handle_attachment(state, record, agent)
        case "queue-operation":
            return state.emit_pending() + system_records.handle_queue(state, record)
        case "content-replacement":
            return state.emit_pending() + system_records.handle_replacements(state, record)
        case "cost-state" | "result" if not agent:
            return state.emit_pending() + messages.handle_meter(state, source)
        case kind if kind in KINDS:
            return state.emit_pending() + messages.handle_request(state, source, agent)
        case kind if kind in _TITLES:
            state.about.add_title_record(record, is_known=record.leaf_uuid in state.threads.points)
            return []
    return _handle_message_record(state, record, source, agent)


def _handle_message_record(state: ClaudeState, record: ClaudeRecord, source: RawRecord, agent: str) -> list[Event]:
    """Handle a record with a message; one without is at most a link in the chain."""
    message = parse_message(record, source.clean, contexts=state.contexts)
    if message is not None and message.role in _MESSAGE_ROLES:
        if message.role == "user" and not agent and message.parts:
            first = message.parts[0].block
            if first.body.find(_OUTPUT, 0, _BEGINNING) >= 0:
                state.about.set_window(parse_shown_window(read(first).text))
        return messages.handle_message(state, record, message, source, agent)
    return state.emit_pending() + system_records.handle_link(state, record, agent) if record.uuid else []
