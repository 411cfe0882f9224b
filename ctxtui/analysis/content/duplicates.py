"""Content that stands elsewhere too: the same text twice, nearly the same, a file that was read again or changed; and
which tool results are stale for that, or as they answer a call of an earlier turn."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.content.normalized import words_of
from ctxtui.analysis.short_names import Names
from ctxtui.core import canonical
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import BlockContent, read
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import CHANGE, READ, Touch, find_touches
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.core.turns import Turns

LEAST: Final = 200
"""Characters from which a text is worth comparing."""
_ALL: Final = 64
"""Lines up to which every line is kept; of longer texts one in `_SAMPLED`."""
_SAMPLED: Final = 4
_SHORTEST: Final = 12
"""Characters from which a line tells anything."""
STEP: Final = 1 << 16
"""Characters that are looked through at once: a regular expression holds up every other thread until it is done."""
_NUMBERED: Final = re.compile(r"^[ \t]*\d+(?:→|\t)", re.MULTILINE)
_ENDS: Final = re.compile(r"(?<=[.;,{}>])\s*")


class Sketch(NamedTuple):
    """The hashes of a text's lines: all, or where `sampled` those that are divisible by `_SAMPLED`."""

    hashes: frozenset[int]
    sampled: bool

    def common(self, other: Sketch) -> tuple[int, int, int]:
        """How many hashes both have, and how many each has, of those that both could have."""
        mine, theirs = self.hashes, other.hashes
        if self.sampled != other.sampled:
            if self.sampled:
                theirs = frozenset(h for h in theirs if h % _SAMPLED == 0)
            else:
                mine = frozenset(h for h in mine if h % _SAMPLED == 0)
        return len(mine & theirs), len(mine), len(theirs)


def plain_lines(text: str) -> list[str]:
    """The telling lines of `text`, without the line numbers that clients put in front, blanks at their ends left out.
    A text of few long lines is cut after punctuation."""
    lines = [line for line in map(str.strip, _unnumbered(text).splitlines()) if len(line) >= _SHORTEST]
    if len(lines) < 4 < len(text) // 100:
        pieces = (piece for line in lines for piece in _cut(line))
        lines = [piece for piece in map(str.strip, pieces) if len(piece) >= _SHORTEST]
    return lines


def _unnumbered(text: str) -> str:
    """`text` less the numbers that its lines begin with."""
    if "\t" not in text and "→" not in text:
        return text
    if len(text) <= STEP:
        return _NUMBERED.sub("", text)
    begins = ((line, _NUMBERED.match(line)) for line in text.split("\n"))
    return "\n".join(line[found.end() :] if found else line for line, found in begins)


def _cut(line: str) -> Iterator[str]:
    """The pieces of `line` between its ends of sentences, `STEP` characters at a time; empty ones among them."""
    at = 0
    for begin in range(0, len(line), STEP):
        for found in _ENDS.finditer(line, begin, begin + STEP):
            yield line[at : found.start()]
            at = found.end()
    yield line[at:]


def sketch(text: str) -> Sketch | None:
    """The sketch of `text`; None where it is too short to tell."""
    if len(text) < LEAST:
        return None
    hashes = {zlib.crc32(line.encode("utf-8", "replace")) for line in plain_lines(text)}
    sampled = len(hashes) > _ALL
    if sampled:
        hashes = {one for one in hashes if one % _SAMPLED == 0}
    return Sketch(frozenset(hashes), sampled) if len(hashes) >= 3 else None


def contained(text: str, other: str) -> tuple[float, float]:
    """The share of the telling lines of each text (by characters) that occur in the other one, too: 0 to 1."""
    mine, theirs = plain_lines(text), plain_lines(other)
    return _share(mine, set(theirs)), _share(theirs, set(mine))


def _share(lines: Sequence[str], there: set[str]) -> float:
    whole = sum(map(len, lines))
    return sum(len(line) for line in lines if line in there) / whole if whole else 0.0


IDENTICAL, NEAR, REREAD, EDITED, WORKSPACE = "identical", "near", "read again", "edited since", "in workspace"
"""Why a block could go: its text stands before it, or nearly so; its file was read again later, or changed later; its
file holds the text now."""
EARLIER: Final = "earlier turn"
"""Why a tool's result is stale that stands nowhere else: it answers a call of an earlier turn."""
_STALE: Final = {EDITED: "changed since", REREAD: "read again", IDENTICAL: "twice", NEAR: "nearly twice"}

NEARLY: Final = 0.85
"""The share of a block's lines that must stand in another one."""
_POPULAR: Final = 8
"""Blocks that are remembered for one line."""
_ASKED: Final = 48
"""Lines of a block by which others like it are looked for."""
_CALL, _RESULT, _TOOLS = INDEX["tool_call"], INDEX["tool_result"], INDEX["tools"]


class Repeat(Struct, frozen=True):
    """The block `node` could go: `kind` says why, `other` is the node that stands for it (`ROOT`: a file), `share` the
    part of its lines found there, `path` the file that it is about, where it is about one."""

    node: int
    kind: str
    other: int
    share: float = 1.0
    path: str = ""


