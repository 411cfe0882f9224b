"""Duplicate content: equal or similar text, and files that were read again or changed later."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.content.normalized import diff_text
from ctxtui.analysis.short_names import Names
from ctxtui.core import canonical
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import BlockContent, read
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import CHANGE, READ, Touch, find_touches
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.core.turns import Turns

MIN_CHARACTERS: Final = 200
"""Shorter texts are not compared."""
_MAX_LINES: Final = 64
"""Lines up to which every line is kept; of longer texts about one in `_SAMPLING`."""
_SAMPLING: Final = 4
_MIN_LINE_CHARACTERS: Final = 12
"""Characters of a significant line."""
_STEP_CHARACTERS: Final = 1 << 16
"""Characters searched at once: a regular expression blocks all other threads."""
_NUMBERED: Final = re.compile(r"^[ \t]*\d+(?:→|\t)", re.MULTILINE)
_ENDS: Final = re.compile(r"(?<=[.;,{}>])\s*")
"""Positions after which a long line is split."""


class Sketch(NamedTuple):
    """Hashes of a text's significant lines; if `sampled`, only those divisible by `_SAMPLING`."""

    hashes: frozenset[int]
    sampled: bool

    def common(self, second: Sketch) -> tuple[int, int, int]:
        """Count the common hashes, and all of each side, among those that both could have."""
        own_hashes, other_hashes = self.hashes, second.hashes
        if self.sampled != second.sampled:
            if self.sampled:
                other_hashes = frozenset(h for h in other_hashes if h % _SAMPLING == 0)
            else:
                own_hashes = frozenset(h for h in own_hashes if h % _SAMPLING == 0)
        return len(own_hashes & other_hashes), len(own_hashes), len(other_hashes)


def plain_lines(text: str) -> list[str]:
    """Significant lines of `text`, without line numbers of clients and surrounding blanks.

    A text of few long lines is split after punctuation.
    """
    lines = [
        line for line in map(str.strip, _strip_line_numbers(text).splitlines()) if len(line) >= _MIN_LINE_CHARACTERS
    ]
    if len(lines) < 4 < len(text) // 100:
        pieces = (piece for line in lines for piece in _split_line(line))
        lines = [piece for piece in map(str.strip, pieces) if len(piece) >= _MIN_LINE_CHARACTERS]
    return lines


def _strip_line_numbers(text: str) -> str:
    if "\t" not in text and "→" not in text:
        return text
    if len(text) <= _STEP_CHARACTERS:
        return _NUMBERED.sub("", text)
    begins = ((line, _NUMBERED.match(line)) for line in text.split("\n"))
    return "\n".join(line[match.end() :] if match else line for line, match in begins)


def _split_line(line: str) -> Iterator[str]:
    offset = 0
    for begin in range(0, len(line), _STEP_CHARACTERS):
        for match in _ENDS.finditer(line, begin, begin + _STEP_CHARACTERS):
            yield line[offset : match.start()]
            offset = match.end()
    yield line[offset:]


def make_sketch(text: str) -> Sketch | None:
    """Sketch of `text`; None if it is short, or has fewer than three hashes."""
    if len(text) < MIN_CHARACTERS:
        return None
    hashes = {zlib.crc32(line.encode("utf-8", "replace")) for line in plain_lines(text)}
    sampled = len(hashes) > _MAX_LINES
    if sampled:
        hashes = {line_hash for line_hash in hashes if line_hash % _SAMPLING == 0}
    return Sketch(frozenset(hashes), sampled) if len(hashes) >= 3 else None


def containment(text: str, other_text: str) -> tuple[float, float]:
    """For each text, the share (by characters) of its significant lines that the other has."""
    text_lines, other_lines = plain_lines(text), plain_lines(other_text)
    return _contained_share(text_lines, set(other_lines)), _contained_share(other_lines, set(text_lines))


def _contained_share(lines: Sequence[str], other_lines: set[str]) -> float:
    total_chars = sum(map(len, lines))
    return sum(len(line) for line in lines if line in other_lines) / total_chars if total_chars else 0.0


IDENTICAL, NEAR, REREAD, EDITED, WORKSPACE = "identical", "near", "read again", "edited since", "in workspace"
"""Reasons to remove a block: equal text before it; similar text elsewhere; its file was read again, or changed later;
its text is still in its file."""
EARLIER: Final = "earlier turn"
"""Reason for a stale result that is not marked: it answers a call of an earlier turn."""
_STALE: Final = {EDITED: "changed since", REREAD: "read again", IDENTICAL: "twice", NEAR: "nearly twice"}

