"""The records of one Codex rollout -> events."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import msgspec
from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Happened, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.codex import items
from ctxtui.transcripts.formats.codex.calls import Calls
from ctxtui.transcripts.formats.codex.history import History
from ctxtui.transcripts.formats.codex.records import COPIED_LINES, ITEM, UNSENT, CodexRecord
from ctxtui.transcripts.formats.codex.usage import Counts, counts_of, record_of
from ctxtui.transcripts.kit.fields import count, one_line, plain
from ctxtui.transcripts.kit.quota import in_rate_limits
from ctxtui.transcripts.kit.record_pieces import Broken, FoundObject
from ctxtui.transcripts.kit.timestamps import seconds

NAME: Final = "codex"

_TYPE: Final = re.compile(rb'"type":\s*"([^"\\]*)"')
_ERRORS: Final = frozenset({"error", "stream_error"})
_BOUNDS: Final = frozenset({"task_started", "task_complete", "turn_started", "turn_complete"})


class _Event(msgspec.Struct):
    type: str | None = None


_event: Final = msgspec.json.Decoder(_Event)


class CodexSession:
    """What a rollout has told so far. `other` counts records of unknown types, which put nothing before the model.

    A subagent's rollout, the file `name`, is told to the session of the `main` one as a thread of it.
    """

    def __init__(self, tree: Tree, main: CodexSession | None = None, name: str = "") -> None:
        self.tree = tree
        self._main = main
        self.thread = MAIN if main is None else name.removesuffix(".jsonl")
        self.other: Counter[str] = Counter()
        self._history = History(tree)
        self._calls: Calls = Calls(thread=self.thread, owners=main._calls.owners if main else {})
        self._about = Described()
        self._tip = ROOT

    def take(self, record: CodexRecord, found: FoundObject) -> list[Event]:
        """The events that one record makes."""
        match record.type:
            case "response_item":
                return self._item(record, found)
            case "event_msg":
                return self._event(record, found)
            case "turn_context":
                self._turn_context(record.value())
                return []
            case "compacted":
                return self._compacted(record.value())
            case "session_meta":
                return self._meta(record.value())
            case "token_usage_record":
                return self._counted(record_of(record.value()), record, found)
        if record.type in UNSENT:
            state = record.value().get("state")
            if isinstance(state, dict) and _word(state.get("model_catalog")):
                self._history.expect_item()
            return []
        self.other[record.type or "no type"] += 1
        return []

    def broken(self, piece: Broken) -> list[Event]:
        """Text that is no record: an unreadable block stands where an item would."""
        found = _TYPE.search(piece.raw)
        if found is not None and found.group(1).decode("utf-8", "replace") not in (ITEM, "message", "compacted"):
            return []
        place = Place("messages", "user")
        unreadable = block.unreadable(f"line {piece.line}", piece.reason)
        self._history.add(items.CodexMessage(items=[Item(block.header("user"), place), Item(unreadable, place)]))
        return self._moved()

    def _moved(self) -> list[Event]:
        if self._history.head == self._tip:
            return []
        self._tip = self._history.head
        return [TipMoved(self.thread, self._tip)]

    def _describe(self, **news: Json) -> list[Event]:
        changed = {key: value for key, value in news.items() if value and value != getattr(self._about, key)}
        if not changed:
            return []
        self._about = replace(self._about, source=NAME, **changed)
        # The session is what its main rollout says it is.
        return [self._about] if self._main is None else []

    def _began(self, meta: dict[str, Json]) -> list[Event]:
        """A subagent's thread begins."""
        if self._main is None:
            return []
        source = meta.get("source")
        agent = source.get("subagent") if isinstance(source, dict) else None
        spawn = agent.get("thread_spawn") if isinstance(agent, dict) else None
        told = {**spawn, **meta} if isinstance(spawn, dict) else meta
        self.thread = self._calls.thread = _word(meta.get("id")) or self.thread
        path = _word(told.get("agent_path")) or (_word(spawn.get("agent_path")) if isinstance(spawn, dict) else "")
        label = path.removeprefix("/root/") or _word(told.get("agent_nickname"))
        parent = _word(told.get("parent_thread_id"))
        return [ThreadSeen(self.thread, label, parent if parent and parent != self._main.id else MAIN)]

    def _meta(self, meta: dict[str, Json]) -> list[Event]:
        id_ = _word(meta.get("id")) or _word(meta.get("session_id"))
        if self._about.id:
            # Forks repeat the record of what they came from; the first names the file.
            # The client repeats its own with every turn (facts §13), so that alone is no restart; another version of
            # the client may send other tools.
            if id_ != self._about.id and not self._calls.last:
                self._calls.root = id_
            version = _word(meta.get("cli_version"))
            if id_ == self._about.id and version and version != self._about.version:
                self._calls.begin(EpochStart.CLIENT)
                return self._describe(version=version)
            return []
        self._calls.root = _word(meta.get("forked_from_id")) or id_
        self._calls.provider = _word(meta.get("model_provider")) or self._calls.provider
        self._calls.copied_lines = count(meta.get(COPIED_LINES))
        base = meta.get("base_instructions")
        self._history.instruct(_word(base.get("text") if isinstance(base, dict) else base))
        told = self._describe(
            id=id_,
            cwd=plain(_word(meta.get("cwd"))),
            client=_word(meta.get("originator")),
            version=_word(meta.get("cli_version")),
        )
        return [*self._began(meta), *told, *self._moved()]

    @property
    def id(self) -> str:
        """The id of the rollout's own thread."""
        return self._about.id

    def _turn_context(self, context: dict[str, Json]) -> None:
        self._calls.model = _word(context.get("model")) or self._calls.model
        self._calls.effort = _word(context.get("effort"))

    def _item(self, record: CodexRecord, found: FoundObject) -> list[Event]:
        said, calls = items.said(record.payload, record.clean), self._calls
        if not said.items:
            return []
        before = self._history.add(said)
        events: list[Event] = []
        if said.by_model:
            name = said.id or f"{record.timestamp} {calls.model} {said.items[-1].block.digest}"
            span = (found.start, found.end)
            events += self._seen(calls.wrote(before, self._history.head, name, record.timestamp, found.line, span))
        elif said.answers:
            calls.answered = True
        elif said.asks:
            calls.spoken = True
            events += [] if self._about.title else self._describe(title=one_line(said.words))
        at = seconds(record.timestamp)
        calls.newest = at if calls.newest is None or (at is not None and at > calls.newest) else calls.newest
        return [*events, *self._moved()]

    def _event(self, record: CodexRecord, found: FoundObject) -> list[Event]:
        try:
            kind = _event.decode(record.payload).type or ""
        except msgspec.MsgspecError:
            kind = _word(record.value().get("type"))
        if kind == "token_count":
            told = record.value()
            quotas = in_rate_limits(told.get("rate_limits"), seconds(record.timestamp))
            return [*self._counted(counts_of(told.get("info")), record, found), *quotas]
        if kind in _BOUNDS:
            self._calls.close()
            window = record.value().get("model_context_window")
            known = window if isinstance(window, int) and not isinstance(window, bool) and window > 0 else 0
            self._calls.window = known or self._calls.window
            return self._describe(window=known)
        if kind == "turn_aborted":
            self._calls.close()
            return [self._happened("interrupt", record, "reason")]
        if kind in _ERRORS:
            return [self._happened("api error", record, "message")]
        if kind == "thread_rolled_back":
            turns = record.value().get("num_turns")
            self._history.take_back(turns if isinstance(turns, int) else 0)
            self._calls.begin(EpochStart.REWIND)
            return self._moved()
        return []

    def _happened(self, kind: str, record: CodexRecord, key: str) -> Happened:
        words = plain(_word(record.value().get(key))) or kind
        return Happened(kind, words, self.thread, seconds(record.timestamp), self._calls.last)

    def _compacted(self, payload: dict[str, Json]) -> list[Event]:
        summary = _word(payload.get("message"))
        response = _word(payload.get("compaction_response_id"))

        def says(call: Call) -> bool:
            if call.response_head == call.sent_head:
                # Usage without any item, right before the summary.
                return True
            words = [read(self.tree[node].block).text for node in self.tree.path(call.response_head, call.sent_head)]
            return any(text and summary.endswith(text) for text in words)

        call = self._calls.compacted(response, says)
        self._history.compact(payload)
        made: list[Event] = []
        if call is not None and self._calls.own(call):
            made = [ThreadSeen(call.thread, "compaction", self.thread), CallSeen(call)]
        return [*made, *self._moved()]

    def _seen(self, *calls: Call) -> list[Event]:
        return [CallSeen(call) for call in calls if self._calls.own(call)]

    def _counted(self, counts: Counts, record: CodexRecord, found: FoundObject) -> list[Event]:
        span = (found.start, found.end)
        calls = self._calls.counted(counts, self._history.head, record.timestamp, found.line, span)
        return [*self._describe(window=counts.window), *self._seen(*calls)]


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""
