"""State shared by the readers of one Claude Code session's files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from ctxtui.core.block import Item
from ctxtui.core.session import MAIN, CallSeen, Event, ThreadSeen, TipMoved
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.claude_code.answers import Answers
from ctxtui.transcripts.formats.claude_code.message_chain import (
    CLIENT,
    PASSING,
    SAID,
    ApiResponse,
    Point,
    add_point,
    build_context,
)
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.formats.claude_code.session_info import About
from ctxtui.transcripts.formats.claude_code.side_calls import SideCalls
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread, ClaudeThreads
from ctxtui.transcripts.kit.fields import parse_timestamp

if TYPE_CHECKING:
    from ctxtui.transcripts.formats.claude_code.request_log.rebuilt import ClaudeRequests


@dataclass(slots=True)
class ClaudeState:
    """The state of one session.

    A point is a record's position in the chain of records (`Point`).

    - `kept_messages`: messages that a compaction keeps, by the record (uuid) that they follow.
    - `queued`: texts that arrived while the agent worked.
    - `order`: number of the last point (`Point.order`).
    - `clock`: time of the last record of the main file.
    """

    tree: Tree
    answers: Answers
    _: KW_ONLY
    threads: ClaudeThreads = field(default_factory=ClaudeThreads)
    about: About = field(default_factory=About)
    kept_messages: dict[str, list[Item]] = field(default_factory=dict)
    _requests: dict[str, ClaudeRequests] = field(default_factory=dict)
    queued: list[str] = field(default_factory=list)
    order: int = 0
    clock: str | float | None = None
    side: SideCalls = field(default_factory=SideCalls)
    answering: tuple[ApiResponse, ClaudeThread] | None = None
    """The answer whose records are being read, and its thread; its call is emitted after them (`emit_pending`)."""

    @property
    def contexts(self) -> bool:
        return self.answers.contexts

    def thread(self, record: ClaudeRecord, agent: str) -> tuple[ClaudeThread, list[Event]]:
        """Return the thread of `record`, and its first event if new."""
        thread = self.threads.find(record, agent)
        if thread.announced or thread.id == MAIN:
            return thread, []
        thread.announced = True
        return thread, [ThreadSeen(thread.id, parent=MAIN)]

    def requests(self, agent: str) -> ClaudeRequests:
        """Return the requests in the file of the subagent `agent` ("" for the session's own)."""
        requests = self._requests.get(agent)
        if requests is None:
            # Imported late: most clients do not record requests.
            from ctxtui.transcripts.formats.claude_code.request_log.rebuilt import ClaudeRequests

            shared = self.requests("").store if agent else None
            requests = self._requests[agent] = ClaudeRequests(self.tree, shared)
        return requests

    def register(self, record: ClaudeRecord, point: Point) -> Point:
        """Register the position of `record` for records that follow it."""
        if record.uuid:
            self.threads.points[record.uuid] = point
            if self.about.waiting:
                self.about.resolve_summary(record.uuid)
        return point

    def side_calls(self) -> list[Event]:
        """Return events for unrecorded usage, once every known subagent has been read."""
        if not self.threads.complete:
            return []
        return self.side.unrecorded_events(self.answers.calls)

    def emit_pending(self) -> list[Event]:
        """Emit the pending call, whose answer is complete."""
        if self.answering is None:
            return []
        answer, thread = self.answering
        self.answering = None
        return [CallSeen(self.answers.build_call(answer, thread)), *self.tip_events(thread)]

    def next_number(self) -> int:
        self.order += 1
        return self.order

    def add(
        self, record: ClaudeRecord, parent: Point, kind: str, items: Iterable[Item] = (), rendered: bool = False
    ) -> Point:
        """Add the point of `record`; `rendered`: its items are an attachment as it was sent."""
        return self.register(
            record, add_point(parent, self.next_number(), parse_timestamp(record.timestamp), kind, items, rendered)
        )

    def move(self, thread: ClaudeThread, point: Point) -> list[Event]:
        """Move the tip of `thread` to `point`, unless it adds nothing or is on a parallel branch."""
        if _becomes_tip(thread.tip, point):
            thread.tip = point
        return self.tip_events(thread)

    def tip_events(self, thread: ClaudeThread) -> list[Event]:
        """Return the event for the tip of `thread` if it changed; none if contexts are not built."""
        if not self.contexts:
            return []
        head = build_context(self.tree, thread.tip) if thread.tip is not None else thread.head
        if head == thread.head:
            return []
        thread.head = head
        return [TipMoved(thread.id, head)]


def _becomes_tip(tip: Point | None, point: Point) -> bool:
    if tip is None or point.kind == SAID:
        return True
    if point.kind == PASSING:
        return False
    if point.anchor is not tip.anchor:
        return point.kind == CLIENT and point.anchor.began is not None and not point.anchor.used
    # The results of parallel calls are on parallel branches; a person's later text is not.
    ancestor: Point | None = point
    while ancestor is not None and ancestor is not tip:
        ancestor = ancestor.up
    return ancestor is tip or tip.kind != SAID
