"""The reading layout of the transcript: texts in full, file changes as diffs.

A tool call and its result are one line, as are runs of system prompt, tools and memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from itertools import islice
from typing import Final

from ctxtui.core.block_content import BlockContent, arguments_value
from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import CHANGE, find_touches
from ctxtui.core.json_values import iter_strings
from ctxtui.views.blocks import content, one_line
from ctxtui.views.blocks.body import Body
from ctxtui.views.model.block_cache import Recent
from ctxtui.views.model.scene import shown_category
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans, cropped, fit_spans, width
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.row_index import MISSING, RuleRow
from ctxtui.views.transcript.rows import draw_rule, is_user_text

TEXT, CALL, FILE, FRONT, RULE, NOTHING = "text", "call", "file", "front", "rule", "nothing"
"""Kinds of rows: full text, one line, file change, one line for a run of `_FRONT` blocks, rule, no line."""

LEAD_CELLS: Final = 7
MAX_TEXT_WIDTH: Final = 120
MAX_TEXT_LINES: Final = 2_000
FOLDED_DIFF_LINES: Final = 14
"""Lines of a file change before it is opened."""
MAX_COMPARED_LINES: Final = 4_000
"""Most lines of both sides that are compared."""
SEARCHED_ROWS: Final = 64
"""Rows that are searched for a call's result, or a result's call."""
_USER, _ASSISTANT, _SUMMARY = INDEX["user"], INDEX["assistant"], INDEX["summary"]
_CALL, _RESULT, _THINKING = INDEX["tool_call"], INDEX["tool_result"], INDEX["thinking"]
_FRONT: Final = frozenset({INDEX["system"], INDEX["tools"], INDEX["memory"]})
# Arguments of editing tools with the replaced text, the new text, and the text of a whole file.
OLD_TEXT_KEYS: Final = (*content.OLD_TEXT_KEYS, "search")
NEW_TEXT_KEYS: Final = (*content.NEW_TEXT_KEYS, "replace", "insert_text", "new_source")
FILE_TEXT_KEYS: Final = ("content", "contents", "file_text", "text")
_PATCH: Final = re.compile(r"^\*\*\* (?:Begin Patch|(?:Update|Add|Delete) File: )", re.MULTILINE)


class Reading:
    """Draws the `rows` of a context in this layout; rows are numbered as there."""

    def __init__(self, rows: ContextRows) -> None:
        self._rows = rows
        self._bodies: Recent[Body] = Recent(512)
        self._changes: Recent[list[Spans]] = Recent(128)
        self._counts: Recent[str] = Recent(512)
        self._results: dict[int, int] = {}
        self._calls: dict[int, int] = {}

    # Kinds of rows

    def kind(self, index: int) -> str:
        """The kind of row `index`: `TEXT`, `CALL`, `FILE`, `FRONT`, `RULE` or `NOTHING`."""
        rows = self._rows
        entry = rows.entry(index)
        if entry < 0:
            return RULE if self._is_new_epoch(index) else NOTHING
        if entry == MISSING or self._category(entry) in _FRONT:
            return FRONT if index == 0 or not self._is_front(rows.entry(index - 1)) else NOTHING
        category, node = self._category(entry), rows.readings.tree[entry]
        if category in (_USER, _ASSISTANT, _SUMMARY):
            if category == _USER and not is_user_text(node):
                return CALL
            return TEXT if not rows.readings.ready(entry) or self._content(entry).text.strip() else NOTHING
        if category == _THINKING:
            return CALL if self._content(entry).text.strip() else NOTHING
        if category == _RESULT:
            return NOTHING if self.call_of(index) is not None else CALL
        if category == _CALL and _changes_file(self._content(entry), rows.readings.cwd):
            return FILE
        return CALL

    def _is_front(self, entry: int) -> bool:
        return entry == MISSING or (entry > 0 and self._category(entry) in _FRONT)

    def _category(self, entry: int) -> int:
        return shown_category(self._rows.scene, self._rows.readings.tree, entry)

    def _content(self, entry: int) -> BlockContent:
        return self._rows.readings.reading(entry)

    def _is_new_epoch(self, index: int) -> bool:
        row = self._rows.row(index, history=False)
        return isinstance(row, RuleRow) and row.kind not in ("answer", "since")

    def call_of(self, index: int) -> int | None:
        """The node of the call that the result in row `index` answers; None if it is not near above."""
        return self._find(self._calls, index, range(index - 1, max(-1, index - SEARCHED_ROWS), -1), _CALL)

    def result_of(self, index: int) -> int | None:
        """The node of the result of the call in row `index`.

        None if it is not near below, or not there yet.
        """
        return self._find(self._results, index, range(index + 1, min(self._rows.count, index + SEARCHED_ROWS)), _RESULT)

    def _find(self, matches: dict[int, int], index: int, places: range, category: int) -> int | None:
        """Find the other half of the call or result in row `index`.

        A large block has no id until it is read.
        """
        tree, entry = self._rows.readings.tree, self._rows.entry(index)
        match = matches.get(entry)
        if match is not None and self._rows.holds(match):
            return match
        if call_id := self._id(entry):
            for candidate in map(self._rows.entry, places):
                if candidate > 0 and tree[candidate].category == category and self._id(candidate) == call_id:
                    matches[entry] = candidate
                    return candidate
        return None

    def _id(self, entry: int) -> str:
        return self._rows.readings.call_id(entry)

    # Lines of a row

    def height(self, index: int, grid: Grid) -> int:
        kind = self.kind(index)
        if kind == NOTHING:
            return 0
        return self._own_height(index, kind, grid) + self._gap(index, kind)

    def _own_height(self, index: int, kind: str, grid: Grid) -> int:
        if kind == TEXT and not self._folded(index):
            return max(1, self._body(index, grid).height(MAX_TEXT_LINES))
        if kind == FILE:
            return 1 + len(self._change(index, grid))
        return 1

    def _gap(self, index: int, kind: str) -> int:
        """Blank lines after a row: one after a text, and one before the next text or rule."""
        if kind == TEXT:
            return 1
        for index_below in range(index + 1, min(self._rows.count, index + SEARCHED_ROWS)):
            following = self.kind(index_below)
            if following != NOTHING:
                return int(following in (TEXT, RULE))
        return 0

    def is_extendable(self, index: int) -> bool:
        """Whether opening row `index` extends it in this layout."""
        return self.kind(index) in (TEXT, FILE)

    def fold(self, index: int) -> bool:
        """Toggle a text between one line and full; return whether row `index` is a text."""
        if self.kind(index) != TEXT:
            return False
        entry = self._rows.entry(index)
        self._rows.opened.pop(entry, None)
        self._rows.folded ^= {entry}
        return True

    def is_user_line(self, index: int, line: int, grid: Grid) -> bool:
        return self._rows.is_user_row(index) and line < self._own_height(index, TEXT, grid)

    def line(self, index: int, line: int, grid: Grid, cursor: str) -> Spans:
        """Line `line` (from 0) of row `index`; empty for the blank lines after it."""
        kind = self.kind(index)
        if kind == NOTHING or line >= self._own_height(index, kind, grid):
            return []
        if kind == RULE:
            row = self._rows.row(index, history=False)
            return draw_rule(row, grid, cursor) if isinstance(row, RuleRow) else []
        if kind == FRONT:
            return self._front_line(index, grid, cursor)
        entry = self._rows.entry(index)
        if kind == TEXT and not self._folded(index):
            return self._text_line(index, line, grid, cursor)
        if line:
            return self._change(index, grid)[line - 1]
        return self._tool_line(index, entry, grid, cursor)

    def _folded(self, index: int) -> bool:
        return self._rows.entry(index) in self._rows.folded

    def _lead(self, index: int, cursor: str) -> list[Span]:
        row = self._rows.row(index, history=False)
        if isinstance(row, RuleRow):
            return [Span(" "), Span(cursor, "accent"), Span("     ")]
        mark = row.mark if row.mark.text.strip() else row.note
        number = f"{row.turn:>2}"[:3]
        return [mark, Span(cursor, "accent"), Span(number, "cat-user bold"), Span(" "), row.sign, Span(" ")]

    def _text_line(self, index: int, line: int, grid: Grid, cursor: str) -> Spans:
        spans = self._body(index, grid).line(line) or ()
        if self._rows.is_user_row(index):
            spans = [Span(text, "ink bold" if style == "ink" else style) for text, style in spans]
        return [*self._lead(index, cursor), *spans] if line == 0 else [Span(" " * LEAD_CELLS), *spans]

    def _body(self, index: int, grid: Grid) -> Body:
        entry, room = self._rows.entry(index), min(MAX_TEXT_WIDTH, max(8, grid.width - LEAD_CELLS - 2))
        readings = self._rows.readings
        ready = readings.ready(entry)
        key = (entry, room, ready)
        body = self._bodies.get(key)
        if body is None:
            if not ready:
                return self._bodies.put(key, Body(content.loading().lines, room))
            block_content = content.content(
                self._category(entry),
                self._content(entry),
                readings.value(entry),
                highlight=self._rows.bodies.highlight,
            )
            body = self._bodies.put(key, Body(block_content.lines, room, block_content.total, block_content.hang))
        return body

    def _tool_line(self, index: int, entry: int, grid: Grid, cursor: str) -> Spans:
        readings, tree = self._rows.readings, self._rows.readings.tree
        says = readings.preview(entry)
        sign = CATEGORY[self._category(entry)]
        words = list(one_line.preview_spans(says, sign.style, "ink" if tree[entry].category == _CALL else "dim"))
        nodes = [entry]
        answer = self.result_of(index) if tree[entry].category == _CALL else None
        if answer is not None:
            nodes.append(answer)
        room, is_file_change = max(1, grid.width - LEAD_CELLS - 10), self.kind(index) == FILE
        if is_file_change:
            counts = self._counts.get(entry) or self._counts.put(entry, _line_counts(self._content(entry)))
            words.append(Span(counts, "dim"))
        if answer is not None:
            result_preview = readings.preview(answer)._replace(label="", detail="")
            if not is_file_change or result_preview.failed:
                result_spans = [Span("  ← ", "cat-result"), *one_line.preview_spans(result_preview, "dim", "dim")]
                # Reserve room for the result after a long command.
                words = [*_shorten(words, room - min(width(result_spans), room * 2 // 5)), *result_spans]
        return [*self._lead(index, cursor), *fit_spans(words, room), Span(f"{self._tokens(nodes):>9} ", "faint")]

    def _tokens(self, nodes: list[int]) -> str:
        scene = self._rows.scene
        if scene is None or not all(scene.running.is_counted(node) for node in nodes):
            return ""
        return numbers.tokens(sum(scene.running.block_tokens(node) for node in nodes))

    def _front_line(self, index: int, grid: Grid, cursor: str) -> Spans:
        rows, scene = self._rows, self._rows.scene
        kinds: dict[int, int] = {}
        tokens, counted, row_index = 0, True, index
        while row_index < rows.count and self._is_front(rows.entry(row_index)):
            entry = rows.entry(row_index)
            if entry == MISSING:
                tokens += scene.missing if scene is not None else 0
                kinds[len(CATEGORY) - 1] = 1
            else:
                kinds[self._category(entry)] = kinds.get(self._category(entry), 0) + 1
                counted = counted and scene is not None and scene.running.is_counted(entry)
                tokens += scene.running.block_tokens(entry) if scene is not None and counted else 0
            row_index += 1
        words: list[Span] = []
        for category, count in kinds.items():
            sign = CATEGORY[category]
            words += [Span(", ", "faint")] if words else []
            words += [sign.span, Span(f" {sign.name}{f' × {count}' if count > 1 else ''}", "dim")]
        figure = numbers.tokens(tokens) if counted else ""
        room = max(1, grid.width - LEAD_CELLS - 10)
        return [
            Span(" "),
            Span(cursor, "accent"),
            Span("     "),
            *fit_spans(words, room),
            Span(f"{figure:>9} ", "faint"),
        ]

    def _change(self, index: int, grid: Grid) -> list[Spans]:
        entry, room = self._rows.entry(index), min(MAX_TEXT_WIDTH, max(8, grid.width - LEAD_CELLS - 4))
        is_open = entry in self._rows.opened
        key = (entry, room, is_open)
        change_lines = self._changes.get(key)
        if change_lines is None:
            edge = Span(" " * LEAD_CELLS + "│ ", "cat-call")
            body = Body(_change_lines(self._content(entry)), room, hang=2)
            most = MAX_TEXT_LINES if is_open else FOLDED_DIFF_LINES
            shown = body.height(most)
            diff_lines: list[Spans] = [[edge, *(body.line(n) or ())] for n in range(shown)]
            more = body.count_hidden(shown)
            if more != 0:
                left = "more lines" if more is None else numbers.many(more, "more line")
                diff_lines.append([edge, Span(f"⋯ {left}  ", "dim"), Span("⏎", "accent bold"), Span(" opens", "faint")])
            change_lines = self._changes.put(key, diff_lines)
        return change_lines


def _shorten(words: list[Span], room: int) -> list[Span]:
    if width(words) <= room:
        return words
    return [*cropped(words, max(1, room - 1)), Span("…", "dim")]


def _changes_file(call: BlockContent, cwd: str) -> bool:
    """Whether a call changes a file, and its arguments have the new text or a patch."""
    arguments = _arguments(call)
    has_new_text = any(True for _ in _replacements(arguments))
    return bool(_patch(arguments)) or (has_new_text and any(touch.kind == CHANGE for touch in find_touches(call, cwd)))


def _arguments(call: BlockContent) -> Json:
    return arguments_value(call) if call.arguments else {}


def _replacements(arguments: Json) -> Iterator[tuple[str, str]]:
    """Yield (before, after) of every replacement by a call; a whole file has an empty "before"."""
    if not isinstance(arguments, Mapping):
        return
    inner = arguments.get("edits")
    if isinstance(inner, list):
        for item in inner:
            yield from _replacements(item)
    old = next((arguments[key] for key in OLD_TEXT_KEYS if isinstance(arguments.get(key), str)), None)
    new = next((arguments[key] for key in NEW_TEXT_KEYS if isinstance(arguments.get(key), str)), None)
    if isinstance(old, str) or isinstance(new, str):
        yield str(old or ""), str(new or "")
        return
    whole = next((arguments[key] for key in FILE_TEXT_KEYS if isinstance(arguments.get(key), str)), None)
    if isinstance(whole, str):
        yield "", whole


def _patch(arguments: Json) -> str:
    return next((text for text in iter_strings(arguments) if _PATCH.search(text, 0, 4096)), "")


def _change_lines(call: BlockContent) -> Iterator[Spans]:
    arguments = _arguments(call)
    pairs = list(_replacements(arguments))
    for n, (old, new) in enumerate(pairs):
        if n:
            yield [Span("⋯", "faint")]
        if not old:
            yield from ([Span("+ ", "add"), *safe_text.spans(line, "add")] for line in safe_text.lines(new))
            continue
        yield from map(_diff_line, _diff_texts(old, new))
    if not pairs:
        yield from map(_diff_line, safe_text.lines(_patch(arguments)))


def _diff_texts(old: str, new: str) -> Iterator[str]:
    """Yield the lines of both texts with signs; unchanged lines only near a change."""
    before, after = list(safe_text.lines(old)), list(safe_text.lines(new))
    if len(before) + len(after) > MAX_COMPARED_LINES:
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    for line in islice(unified_diff(before, after, n=2, lineterm=""), 2, None):
        yield "⋯" if line.startswith("@@") else line


def _diff_line(line: str) -> Spans:
    style = "add" if line.startswith("+") else "del" if line.startswith("-") else "dim"
    return [Span(line[:1] + " ", style), *safe_text.spans(line[1:], style)]


def _line_counts(call: BlockContent) -> str:
    arguments = _arguments(call)
    pairs = list(_replacements(arguments))
    if not pairs:
        rows = list(islice(_patch(arguments).split("\n"), 100_000))
        added, removed = (sum(row.startswith(sign) for row in rows) for sign in "+-")
    else:
        signs = [line[:1] for pair in pairs for line in _diff_texts(*pair)]
        added, removed = signs.count("+"), signs.count("-")
    return f"  +{added:,}" + (f" {numbers.MINUS}{removed:,}" if removed else "")
