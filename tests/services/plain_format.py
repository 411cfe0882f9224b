"""The smallest recording there can be, to test reading without any client's format.

Each line ``{"say": words, "in": tokens}`` is one call whose context is everything said before, and a user's words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from ctxtui.core import block
from ctxtui.core.block import Place
from ctxtui.core.call import Call
from ctxtui.core.session import CallSeen, Described, Event, Skipped, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format


@dataclass
class PlainReader(Reader):
    tree: Tree
    thread: str = "main"
    heads: dict[str, int] = field(default_factory=dict)
    buffer: bytes = b""
    line: int = 0
    calls: int = 0

    @property
    def tail(self) -> Skipped | None:
        return Skipped(self.line + 1, "cut") if self.buffer.strip() else None

    def feed(self, data: bytes) -> list[Event]:
        *whole, self.buffer = (self.buffer + data).split(b"\n")
        return [event for line in whole for event in self._line(line)]

    def settle(self) -> list[Event]:
        try:
            json.loads(self.buffer)
        except ValueError:
            return []
        line, self.buffer = self.buffer, b""
        self.line -= 1  # the line end is still to come
        return self._line(line)

    def part(self, name: str) -> PlainReader:
        return PlainReader(self.tree, name, self.heads)

    def _line(self, line: bytes) -> list[Event]:
        self.line += 1
        if not line.strip():
            return []
        try:
            # As the readers of lines do: a whole record is kept, and what stands behind it on its line is told.
            words = line.decode()
            value, end = json.JSONDecoder().raw_decode(words)
            said, tokens = value["say"], value["in"]
        except (ValueError, KeyError, TypeError):
            return [Skipped(self.line, "no record")]
        self.calls += 1
        head = self.heads.get(self.thread, ROOT)
        head = self.tree.child(head, block.header("user"), Place("messages", "user"))
        head = self.heads[self.thread] = self.tree.child(head, block.text(said), Place("messages", "user"))
        call = Call(f"{self.thread}-{self.calls}", self.thread, head, head, head, usage=Usage(fresh=tokens))
        first: list[Event] = [Described(source="plain"), ThreadSeen(self.thread)] if self.calls == 1 else []
        more = [Skipped(self.line, "no record")] if words[end:].strip() else []
        return [*first, CallSeen(call), TipMoved(self.thread, head), *more]


def _sniff(head: bytes, name: str) -> float:
    return 1.0 if head.lstrip().startswith((b'{"say"', b'{"junk"')) else 0.0


PLAIN = Format("plain", _sniff, PlainReader, ("{stem}/parts/*.jsonl", "agent-*.jsonl"))


def said(words: str, tokens: int = 10) -> bytes:
    return json.dumps({"say": words, "in": tokens}).encode() + b"\n"
