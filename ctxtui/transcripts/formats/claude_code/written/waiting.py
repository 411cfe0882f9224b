"""A session's bodies before there is any: most sessions have none, and what reads them is then not even imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from ctxtui.core.call import Call
from ctxtui.core.session import CallSeen, Event, TipMoved
from ctxtui.core.tree import Tree

if TYPE_CHECKING:
    from ctxtui.transcripts.formats.claude_code.written.join import BodyJoin

INDEX: Final = "index.jsonl"
REQUEST: Final = ".request.json"
RESPONSE: Final = ".response.json"


def is_body_name(name: str) -> bool:
    """Whether a companion file called `name` is one of those that the client writes."""
    return name == INDEX or name.endswith((REQUEST, RESPONSE))


class AwaitedBodies:
    """What bodies say of the calls of a transcript, as far as there are any. The arguments are those of `BodyJoin`."""

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
        self._told: dict[str, Call] = {}
        """The transcript's calls as it tells them ..."""
        self._tips: dict[str, int] = {}
        """... and where its threads end."""
        self._join: BodyJoin | None = None

    @property
    def join(self) -> BodyJoin:
        """What joins bodies to the calls told so far: for the first file that holds one."""
        if self._join is None:
            from ctxtui.transcripts.formats.claude_code.written.join import BodyJoin

            self._join = BodyJoin(self._tree, self._call_at, self._sessions, self._beside, self._told, self._tips)
        return self._join

    @property
    def calls(self) -> dict[str, Call]:
        """The calls that only bodies tell of."""
        return self._join.calls if self._join is not None else {}

    def through(self, events: list[Event]) -> list[Event]:
        """The transcript's events, with what the bodies know of their calls."""
        if self._join is not None:
            return self._join.through(events)
        for event in events:
            if isinstance(event, CallSeen):
                self._told[event.call.id] = event.call
            elif isinstance(event, TipMoved):
                self._tips[event.thread] = event.head
        return events

    def settle(self) -> list[Event]:
        """What the bodies that were read so far say beyond what was told."""
        return self._join.settle() if self._join is not None else []
