"""OpenHands' conversations: a state file with a folder of event files, or the events as JSON lines (facts §11)."""

from __future__ import annotations

from typing import Final

from ctxtui.core.session import Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts import glance
from ctxtui.transcripts.fields import word
from ctxtui.transcripts.linewise import LinesReader
from ctxtui.transcripts.openhands_events import Events
from ctxtui.transcripts.reader import Reader

_STATE: Final = frozenset({"agent", "stats"})


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins an event, a list of events or a conversation's state."""
    best = 0.0
    for record in glance.records(head):
        kind = word(record.get("kind"))
        if kind.endswith(("Event", "Condensation", "Observation")) and {"id", "source", "timestamp"} <= record.keys():
            return 0.95
        if record.keys() >= _STATE or ("agent" in record and "workspace" in record):
            best = 0.85
    return best


class OpenHandsReader:
    """Reads the state or the events; `part` gives readers for the event files beside the state."""

    def __init__(self, tree: Tree, events: Events | None = None) -> None:
        self._events = events or Events(tree)
        self._tree = tree
        self._lines = LinesReader(self._events)

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end."""
        return self._lines.tail

    def feed(self, data: bytes) -> list[Event]:
        """The events of the records that `data` completes."""
        return self._lines.feed(data)

    def settle(self) -> list[Event]:
        """A last record without its line end, and how things stand."""
        return self._lines.settle()

    def part(self, name: str) -> Reader:
        """The reader for one event file."""
        return OpenHandsReader(self._tree, self._events)
