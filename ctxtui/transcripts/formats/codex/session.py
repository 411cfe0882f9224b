"""Turns the records of a Codex rollout, the file of one session, into events."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_str
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Happened, Skipped, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.codex import items
from ctxtui.transcripts.formats.codex.calls import Calls, TokenCounts, parse_counts, parse_usage_record
from ctxtui.transcripts.formats.codex.items import ITEM, TYPES, UNSENT, CodexRecord, decode
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import COPIED_LINES, one_line, parse_timestamp, replace_surrogates
from ctxtui.transcripts.kit.quota import read_rate_limits
from ctxtui.transcripts.kit.records import BrokenRecord, Piece, RawRecord, RecordStream
from ctxtui.transcripts.reader import Reader

_SYSTEM = Place("system")
_KEPT_ROLES = frozenset({"user", "developer", "system"})
"""Roles whose messages a compaction in an old file keeps."""


class History(Struct):
    """The context so far: `head` in `tree`.

    `turns` are the contexts before each message that is to be answered.
    """

    tree: Tree
    head: int = ROOT
    turns: list[int] = field(default_factory=list)
    _instructions: list[Item] = field(default_factory=list)
    _as_item: bool = False
    _expects_item: bool = False

    def set_instructions(self, text: str) -> None:
        """Put the base instructions first, unless an item of the history has them."""
        if not self._instructions and text and not self._as_item:
            self._instructions = [Item(block.text(text), _SYSTEM)]
            self.head = self.tree.extend(self.head, self._instructions)

    def expect_item(self) -> None:
        """Note that this client sends base instructions as an item.

        If none arrived before the model's first item, the client did not know the model and sent other instructions
        than those of `session_meta`, which are not recorded (facts §13).
        """
        self._expects_item = True

    def _remove_instructions(self) -> None:
        """Remove the base instructions of `session_meta`: an item has them, or others were sent."""
        self._as_item = True
        if not self._instructions:
            return
        first = self.tree.extend(ROOT, self._instructions)
        self._instructions = []
        if not self.tree.holds(self.head, first):
            return
        moved = {first: ROOT}
        for node in self.tree.path(self.head, first):
            node_row = self.tree[node]
            moved[node] = self.tree.child(moved[node_row.parent], node_row.block, node_row.place)
        self.head = moved[self.head]
        self.turns = [moved.get(turn, turn) for turn in self.turns]

    def add(self, message: items.CodexMessage) -> int:
        """Append an item; returns the context before it."""
        if not self._as_item and (message.base or (message.by_model and self._expects_item)):
            self._remove_instructions()
        before = self.head
        if message.asks:
            self.turns.append(before)
        self.head = self.tree.extend(before, message.items)
        return before

    def compact(self, payload: dict[str, Json]) -> None:
        """Apply a compaction: its replacement history becomes the context.

        In old files without one, the messages of user, developer and system stay, and the summary follows them.
        """
        replacement, summary = payload.get("replacement_history"), payload.get("message")
        new: Iterable[Item]
        if isinstance(replacement, list):
            messages = [items.item_from_value(value) for value in replacement]
            if any(message.base for message in messages):
                self._remove_instructions()
            new = [item for message in messages for item in message.items]
        else:
            new = self._user_items()
            if isinstance(summary, str) and summary:
                place = Place("messages", "user", items.SUMMARY)
                new = [*new, Item(block.header("user"), place), Item(block.text(summary), place)]
        self.turns.clear()
        self.head = self.tree.extend(ROOT, [*self._instructions, *new])

    def _user_items(self) -> list[Item]:
        kept_items, keeping = [], False
        for item in self.tree.items(self.head):
            if item.block.kind == HEADER:
                keeping = item.place.role in _KEPT_ROLES
            if keeping and item.place.role in _KEPT_ROLES and item.place.section == "messages":
                kept_items.append(item)
        return kept_items

    def roll_back(self, turns: int) -> None:
        """Remove the last `turns` user turns; those before a compaction stay."""
        if turns > 0 and self.turns:
            self.head = self.turns[-min(turns, len(self.turns))]
            del self.turns[-turns:]


NAME: Final = "codex"

_TYPE: Final = re.compile(rb'"type":\s*"([^"\\]*)"')
_ERRORS: Final = frozenset({"error", "stream_error"})
_BOUNDS: Final = frozenset({"task_started", "task_complete", "turn_started", "turn_complete"})
"""Events at which a turn begins or ends, and with it any call."""


class _Event(msgspec.Struct):
    type: str | None = None


_event_decoder: Final = msgspec.json.Decoder(_Event)


class _CodexSession:
    """State of one rollout; that of a subagent is a thread in the session of the `main` one."""

    def __init__(self, tree: Tree, main: _CodexSession | None = None, name: str = "") -> None:
        self.tree = tree
        self._main = main
        self.thread = MAIN if main is None else name.removesuffix(".jsonl")
        self._history = History(tree)
        self._calls: Calls = Calls(thread=self.thread, owners=main._calls.owners if main else {})
        self._about = Described()
        self._tip = ROOT

    def handle_record(self, record: CodexRecord, source: RawRecord) -> list[Event]:
        match record.type:
            case "response_item":
                return self._handle_item(record, source)
            case "event_msg":
                return self._handle_event(record, source)
            case "turn_context":
                self._handle_turn_context(record.value())
                return []
            case "compacted":
                return self._handle_compaction(record.value())
            case "session_meta":
                return self._handle_meta(record.value())
            case "token_usage_record":
                return self._handle_count(parse_usage_record(record.value()), record, source)
        if record.type in UNSENT:
            state = record.value().get("state")
            if isinstance(state, dict) and as_str(state.get("model_catalog")):
                self._history.expect_item()
        return []

    def handle_broken(self, piece: BrokenRecord) -> list[Event]:
        """Add an unreadable block in place of an item or a compaction that cannot be parsed.

        A line without a legible type may be one.
        """
        match = _TYPE.search(piece.raw)
        if match is not None and match.group(1).decode("utf-8", "replace") not in (ITEM, "message", "compacted"):
            return []
        place = Place("messages", "user")
        unreadable = block.unreadable(f"line {piece.line}", piece.reason)
        self._history.add(items.CodexMessage(items=[Item(block.header("user"), place), Item(unreadable, place)]))
        return self._emit_tip()

    def _emit_tip(self) -> list[Event]:
        if self._history.head == self._tip:
            return []
        self._tip = self._history.head
        return [TipMoved(self.thread, self._tip)]

    def _describe(self, **news: Json) -> list[Event]:
        changed = {key: value for key, value in news.items() if value and value != getattr(self._about, key)}
        if not changed:
            return []
        self._about = replace(self._about, source=NAME, **changed)
        # Only the main rollout describes the session.
        return [self._about] if self._main is None else []

    def _announce(self, meta: dict[str, Json]) -> list[Event]:
        if self._main is None:
            return []
        source = meta.get("source")
        agent = source.get("subagent") if isinstance(source, dict) else None
        spawn = agent.get("thread_spawn") if isinstance(agent, dict) else None
        spawn_info = {**spawn, **meta} if isinstance(spawn, dict) else meta
        self.thread = self._calls.thread = as_str(meta.get("id")) or self.thread
        path = as_str(spawn_info.get("agent_path")) or (
            as_str(spawn.get("agent_path")) if isinstance(spawn, dict) else ""
        )
        label = path.removeprefix("/root/") or as_str(spawn_info.get("agent_nickname"))
        parent = as_str(spawn_info.get("parent_thread_id"))
        return [ThreadSeen(self.thread, label, parent if parent and parent != self._main.id else MAIN)]

    def _handle_meta(self, meta: dict[str, Json]) -> list[Event]:
        id_ = as_str(meta.get("id")) or as_str(meta.get("session_id"))
        if self._about.id:
            # Forks repeat their parent's record; the first one describes the file.
            # The client repeats its own with every turn (facts §13), so a repetition alone is no restart; another
            # version of the client may send other tools.
            if id_ != self._about.id and not self._calls.last:
                self._calls.root = id_
            version = as_str(meta.get("cli_version"))
            if id_ == self._about.id and version and version != self._about.version:
                self._calls.begin(EpochStart.CLIENT)
                return self._describe(version=version)
            return []
        self._calls.root = as_str(meta.get("forked_from_id")) or id_
        self._calls.provider = as_str(meta.get("model_provider")) or self._calls.provider
        self._calls.copied_lines = as_count(meta.get(COPIED_LINES))
        base = meta.get("base_instructions")
        self._history.set_instructions(as_str(base.get("text") if isinstance(base, dict) else base))
        described = self._describe(
            id=id_,
            cwd=replace_surrogates(as_str(meta.get("cwd"))),
            client=as_str(meta.get("originator")),
            version=as_str(meta.get("cli_version")),
        )
        return [*self._announce(meta), *described, *self._emit_tip()]

    @property
    def id(self) -> str:
        return self._about.id

    def _handle_turn_context(self, context: dict[str, Json]) -> None:
        self._calls.model = as_str(context.get("model")) or self._calls.model
        self._calls.effort = as_str(context.get("effort"))

    def _handle_item(self, record: CodexRecord, source: RawRecord) -> list[Event]:
        message, calls = items.parse_item(record.payload, record.clean), self._calls
        if not message.items:
            return []
        before = self._history.add(message)
        events: list[Event] = []
        if message.by_model:
            name = message.id or f"{record.timestamp} {calls.model} {message.items[-1].block.digest}"
            span = (source.start, source.end)
            events += self._emit_calls(
                calls.add_item(before, self._history.head, name, record.timestamp, source.line, span)
            )
        elif message.answers:
            calls.answered = True
        elif message.asks:
            calls.spoken = True
            events += [] if self._about.title else self._describe(title=one_line(message.words))
        time = parse_timestamp(record.timestamp)
        calls.newest = time if calls.newest is None or (time is not None and time > calls.newest) else calls.newest
        return [*events, *self._emit_tip()]

    def _handle_event(self, record: CodexRecord, source: RawRecord) -> list[Event]:
        try:
            kind = _event_decoder.decode(record.payload).type or ""
        except msgspec.MsgspecError:
            kind = as_str(record.value().get("type"))
        if kind == "token_count":
            event = record.value()
            quotas = read_rate_limits(event.get("rate_limits"), parse_timestamp(record.timestamp))
            return [*self._handle_count(parse_counts(event.get("info")), record, source), *quotas]
        if kind in _BOUNDS:
            self._calls.close()
            window = record.value().get("model_context_window")
            tokens = window if isinstance(window, int) and not isinstance(window, bool) and window > 0 else 0
            self._calls.window = tokens or self._calls.window
            return self._describe(window=tokens)
        if kind == "turn_aborted":
            self._calls.close()
            return [self._make_happening("interrupt", record, "reason")]
        if kind in _ERRORS:
            return [self._make_happening("api error", record, "message")]
        if kind == "thread_rolled_back":
            turns = record.value().get("num_turns")
            self._history.roll_back(turns if isinstance(turns, int) else 0)
            self._calls.begin(EpochStart.REWIND)
            return self._emit_tip()
        return []

    def _make_happening(self, kind: str, record: CodexRecord, key: str) -> Happened:
        text = replace_surrogates(as_str(record.value().get(key))) or kind
        return Happened(kind, text, self.thread, parse_timestamp(record.timestamp), self._calls.last)

    def _handle_compaction(self, payload: dict[str, Json]) -> list[Event]:
        summary = as_str(payload.get("message"))
        response = as_str(payload.get("compaction_response_id"))

        def says(call: Call) -> bool:
            if call.response_head == call.sent_head:
                # Usage without an item, directly before the summary.
                return True
            words = [read(self.tree[node].block).text for node in self.tree.path(call.response_head, call.sent_head)]
            return any(text and summary.endswith(text) for text in words)

        call = self._calls.compact(response, says)
        self._history.compact(payload)
        events: list[Event] = []
        if call is not None and self._calls.is_own(call):
            events = [ThreadSeen(call.thread, "compaction", self.thread), CallSeen(call)]
        return [*events, *self._emit_tip()]

    def _emit_calls(self, *calls: Call) -> list[Event]:
        return [CallSeen(call) for call in calls if self._calls.is_own(call)]

    def _handle_count(self, counts: TokenCounts, record: CodexRecord, source: RawRecord) -> list[Event]:
        span = (source.start, source.end)
        calls = self._calls.add_count(counts, self._history.head, record.timestamp, source.line, span)
        return [*self._describe(window=counts.window), *self._emit_calls(*calls)]


# Subagents have separate rollouts in the folder of the day, among those of other sessions: see `is_companion`.
_IDS: Final = {
    name: re.compile(rb'"' + name.encode() + rb'"\s*:\s*"([^"\\]{8,})"')
    for name in ("id", "session_id", "parent_thread_id")
}


def is_companion(head: bytes, other: bytes) -> bool:
    """Whether a rollout is a subagent's of the session that begins with `head` (facts §13)."""
    own_ids, other_ids = _find_ids(head), _find_ids(other)
    if not own_ids["id"] or other_ids["id"] == own_ids["id"]:
        return False
    return own_ids["id"] in (other_ids["session_id"], other_ids["parent_thread_id"])


