"""What the files of one Claude Code session have told so far, and where each thread stands."""

from __future__ import annotations

from collections import Counter
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
    context,
    follow,
)
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.formats.claude_code.session_info import About
from ctxtui.transcripts.formats.claude_code.side_calls import SideCalls
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread, ClaudeThreads
from ctxtui.transcripts.kit.fields import seconds

if TYPE_CHECKING:
    from ctxtui.transcripts.formats.claude_code.request_log.rebuilt import ClaudeRequests


@dataclass(slots=True)
class ClaudeState:
    """The session as its readers share it.

    `kept` are messages that a compaction keeps, by the record (uuid) that they follow. `queued` are texts that a
    person typed while the agent worked. `silent` and `other` count records that put nothing before the model:
    understood ones, and unknown types. `clock` is the time of the last record of the main file.
    """

    tree: Tree
    answers: Answers
    _: KW_ONLY
    threads: ClaudeThreads = field(default_factory=ClaudeThreads)
    about: About = field(default_factory=About)
    kept: dict[str, list[Item]] = field(default_factory=dict)
    _requests: dict[str, ClaudeRequests] = field(default_factory=dict)
    queued: list[str] = field(default_factory=list)
    silent: Counter[str] = field(default_factory=Counter)
    other: Counter[str] = field(default_factory=Counter)
    order: int = 0
    clock: str | float | None = None
    contexts: bool = field(init=False)
    """Whether contexts are kept; else what calls used is all that is told."""
    side: SideCalls = field(default_factory=SideCalls)
    answering: tuple[ApiResponse, ClaudeThread] | None = None
    """The answer of which records come in, and its thread: its call is told when they have come (`told`)."""

    def __post_init__(self) -> None:
        self.contexts = self.answers.contexts

    def thread(self, record: ClaudeRecord, agent: str) -> tuple[ClaudeThread, list[Event]]:
        """The thread of `record`, and once the event that it exists; `agent` is the subagent whose file it is in."""
        thread = self.threads.of(record, agent)
        if thread.told or thread.id == MAIN:
            return thread, []
        thread.told = True
        return thread, [ThreadSeen(thread.id, parent=MAIN)]

    def requests(self, agent: str) -> ClaudeRequests:
        """The requests of the file of the subagent `agent` ("" for the session's own)."""
        found = self._requests.get(agent)
        if found is None:
            # Imported here: most sessions are of clients that do not write them down.
            from ctxtui.transcripts.formats.claude_code.request_log.rebuilt import ClaudeRequests

            shared = self.requests("").store if agent else None
            found = self._requests[agent] = ClaudeRequests(self.tree, shared)
        return found

    def register(self, record: ClaudeRecord, point: Point) -> Point:
        """Remember where `record` stands, for the records that follow it."""
        if record.uuid:
            self.threads.points[record.uuid] = point
            if self.about.waiting:
                self.about.seen(record.uuid)
        return point

    def side_calls(self) -> list[Event]:
        """What the client counts and does not record, once every subagent that is known has been read."""
        if not self.threads.complete:
            return []
        return self.side.news(self.answers.calls)

    def told(self) -> list[Event]:
        """The call whose answer came in, now that another record or nothing more follows."""
        if self.answering is None:
            return []
        answer, thread = self.answering
        self.answering = None
        return [CallSeen(self.answers.told(answer, thread)), *self.moved(thread)]

    def number(self) -> int:
        """The number of the next record."""
        self.order += 1
        return self.order

    def add(
        self, record: ClaudeRecord, parent: Point, kind: str, items: Iterable[Item] = (), rendered: bool = False
    ) -> Point:
        """The point of `record`, which puts `items` after `parent`; `rendered`: an attachment as it was sent."""
        return self.register(record, follow(parent, self.number(), seconds(record.timestamp), kind, items, rendered))

    def move(self, thread: ClaudeThread, point: Point) -> list[Event]:
        """Let `thread` end at `point`, if that leads on; tells where it ends where that is news."""
        if _leads_on(thread.tip, point):
            thread.tip = point
        return self.moved(thread)

    def moved(self, thread: ClaudeThread) -> list[Event]:
        """The event that `thread` ends elsewhere now, if it does."""
        if not self.contexts:
            return []
        head = context(self.tree, thread.tip) if thread.tip is not None else thread.head
        if head == thread.head:
            return []
        thread.head = head
        return [TipMoved(thread.id, head)]


def _leads_on(tip: Point | None, point: Point) -> bool:
    if tip is None or point.kind == SAID:
        return True
    if point.kind == PASSING:
        return False
    if point.anchor is not tip.anchor:
        return point.kind == CLIENT and point.anchor.began is not None and not point.anchor.used
    # The results of parallel calls stand on branches beside one another; what a person said since does not.
    above: Point | None = point
    while above is not None and above is not tip:
        above = above.up
    return above is tip or tip.kind != SAID
