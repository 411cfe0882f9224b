"""Bodies that Claude Code wrote to files, joined to the calls of its transcript: such a call is known as it went over
the wire. What no transcript has (a title's call, a compaction's own) becomes a call of its own (facts §13.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import HEADER, Item
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, CallSeen, Event, Happened, Skipped, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.claude_code.message_chain import append
from ctxtui.transcripts.formats.claude_code.threads import UNANSWERED, UNANSWERED_LABEL, aside

if TYPE_CHECKING:
    from ctxtui.transcripts.formats.claude_code.written.bodies import IndexLine, WrittenBodies
    from ctxtui.transcripts.formats.claude_code.written.calls import WrittenCalls
    from ctxtui.transcripts.formats.claude_code.written.request import WrittenRequest

_LISTED: Final = 3
_FAR: Final = 2000
"""Blocks that may follow an answer before the next one."""


class BodyJoin:
    """What the bodies of a session say of its calls.

    `call_at` gives the id of the call whose answer the record with this uuid holds ("" for any other), `sessions` the
    ids of the session that the transcript tells (empty where there is no transcript); `beside` hears of each call that
    only bodies tell of.
    """

    def __init__(
        self,
        tree: Tree,
        call_at: Callable[[str], str],
        sessions: Callable[[], Iterable[str]],
        beside: Callable[[Call], None],
    ) -> None:
        self._tree = tree
        self._call_at = call_at
        self._sessions = sessions
        self._beside = beside
        self._lines: list[IndexLine] = []
        self._active = False
        self._told: dict[str, Call] = {}
        """The transcript's calls as it tells them."""
        self._tips: dict[str, int] = {}
        self._given: dict[str, Call] = {}
        """What was told of a call last, where that is not what the transcript says."""
        self._joined: dict[str, str] = {}
        """Call -> the request that it was told with last."""
        self._lacking: set[str] = set()
        """Calls whose request still lacks thinking."""
        self._shown: dict[str, int] = {}
        self._by_request: dict[str, str] = {}
        self._named: dict[str, str] = {}
        """Message id -> the request id that it was first seen with."""
        self._thoughts: dict[str, str] = {}
        self._ends: dict[int, int] = {}
        """Where an answer ends in the transcript's context -> where it ends in what was sent."""
        self._failed: set[str] = set()

    @cached_property
    def bodies(self) -> WrittenBodies:
        """What is known of them."""
        # Imported here, as all that reads bodies: most sessions have none, and a first screenful need not wait for it.
        from ctxtui.transcripts.formats.claude_code.written.bodies import WrittenBodies

        return WrittenBodies()

    @cached_property
    def _own(self) -> WrittenCalls:
        from ctxtui.transcripts.formats.claude_code.written.calls import WrittenCalls

        return WrittenCalls(self._tree)

    @property
    def calls(self) -> dict[str, Call]:
        """The calls that only bodies tell of."""
        return self._own.calls if self._active else {}

    def line(self, line: IndexLine) -> None:
        """Take in a line of the index."""
        self._lines.append(line)
        self._active = True

    def request(self, name: str, data: bytes) -> WrittenRequest:
        """Take in the request in the file `name`. Raises `Malformed`."""
        self._active = True
        return self.bodies.take_request(name, data, set(self._sessions()))

    def response(self, name: str, value: dict[str, Json]) -> None:
        """Take in the answer in the file `name`. Raises `Malformed`."""
        self._active = True
        self.bodies.take_response(name, value)

    def lacking(self) -> Skipped | None:
        """Which bodies are named and not there, and which requests have no answer on record; None for neither."""
        missing = self.bodies.missing()
        open_ = [name for name in self.bodies.unanswered() if name not in self._failed] if self._told else []
        said = [_counted(missing, "named by the index and not there")] if missing else []
        said += [_counted(open_, "without an answer on record")] if open_ else []
        return Skipped(1, "bodies of requests: " + "; ".join(said)) if said else None

    def unseen(self) -> Skipped | None:
        """How much thinking is not in bodies that no transcript was found for; None where all is."""
        requests = sum("redacted_thinking" in call.extra for call in self.calls.values())
        if not requests:
            return None
        from ctxtui.transcripts.formats.claude_code.written.request import REDACTED

        words = f"the thinking in {requests} requests reads {REDACTED}: the session's transcript was not found"
        return Skipped(1, words)

    def through(self, events: list[Event]) -> list[Event]:
        """The transcript's events, with what the bodies know of their calls."""
        if self._active:
            return self._joined_events(events)
        for event in events:
            if isinstance(event, CallSeen):
                self._told[event.call.id] = event.call
            elif isinstance(event, TipMoved):
                self._tips[event.thread] = event.head
        return events

    def _joined_events(self, events: list[Event]) -> list[Event]:
        found: list[Event] = []
        for event in events:
            if isinstance(event, CallSeen):
                self._told[event.call.id] = event.call
                self._learn(event.call)
                known = self._given[event.call.id] = self._known(event.call)
                found.append(CallSeen(known))
            elif isinstance(event, TipMoved):
                self._tips[event.thread] = event.head
                found += self._tip(event.thread)
            else:
                found.append(event)
        return found

    def settle(self) -> list[Event]:
        """What the bodies that were read so far say beyond what was told."""
        if not self._active:
            return []
        for call in self._told.values():
            if call.id not in self.bodies.calls:
                self._learn(call)
        sessions = set(self._sessions())
        for line in self._lines:
            call_id = self._call_of(line)
            if not sessions or line.session in sessions or call_id in self._told:
                self.bodies.take_line(line, call_id)
            else:
                self.bodies.leave(line)
        self._lines.clear()
        events: list[Event] = []
        for call in list(self._told.values()):
            if self._is_news(call.id) or (events and call.fidelity != Fidelity.WIRE):
                known = self._known(call)
                if known != self._given.get(call.id, call):
                    self._given[call.id] = known
                    events.append(CallSeen(known))
        for event in self._own.events(self.bodies, self._told, self._thoughts):
            events.append(event)
            if isinstance(event, CallSeen):
                self._beside(event.call)
        events += self._attempts()
        for thread in self._tips:
            events += self._tip(thread)
        return events

    def _learn(self, call: Call) -> None:
        """What a call of the transcript tells of the bodies: where it stands, the thinking of its answer."""
        request_id = call.extra.get("requestId")
        if isinstance(request_id, str):
            self._by_request[request_id] = call.id
        from ctxtui.transcripts.formats.claude_code.written.request import ending, thoughts_in, upwards

        self._thoughts |= thoughts_in(self._tree.items(call.response_head, call.raw_head))
        self.bodies.take_call(call.id, ending(upwards(self._tree, call.raw_head), own=True))

    def _call_of(self, line: IndexLine) -> str:
        found = self._call_at(line.uuid) if line.uuid else ""
        if found or line.request_id in self._by_request:
            return found or self._by_request[line.request_id]
        if not line.message_id:
            return line.request_id or line.response
        first = self._named.setdefault(line.message_id, line.request_id)
        # Gateways that give many answers one id: told apart as the transcript's reader does.
        return line.message_id if first == line.request_id else f"{line.message_id}+{line.request_id}"

    def _known(self, call: Call) -> Call:
        """`call` as its body has it; where there is none, going on from what earlier ones sent."""
        request = self.bodies.request_of(call.id)
        self._joined[call.id] = request.name if request is not None else ""
        if request is not None and request.skeleton is not None:
            return self._wired(call, request)
        if call.fidelity == Fidelity.WIRE:
            return call
        head = self._mapped(call.raw_head)
        if head == call.raw_head:
            return call
        said = self._tree.items(call.response_head, call.raw_head)
        response = append(self._tree, head, said)
        self._ends[call.response_head] = response
        return replace(call, raw_head=head, sent_head=head, response_head=response)

    def _wired(self, call: Call, request: WrittenRequest) -> Call:
        from ctxtui.transcripts.formats.claude_code.written.calls import extra_of

        items, out = request.filled(self._thoughts)
        if out:
            self._lacking.add(call.id)
        else:
            self._lacking.discard(call.id)
        head = self._tree.extend(ROOT, items)
        said = [one for one in self._tree.items(call.response_head, call.raw_head) if one.block.kind != HEADER]
        response = said_after(self._tree, head, said)
        self._ends[call.response_head] = response
        extra: dict[str, Json] = {**call.extra, **extra_of(request, out)}
        return replace(
            call,
            raw_head=head,
            sent_head=head,
            response_head=response,
            fidelity=Fidelity.WIRE,
            skeleton=request.skeleton,
            extra=extra,
        )

    def _is_news(self, call: str) -> bool:
        """Whether another request belongs to a call than when it was told last."""
        request = self.bodies.request_of(call)
        name = request.name if request is not None else ""
        return name != self._joined.get(call, "") or call in self._lacking

    def _mapped(self, head: int) -> int:
        """The transcript's context `head` as it goes on from what was sent; itself where nothing was."""
        items: list[Item] = []
        at = head
        while at != ROOT and self._ends and len(items) < _FAR:
            if at in self._ends:
                return append(self._tree, self._ends[at], items[::-1])
            node = self._tree[at]
            items.append(Item(node.block, node.place))
            at = node.parent
        return head

    def _tip(self, thread: str) -> list[Event]:
        head = self._mapped(self._tips[thread])
        if head == self._shown.get(thread):
            return []
        self._shown[thread] = head
        return [TipMoved(thread, head)]

    def _attempts(self) -> list[Event]:
        """Requests of the transcript's threads that failed and were sent again, each told once. A transcript that
        records its requests tells them itself."""
        events: list[Event] = []
        if not self._told or any(call.fidelity == Fidelity.WIRE for call in self._told.values()):
            return events
        from ctxtui.transcripts.formats.claude_code.written.calls import attempt

        for name in self.bodies.unanswered():
            if name in self._failed or not self.bodies.was_sent_again(name):
                continue
            self._failed.add(name)
            beside = self._told.get(self.bodies.call_beside(name))
            thread = beside.thread if beside is not None else MAIN
            at = beside.started if beside is not None else None
            failed = attempt(self._tree, self.bodies.requests[name], aside(thread), self._thoughts)
            seen = ThreadSeen(failed.thread, UNANSWERED_LABEL, thread)
            events += [Happened(UNANSWERED, failed.error, thread, at), seen, CallSeen(failed)]
        return events


def said_after(tree: Tree, head: int, said: Sequence[Item]) -> int:
    """The context after an answer of the parts `said`, spelled as the client sends it back."""
    if not said:
        return head
    opened = tree.child(head, block.header("assistant", {"content": "list"}), said[0].place._replace(mark=""))
    return tree.extend(opened, said)


def _counted(names: Sequence[str], what: str) -> str:
    few = ", ".join(names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{len(names)} {what} ({few}{more})"
