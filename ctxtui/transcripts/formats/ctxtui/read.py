"""Read sessions in ctxtui's own format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import HEADER, TOOL, Block, Place
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Unreadable
from ctxtui.core.session import DESCRIBED, CallSeen, Described, Event, Happened, Outcome, Skipped, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.ctxtui.layout import (
    BEYOND,
    LINE_MEMBERS,
    MAJOR,
    NAME,
    parse_call,
    parse_quota,
    parse_time,
)
from ctxtui.transcripts.formats.ctxtui.write import line_key
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.records import BOM, LineBuffer, TextLine
from ctxtui.transcripts.reader import Reader

_SECTIONS: Final = ("tools", "system", "messages")
_OBJECTS: Final = (HEADER, TOOL)


class _BlockLine(msgspec.Struct, forbid_unknown_fields=True):
    block: int
    digest: str
    kind: str
    body: msgspec.Raw


class _Altered(Exception):
    """A block was changed after it was written."""


_decode_block: Final = msgspec.json.Decoder(_BlockLine).decode


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_values(head)), None)
    is_ctxtui = isinstance(first, dict) and next(iter(first), "") == NAME and isinstance(first[NAME], int)
    return 1.0 if is_ctxtui else 0.0


class CtxtuiReader(Reader):
    """Reads the output of `write`, line by line; raises `Unreadable` for a newer major version."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._lines = LineBuffer()
        self._nodes: dict[int, int] = {ROOT: ROOT}
        """Node id in the file -> node of the tree."""
        self._blocks: dict[int, Block] = {}
        self._places: dict[int, Place] = {}
        self._seen: Counter[str] = Counter()
        """Number of lines so far, by their first member (`line_key`)."""
        self._handlers: dict[str, Callable[[dict[str, Json]], Iterator[Event]]] = {
            "ctxtui": self._handle_head,
            "place": self._handle_place,
            "block": self._handle_block,
            "run": self._handle_run,
            "thread": self._handle_thread,
            "call": self._handle_call,
            "tip": self._handle_tip,
            "skipped": lambda line: iter([Skipped(line["skipped"], str(line["reason"]))]),
            "happened": self._handle_happened,
            "outcome": lambda line: iter([Outcome(str(line["outcome"]), str(line["value"]))]),
            "quota": lambda line: iter([parse_quota(line)]),
        }

    @property
    def tail(self) -> Skipped | None:
        number, _, data = self._lines.rest
        return Skipped(number, f"cut last line: {len(data):,} bytes without an end") if data.strip() else None

    def feed(self, data: bytes) -> list[Event]:
        return [event for line in self._lines.feed(data) for event in self._handle_line(line)]

    def settle(self) -> list[Event]:
        rest = self._lines.rest
        try:
            canonical.loads(rest.data.removeprefix(BOM))
        except (ValueError, RecursionError):
            return []
        self._lines.drop(len(rest.data))
        return list(self._handle_line(rest))

    def _handle_line(self, line: TextLine) -> Iterator[Event]:
        data = line.data.removeprefix(BOM).strip()
        if not data:
            return
        if data.startswith(b'{"block":') and self._add_block_quickly(data):
            return
        try:
            value = canonical.loads(data)
            if not isinstance(value, dict):
                raise ValueError("a line must be an object")
            yield from list(self._handle_value(value))
        except _Altered as error:
            yield Skipped(line.number, str(error))
        except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
            text = f"{error} is missing or unknown" if isinstance(error, KeyError) else str(error)
            yield Skipped(line.number, f"not a line of ctxtui's format: {text}")

    def _handle_value(self, line: dict[str, Json]) -> Iterator[Event]:
        kind = next(iter(line), "")
        handle = self._handlers.get(kind)
        if handle is None:
            yield Happened(BEYOND, canonical.dump_text({"of": None, "line": line}))
            return
        yield from handle(line)
        name = line_key(line)
        self._seen[name] += 1
        news = {key: value for key, value in line.items() if key not in LINE_MEMBERS[kind]}
        if news and kind != "call":
            yield _keep_unknown(name, self._seen[name], news)

    def _handle_head(self, line: dict[str, Json]) -> Iterator[Event]:
        if line[NAME] > MAJOR:
            raise Unreadable(
                f"this session is written in format {line[NAME]}, newer than this ctxtui reads ({MAJOR})",
                place="line 1",
                way_out="open it with a newer ctxtui",
            )
        described = {key: value for key, value in line["session"].items() if key in DESCRIBED}
        for key, value in described.items():
            if not isinstance(value, int if key == "window" else str):
                raise ValueError(f"session.{key} must be a {'number' if key == 'window' else 'text'}")
        yield Described(**described)
        news = {key: value for key, value in line["session"].items() if key not in DESCRIBED}
        if news:
            yield _keep_unknown(line_key(line), self._seen[line_key(line)] + 1, {"session": line["session"]})

    def _handle_place(self, line: dict[str, Json]) -> Iterator[Event]:
        if line["section"] not in _SECTIONS:
            raise ValueError(f"no section {line['section']!r}")
        self._places[line["place"]] = Place(str(line["section"]), str(line["role"]), str(line["mark"]))
        yield from ()

    def _add_block_quickly(self, data: bytes) -> bool:
        """Add a block's line without decoding it, if its body matches its digest."""
        try:
            line = _decode_block(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        body = bytes(line.body)
        if line.kind in _OBJECTS and body[:1] != b"{":
            return False
        kinds = (b"", line.kind.encode("utf-8", "replace") + b"\0")
        if not any(canonical.digest(kind + body) == line.digest for kind in kinds):
            return False
        self._blocks[line.block] = Block(line.digest, line.kind, body)
        return True

    def _handle_block(self, line: dict[str, Json]) -> Iterator[Event]:
        if line["kind"] in _OBJECTS and not isinstance(line["body"], dict):
            raise ValueError(f"a {line['kind']} must be an object")
        block = blocks.make(str(line["kind"]), line["body"])
        self._blocks[line["block"]] = block
        if block.digest != line["digest"]:
            raise _Altered(f"block {line['block']} does not match its digest; it is used as it is")
        yield from ()

    def _handle_run(self, line: dict[str, Json]) -> Iterator[Event]:
        head, number = self._nodes[line["parent"]], line["run"]
        for place, *names in line["items"]:
            for name in names:
                head = self._nodes[number] = self._tree.child(head, self._blocks[name], self._places[place])
                number += 1
        yield from ()

    def _handle_thread(self, line: dict[str, Json]) -> Iterator[Event]:
        yield ThreadSeen(str(line["thread"]), str(line.get("label", "")), str(line.get("parent", "")))

    def _handle_call(self, line: dict[str, Json]) -> Iterator[Event]:
        raw, sent, response = (self._nodes[line[key]] for key in ("raw", "sent", "response"))
        yield CallSeen(parse_call(line, (raw, sent, response), self._tree[raw].depth))

    def _handle_tip(self, line: dict[str, Json]) -> Iterator[Event]:
        yield TipMoved(str(line["tip"]), self._nodes[line["head"]])

    def _handle_happened(self, line: dict[str, Json]) -> Iterator[Event]:
        names = {key: str(line[key]) for key in ("thread", "after") if key in line}
        yield Happened(str(line["happened"]), str(line.get("text", "")), at=parse_time(line.get("at")), **names)


def _keep_unknown(of: str, number: int, members: dict[str, Json]) -> Happened:
    """Preserve members of a line that this version does not know.

    `of` is the line's first member (`line_key`), `number` counts the lines with that one from 1.
    """
    return Happened(BEYOND, canonical.dump_text({"of": of, "number": number, "members": members}))


reader = CtxtuiReader