class DuplicateFinder:
    """Finds repeats along a path, block by block; `cwd` is the session's directory, `names` pairs results with calls.

    `found` holds them by node. A block that stands for another one is never marked itself: what all of them come to in
    tokens can go, and no text that still holds goes with it.
    """

    def __init__(self, tree: Tree, names: Names, cwd: str = "") -> None:
        self.found: dict[int, Repeat] = {}
        self._stood_for: dict[int, list[int]] = {}
        self._tree = tree
        self._names = names
        self._cwd = cwd
        self._sketches: dict[str, Sketch | None] = {}
        self._forget()

    def _forget(self) -> None:
        self._head = ROOT
        self._texts: dict[str, int] = {}
        self._by_line: dict[int, int] = {}
        self._also: dict[int, list[int]] = {}
        self._reads: dict[str, list[tuple[int, Touch]]] = {}
        self._calls: dict[str, tuple[Touch, ...]] = {}

    def show(self, head: int, limit: int | None = None) -> bool:
        """Look through the path to `head`, up to `limit` further blocks of it; whether all of it is done. A path that
        does not go on from the last one is looked through from its beginning; what was found before stays."""
        tree = self._tree
        if tree.common(self._head, head) != self._head:
            self._forget()
        path = tree.path(head, self._head)
        for node in path if limit is None else path[:limit]:
            if tree[node].block.kind != HEADER:
                self._take(tree[node])
            self._head = node
        return limit is None or len(path) <= limit

    @property
    def head(self) -> int:
        """The context up to which the last path was looked through."""
        return self._head

    def files(self) -> Iterator[tuple[int, Touch]]:
        """What was read of files on the last path and not marked: the nodes of the results, with the files."""
        for reads in self._reads.values():
            yield from ((node, touch) for node, touch in reads if node not in self.found)

    def _take(self, node: Node) -> None:
        if node.category == _TOOLS:
            return
        got = read(node.block)
        if node.category == _CALL:
            self._called(got)
        if node.category == _RESULT:
            touched = self._calls.get(got.call_id or self._names.answered(node), ())
            if not got.is_error:
                for touch in touched:
                    self._touch(node.id, touch)
        text = _said(node, got)
        if len(text) >= LEAST:
            self._compare(node, text)

    def _called(self, got: BlockContent) -> None:
        found = tuple(find_touches(got, self._cwd))
        if found:
            self._calls[got.call_id] = found

    def _touch(self, node: int, touch: Touch) -> None:
        """A file was read or changed: what was read of it before is outdated."""
        before = self._reads.setdefault(touch.path, [])
        for earlier, what in before:
            if earlier not in self.found and (touch.kind == CHANGE or touch.covers(what)):
                kind = EDITED if touch.kind == CHANGE else REREAD
                self._mark(Repeat(earlier, kind, node, path=touch.path))
        if touch.kind == READ:
            before.append((node, touch))
        else:
            before.clear()

    def _mark(self, repeat: Repeat) -> None:
        if repeat.node in self.found:
            return
        # What this block stood for must stay: no text that still holds may go with it.
        for node in self._stood_for.pop(repeat.node, ()):
            del self.found[node]
        self.found[repeat.node] = repeat
        self._stood_for.setdefault(repeat.other, []).append(repeat.node)

    def _stands(self, node: int) -> bool:
        """Whether a block is one that stays."""
        return node not in self.found

    def _compare(self, node: Node, text: str) -> None:
        key = canonical.digest(text.encode("utf-8", "replace"))
        first = self._texts.get(key)
        if first is not None and self._stands(first):
            self._mark(Repeat(node.id, IDENTICAL, first))
            return
        self._texts[key] = node.id
        digest = node.block.digest
        made = self._sketches[digest] if digest in self._sketches else self._sketches.setdefault(digest, sketch(text))
        if made is None:
            return
        asked = sorted(made.hashes)[:_ASKED]
        others = Counter(other for line in asked for other in self._having(line))
        for other, hits in others.most_common(3):
            if hits * 3 >= len(asked) and self._stands(other) and self._near(node.id, text, made, other):
                break
        for line in made.hashes:
            if line in self._by_line:
                self._also.setdefault(line, []).append(node.id)
                del self._also[line][:-_POPULAR]
            else:
                # A number, not a list: most lines stand once, and every list costs the collector a look.
                self._by_line[line] = node.id

    def _having(self, line: int) -> Iterator[int]:
        """The blocks with that line: the first, and the last few."""
        if line in self._by_line:
            yield self._by_line[line]
            yield from self._also.get(line, ())

    def _near(self, node: int, text: str, made: Sketch, other: int) -> bool:
        """Mark the one of two blocks that the other contains, if there is one."""
        block = self._tree[other].block
        theirs = self._sketches[block.digest]
        assert theirs is not None
        both, mine, its = made.common(theirs)
        if both < 3 or both < 0.7 * min(mine, its):
            return False
        said = _said(self._tree[other], read(block))
        here, there = contained(text, said)
        if here >= NEARLY and here >= there:
            self._mark(Repeat(node, NEAR, other, here))
        elif there >= NEARLY and other not in self._stood_for:
            self._mark(Repeat(other, NEAR, node, there))
        else:
            return False
        return True


def _said(node: Node, got: BlockContent) -> str:
    return words_of(node) if node.category == _CALL else got.text


def standing(found: Mapping[int, Repeat], tree: Tree, head: int) -> list[Repeat]:
    """Those of `found` that hold for the context `head`: both blocks stand in it. In prompt order."""
    path = set(tree.path(head))
    return sorted(
        (one for one in list(found.values()) if one.node in path and (one.other == ROOT or one.other in path)),
        key=lambda one: tree[one.node].depth,
    )


def stale(tree: Tree, head: int, turns: Turns, repeats: Iterable[Repeat]) -> dict[int, str]:
    """The stale tool results of the context `head`, each with why: its file was read again or changed since, its text
    stands elsewhere too (`repeats` of this context), or it answers a call of an earlier turn."""
    known = {one.node: _STALE[one.kind] for one in repeats if one.kind != WORKSPACE}
    now = turns.number_of(head)
    found = {}
    for node in tree.path(head):
        if tree[node].category == _RESULT:
            why = known.get(node) or (EARLIER if now and turns.number_of(node) < now else "")
            if why:
                found[node] = why
    return found
