"""Codex rollouts: bytes in, events out."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from ctxtui.core.session import Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.codex.records import TYPES, decode
from ctxtui.transcripts.formats.codex.session import NAME, CodexSession
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.record_pieces import Broken, FoundObject, Piece
from ctxtui.transcripts.kit.records import RecordStream

__all__ = ["BARE", "COMPANIONS", "NAME", "CodexReader", "kin", "sniff"]

BARE: Final = "a Codex rollout without any message"
COMPANIONS: Final = ("rollout-*.jsonl",)
"""Subagents have rollouts of their own in the folder of the day, among those of other sessions: see `kin`."""

_IDS: Final = {
    name: re.compile(rb'"' + name.encode() + rb'"\s*:\s*"([^"\\]{8,})"')
    for name in ("id", "session_id", "parent_thread_id")
}


def kin(head: bytes, other: bytes) -> bool:
    """Whether a rollout that begins with `other` is that of a subagent of the session of one that begins with `head`
    (facts §13)."""
    own, its = _ids(head), _ids(other)
    if not own["id"] or its["id"] == own["id"]:
        return False
    return own["id"] in (its["session_id"], its["parent_thread_id"])


def _ids(head: bytes) -> dict[str, bytes]:
    line = head.partition(b"\n")[0]
    found = {name: pattern.search(line) for name, pattern in _IDS.items()} if b"session_meta" in line else {}
    return {name: match.group(1) if (match := found.get(name)) else b"" for name in _IDS}


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins a Codex rollout."""
    found = file_head.records(head, 20)
    if any(isinstance(r.get("payload"), dict) and str(r.get("type")) in TYPES and "timestamp" in r for r in found):
        return 0.97
    first = found[0] if found else {}
    if isinstance(first.get("session"), dict) and isinstance(first.get("items"), list):
        return 0.9
    if any("record_type" in r for r in found[:3]):
        return 0.9
    bare = {"id", "timestamp"} <= first.keys() and "role" not in first and "type" not in first
    return 0.85 if bare and {"instructions", "git"} & first.keys() else 0.0


class CodexReader:
    """Reads one rollout, the main one of its session or a subagent's: `part` gives a reader for such a file `name`."""

    def __init__(self, tree: Tree, main: CodexSession | None = None, name: str = "") -> None:
        self._stream = RecordStream()
        self._session = CodexSession(tree, main, name)
        self._name = name

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end of the bytes so far."""
        tail = self._stream.tail
        return None if tail is None else self._named(tail)

    @property
    def other(self) -> Counter[str]:
        """Records of unknown types, which put nothing before the model, by type."""
        return self._session.other

    def feed(self, data: bytes) -> list[Event]:
        """The events of the records that `data` completes."""
        return self._take(self._stream.feed(data))

    def settle(self) -> list[Event]:
        """Take a last record without its line end."""
        return self._take(self._stream.settle())

    def part(self, name: str) -> CodexReader:
        """The reader for the subagent's file `name`."""
        return CodexReader(self._session.tree, self._session, name)

    def _named(self, skipped: Skipped) -> Skipped:
        return Skipped(skipped.line, f"{self._name}: {skipped.reason}") if self._name else skipped

    def _take(self, pieces: list[Piece]) -> list[Event]:
        events: list[Event] = []
        for piece in pieces:
            if isinstance(piece, FoundObject):
                if piece.note:
                    events.append(self._named(Skipped(piece.line, piece.note)))
                for record in decode(piece.raw, piece.clean is True):
                    events += self._session.take(record, piece)
            else:
                events.append(self._named(Skipped(piece.line, piece.reason)))
                if isinstance(piece, Broken):
                    events += self._session.broken(piece)
        return events
