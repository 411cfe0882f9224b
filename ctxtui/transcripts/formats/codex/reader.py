"""Codex rollouts: bytes in, events out."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ctxtui.core.session import Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.codex.records import TYPES, decode
from ctxtui.transcripts.formats.codex.session import NAME, CodexSession
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.record_pieces import Broken, FoundObject, Piece
from ctxtui.transcripts.kit.records import RecordStream

__all__ = ["BARE", "NAME", "CodexReader", "sniff"]

BARE: Final = "a Codex rollout without any message"


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
    """Reads one rollout. A session is one file: `part` gives a reader of its own for any other."""

    def __init__(self, tree: Tree) -> None:
        self._stream = RecordStream()
        self._session = CodexSession(tree)

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end of the bytes so far."""
        return self._stream.tail

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
        """A reader for another file; rollouts have no companions."""
        return CodexReader(self._session.tree)

    def _take(self, pieces: list[Piece]) -> list[Event]:
        events: list[Event] = []
        for piece in pieces:
            if isinstance(piece, FoundObject):
                if piece.note:
                    events.append(Skipped(piece.line, piece.note))
                for record in decode(piece.raw, piece.clean is True):
                    events += self._session.take(record, piece)
            else:
                events.append(Skipped(piece.line, piece.reason))
                if isinstance(piece, Broken):
                    events += self._session.broken(piece)
        return events