MIN_SIMILARITY: Final = 0.85
"""Minimum share (by characters) of a block's lines that are in the other one."""
_MAX_LATER_BLOCKS: Final = 8
"""Maximum number of blocks stored for one line besides the first: the newest."""
_MAX_LOOKUP_LINES: Final = 48
"""Maximum lines of a block by which similar blocks are looked up."""
_CALL, _RESULT, _TOOLS = INDEX["tool_call"], INDEX["tool_result"], INDEX["tools"]


class Duplicate(Struct, frozen=True):
    """The block `node` could be removed, for the reason `kind`.

    - `counterpart`: the node whose block has its content, or read or changed its file; `ROOT`: a file has the content.
    - `share`: the part of its lines found there, by characters, for `NEAR` and `WORKSPACE`.
    - `path`: the file of `REREAD`, `EDITED` and `WORKSPACE`.
    """

    node: int
    kind: str
    counterpart: int
    share: float = 1.0
    path: str = ""


class DuplicateFinder:
    """Finds duplicates along a path, block by block.

    `cwd` is the session's directory, `names` pairs results with calls; `duplicates` has the marked blocks by node. All
    of them can be removed together, and no valid text is lost except the lines in which `NEAR` blocks differ.
    """

    def __init__(self, tree: Tree, names: Names, cwd: str = "") -> None:
        self.duplicates: dict[int, Duplicate] = {}
        self._replaced_by: dict[int, list[int]] = {}
        self._tree = tree
        self._names = names
        self._cwd = cwd
        self._sketches: dict[str, Sketch | None] = {}
        self._reset()

    def _reset(self) -> None:
        self._head = ROOT
        self._texts: dict[str, int] = {}
        self._by_line: dict[int, int] = {}
        self._also: dict[int, list[int]] = {}
        self._reads: dict[str, list[tuple[int, Touch]]] = {}
        self._calls: dict[str, tuple[int, list[tuple[Touch, ...]]]] = {}
        """By id, else tool: the message of the last calls, and the files that each touches."""

    def search_path(self, head: int, limit: int | None = None) -> bool:
        """Search the path to `head`, up to `limit` further blocks (None: all); True if all is done.

        A path that does not continue the last one is searched from the start; earlier finds stay.
        """
        tree = self._tree
        if tree.common(self._head, head) != self._head:
            self._reset()
        path = tree.path(head, self._head)
        for node in path if limit is None else path[:limit]:
            if tree[node].block.kind != HEADER:
                self._add_node(tree[node])
            self._head = node
        return limit is None or len(path) <= limit

    @property
    def head(self) -> int:
        """The node up to which the path is searched."""
        return self._head

    def files(self) -> Iterator[tuple[int, Touch]]:
        """Yield the reads on the last path that are not marked: node of the result, and lines."""
        for reads in self._reads.values():
            yield from ((node, touch) for node, touch in reads if node not in self.duplicates)

    def _add_node(self, node: Node) -> None:
        if node.category == _TOOLS:
            return
        content = read(node.block)
        if node.category == _CALL:
            self._add_call(node, content)
        if node.category == _RESULT:
            touched = self._take_touches(self._names.answered_id(node))
            if not content.is_error:
                for touch in touched:
                    self._mark_outdated(node.id, touch)
        text = _block_text(node, content)
        if len(text) >= MIN_CHARACTERS:
            self._compare_with_similar(node, text)

    def _add_call(self, node: Node, content: BlockContent) -> None:
        # Also a call that touches no file: it may have the id of an earlier one.
        touches, waiting = tuple(find_touches(content, self._cwd)), self._calls.get(content.pairing_id)
        if content.call_id or waiting is None or waiting[0] != node.message:
            waiting = self._calls[content.pairing_id] = node.message, []
        waiting[1].append(touches)

    def _take_touches(self, call_id: str) -> tuple[Touch, ...]:
        _, waiting = self._calls.get(call_id, (0, [()]))
        # Results without ids answer the calls of one message in their order.
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    def _mark_outdated(self, node: int, touch: Touch) -> None:
        before = self._reads.setdefault(touch.path, [])
        # Twice: to mark a read unmarks those that it made outdated before.
        for earlier, earlier_touch in (*before, *before):
            if touch.kind == CHANGE or touch.covers(earlier_touch):
                kind = EDITED if touch.kind == CHANGE else REREAD
                self._add_duplicate(Duplicate(earlier, kind, node, path=touch.path))
        if touch.kind == READ:
            before.append((node, touch))
        else:
            before.clear()

    def _add_duplicate(self, duplicate: Duplicate) -> None:
        # A read stays outdated, whatever happens to its duplicates and to the result of the change.
        if duplicate.node in self.duplicates and duplicate.kind != EDITED:
            return
        # If the block that has the content of marked ones is marked itself, these are unmarked.
        for node in self._replaced_by.pop(duplicate.node, ()):
            if self.duplicates[node].kind != EDITED:
                del self.duplicates[node]
        self.duplicates[duplicate.node] = duplicate
        if duplicate.kind != EDITED:
            self._replaced_by.setdefault(duplicate.counterpart, []).append(duplicate.node)

    def _compare_with_similar(self, node: Node, text: str) -> None:
        key = canonical.digest(text.encode("utf-8", "replace"))
        first = self._texts.get(key)
        if first is not None and first not in self.duplicates:
            self._add_duplicate(Duplicate(node.id, IDENTICAL, first))
            return
        self._texts[key] = node.id
        digest = node.block.digest
        if digest not in self._sketches:
            self._sketches[digest] = make_sketch(text)
        sketch = self._sketches[digest]
        if sketch is None:
            return
        looked_up = sorted(sketch.hashes)[:_MAX_LOOKUP_LINES]
        candidates = Counter(candidate for line in looked_up for candidate in self._blocks_with_line(line))
        for candidate, hits in candidates.most_common(3):
            if (
                hits * 3 >= len(looked_up)
                and candidate not in self.duplicates
                and self._mark_similar(node.id, text, sketch, candidate)
            ):
                break
        for line in sketch.hashes:
            if line in self._by_line:
                self._also.setdefault(line, []).append(node.id)
                del self._also[line][:-_MAX_LATER_BLOCKS]
            else:
                # A number, not a list: most lines occur once, and lists cost time in garbage collection.
                self._by_line[line] = node.id

    def _blocks_with_line(self, line: int) -> Iterator[int]:
        if line in self._by_line:
            yield self._by_line[line]
            yield from self._also.get(line, ())

    def _mark_similar(self, node: int, text: str, sketch: Sketch, other_node: int) -> bool:
        """Mark the one of two blocks that the other contains, if any; returns whether one is marked."""
        block = self._tree[other_node].block
        other_sketch = self._sketches[block.digest]
        assert other_sketch is not None
        common_count, own_count, other_count = sketch.common(other_sketch)
        # A quick test, which spares most pairs the comparison of their texts.
        if common_count < 3 or common_count < 0.7 * min(own_count, other_count):
            return False
        other_text = _block_text(self._tree[other_node], read(block))
        share_here, share_there = containment(text, other_text)
        if share_here >= MIN_SIMILARITY and share_here >= share_there:
            self._add_duplicate(Duplicate(node, NEAR, other_node, share_here))
        elif share_there >= MIN_SIMILARITY and other_node not in self._replaced_by:
            self._add_duplicate(Duplicate(other_node, NEAR, node, share_there))
        else:
            return False
        return True


