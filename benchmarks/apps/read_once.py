"""Reads a recording once and prints the seconds it took: ``read_once.py raw|heads|typed|whole PATH``. A process of its
own for each run: an allocator that is warm from the run before makes a raw read several times quicker."""

import sys
import time
from pathlib import Path

import msgspec

from ctxtui.core.session import Session
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.claude_code import ClaudeCodeReader
from ctxtui.transcripts.formats.claude_code.records import strictly
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.records import RecordStream

SLICE = 1 << 20


def raw(path: Path) -> int:
    """All bytes at once."""
    return len(path.read_bytes())


class Usage(msgspec.Struct):
    """What a message used."""

    input_tokens: int = 0
    output_tokens: int = 0


class Message(msgspec.Struct):
    """Of a message no more than a list of messages shows."""

    role: str = ""
    usage: Usage | None = None


class Head(msgspec.Struct):
    """Of a line likewise."""

    message: Message | None = None


def heads(path: Path) -> int:
    """All bytes at once, and of each line what a list shows."""
    return len(msgspec.json.Decoder(Head).decode_lines(path.read_bytes()))


def typed(path: Path) -> int:
    """Every line as a typed record."""
    stream, n = RecordStream(strictly), 0
    with path.open("rb") as file:
        while data := file.read(SLICE):
            n += sum(1 for piece in stream.feed(data) if isinstance(piece, FoundObject) and piece.record is not None)
    return n


def whole(path: Path) -> int:
    """The session with its tree."""
    tree = Tree()
    reader, session = ClaudeCodeReader(tree), Session(tree)
    with path.open("rb") as file:
        while data := file.read(SLICE):
            session.fold(reader.feed(data))
    session.fold(reader.settle())
    return len(session.calls)


begun = time.perf_counter()
found = {"raw": raw, "heads": heads, "typed": typed, "whole": whole}[sys.argv[1]](Path(sys.argv[2]))
took = time.perf_counter() - begun
assert found >= 1000, found
print(took)