def _find_ids(head: bytes) -> dict[str, bytes]:
    line = head.partition(b"\n")[0]
    matches = {name: pattern.search(line) for name, pattern in _IDS.items()} if b"session_meta" in line else {}
    return {name: match.group(1) if (match := matches.get(name)) else b"" for name in _IDS}


def sniff(head: bytes, name: str) -> float:
    records = file_head.parse_records(head, 20)
    if any(isinstance(r.get("payload"), dict) and str(r.get("type")) in TYPES and "timestamp" in r for r in records):
        return 0.97
    first = records[0] if records else {}
    if isinstance(first.get("session"), dict) and isinstance(first.get("items"), list):
        return 0.9
    if any("record_type" in r for r in records[:3]):
        return 0.9
    bare = {"id", "timestamp"} <= first.keys() and "role" not in first and "type" not in first
    return 0.85 if bare and {"instructions", "git"} & first.keys() else 0.0


class CodexReader(Reader):
    """Reads one rollout; `part` makes readers for those of its subagents."""

    def __init__(self, tree: Tree, main: _CodexSession | None = None, name: str = "") -> None:
        self._stream = RecordStream()
        self._session = _CodexSession(tree, main, name)
        self._name = name

    @property
    def tail(self) -> Skipped | None:
        tail = self._stream.tail
        return None if tail is None else self._with_name(tail)

    def feed(self, data: bytes) -> list[Event]:
        return self._handle_pieces(self._stream.feed(data))

    def settle(self) -> list[Event]:
        return self._handle_pieces(self._stream.settle())

    def part(self, name: str) -> CodexReader:
        return CodexReader(self._session.tree, self._session, name)

    def _with_name(self, skipped: Skipped) -> Skipped:
        return Skipped(skipped.line, f"{self._name}: {skipped.reason}") if self._name else skipped

    def _handle_pieces(self, pieces: list[Piece]) -> list[Event]:
        events: list[Event] = []
        for piece in pieces:
            if isinstance(piece, RawRecord):
                if piece.note:
                    events.append(self._with_name(Skipped(piece.line, piece.note)))
                for record in decode(piece.raw, piece.clean is True):
                    events += self._session.handle_record(record, piece)
            else:
                events.append(self._with_name(Skipped(piece.line, piece.reason)))
                if isinstance(piece, BrokenRecord):
                    events += self._session.handle_broken(piece)
        return events


reader = CodexReader