def _block_text(node: Node, content: BlockContent) -> str:
    return diff_text(node) if node.category == _CALL else content.text


def duplicates_in(duplicates: Mapping[int, Duplicate], tree: Tree, head: int) -> list[Duplicate]:
    """The `duplicates` in the context `head` whose counterparts are in it or in files, in order."""
    path = set(tree.path(head))
    return sorted(
        (
            duplicate
            for duplicate in list(duplicates.values())
            if duplicate.node in path and (duplicate.counterpart == ROOT or duplicate.counterpart in path)
        ),
        key=lambda duplicate: tree[duplicate.node].depth,
    )


def stale_results(tree: Tree, head: int, turns: Turns, repeats: Iterable[Duplicate]) -> dict[int, str]:
    """Tool results of the context `head`, of earlier turns or in its `repeats`, with reasons.

    Those of the kind `WORKSPACE` do not count.
    """
    reasons = {duplicate.node: _STALE[duplicate.kind] for duplicate in repeats if duplicate.kind != WORKSPACE}
    now = turns.number_of(head)
    stale = {}
    for node in tree.path(head):
        if tree[node].category == _RESULT:
            reason = reasons.get(node) or (EARLIER if now and turns.number_of(node) < now else "")
            if reason:
                stale[node] = reason
    return stale
