"""The exchanges of a session that Claude Code wrote to files, as calls: for its transcript to be joined with, or a
session by themselves. What no transcript has (a title's call, a compaction's own) has a thread of its own (facts
§13.1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ctxtui.core.call import Call, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.session import Event, Session, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.claude_code.written.bodies import IndexLine, WrittenBodies
from ctxtui.transcripts.formats.claude_code.written.calls import WrittenCalls
from ctxtui.transcripts.formats.claude_code.written.request import (
    REDACTED,
    WrittenRequest,
    ending,
    thoughts_in,
    upwards,
)

_LISTED: Final = 3


class WrittenExchanges:
    """What the files of bodies say. `sessions` are the ids of the session that the transcript tells (empty where there
    is no transcript)."""

    def __init__(self, tree: Tree, sessions: Collection[str] = ()) -> None:
        self._tree = tree
        self._sessions = sessions
        self._lines: list[IndexLine] = []
        self._told: dict[str, Call] = {}
        """The transcript's calls as it tells them."""
        self._by_request: dict[str, str] = {}
        self._named: dict[str, str] = {}
        """Message id -> the request id that it was first seen with."""
        self._thoughts: dict[str, str] = {}
        self.bodies = WrittenBodies()
        self._calls = WrittenCalls(tree)

    def line(self, line: IndexLine) -> None:
        """Take in a line of the index."""
        self._lines.append(line)

    def request(self, name: str, data: bytes) -> WrittenRequest:
        """Take in the request in the file `name`. Raises `Malformed`."""
        return self.bodies.take_request(name, data, self._sessions)

    def response(self, name: str, value: dict[str, Json]) -> None:
        """Take in the answer in the file `name`. Raises `Malformed`."""
        self.bodies.take_response(name, value)

    def lacking(self) -> Skipped | None:
        """Which bodies are named and not there, and which requests have no answer on record; None for neither."""
        missing = self.bodies.missing()
        unanswered = self.bodies.unanswered() if self._told else []
        open_ = [name for name in unanswered if not self.bodies.was_sent_again(name)]
        said = [_counted(missing, "named by the index and not there")] if missing else []
        said += [_counted(open_, "without an answer on record")] if open_ else []
        return Skipped(1, "bodies of requests: " + "; ".join(said)) if said else None

    def unseen(self) -> Skipped | None:
        """How much thinking is not in bodies that no transcript was found for; None where all is."""
        requests = sum("redacted_thinking" in call.extra for call in self._calls.calls.values())
        if not requests:
            return None
        words = f"the thinking in {requests} requests reads {REDACTED}: the session's transcript was not found"
        return Skipped(1, words)

    def settle(self, transcript: Session | None = None) -> list[Event]:
        """The calls of the bodies that were read so far, as far as they are news; a call that the `transcript` tells
        has the id that it has there."""
        for call in transcript.calls.values() if transcript is not None else ():
            if self._told.get(call.id) is not call and call.fidelity != Fidelity.TOTALS:
                self._learn(call)
        for line in self._lines:
            call_id = self._call_of(line)
            if not self._sessions or line.session in self._sessions or call_id in self._told:
                self.bodies.take_line(line, call_id)
            else:
                self.bodies.leave(line)
        self._lines.clear()
        return self._calls.events(self.bodies, self._told if transcript is not None else None, self._thoughts)

    def _learn(self, call: Call) -> None:
        """What a call of the transcript tells of the bodies: where it stands, the thinking of its answer."""
        self._told[call.id] = call
        request_id = call.extra.get("requestId")
        if isinstance(request_id, str):
            self._by_request[request_id] = call.id
        self._thoughts |= thoughts_in(self._tree.items(call.response_head, call.raw_head))
        self.bodies.take_call(call.id, ending(upwards(self._tree, call.raw_head), own=True))

    def _call_of(self, line: IndexLine) -> str:
        if line.request_id in self._by_request:
            return self._by_request[line.request_id]
        if not line.message_id:
            return line.request_id or line.response
        first = self._named.setdefault(line.message_id, line.request_id)
        # Gateways that give many answers one id: told apart as the transcript's reader does.
        return line.message_id if first == line.request_id else f"{line.message_id}+{line.request_id}"


def _counted(names: Sequence[str], what: str) -> str:
    few = ", ".join(names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{len(names)} {what} ({few}{more})"
