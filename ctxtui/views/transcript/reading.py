"""The transcript as something to read: what was said in full, changes of files as diffs, each tool call with its result
in one line; the rest of a request folds into one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from itertools import islice
from typing import Final

from ctxtui.core.block_content import BlockContent, arguments_value
from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import CHANGE, find_touches
from ctxtui.views.blocks import content, one_line
from ctxtui.views.blocks.body import Body
from ctxtui.views.model.block_cache import Recent
from ctxtui.views.model.scene import shown_category
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.grid import Grid, fitted
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans, cropped, width
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.row_index import MISSING, RuleRow
from ctxtui.views.transcript.rows import asks, draw_rule

TEXT, CALL, FILE, FRONT, RULE, NOTHING = "text", "call", "file", "front", "rule", "nothing"
"""What a row is: words to read; a line; a change of a file; a line for a run of what stands around the conversation; a
rule; no line at all."""

_LEAD: Final = 7
"""Cells before the text, as in the transcript."""
_WIDEST: Final = 120
"""Cells of a line of text, at most: longer ones are hard to read."""
_MOST: Final = 2_000
"""Lines of a text that are shown."""
_DIFF: Final = 14
"""Lines of a change that are shown before it is opened."""
_COMPARED: Final = 4_000
"""Lines of both sides of a change that are compared."""
_BACK: Final = 64
"""Rows among which a call's result is looked for."""
_USER, _ASSISTANT, _SUMMARY = INDEX["user"], INDEX["assistant"], INDEX["summary"]
_CALL, _RESULT, _THINKING = INDEX["tool_call"], INDEX["tool_result"], INDEX["thinking"]
_FRONT: Final = frozenset({INDEX["system"], INDEX["tools"], INDEX["memory"]})
_OLD: Final = ("old_string", "old_str", "old", "search")
_NEW: Final = ("new_string", "new_str", "new", "replace")
_WHOLE: Final = ("content", "contents", "file_text", "text")


class Reading:
    """What the rows of a transcript become. Bodies are kept; which result answers which call is found once."""

    def __init__(self, rows: ContextRows) -> None:
        self._rows = rows
        self._bodies: Recent[Body] = Recent(512)
        self._changes: Recent[list[Spans]] = Recent(128)
        self._answers: dict[int, int | None] = {}
        self._calls: dict[int, int | None] = {}

    # What a row is

    def kind(self, index: int) -> str:
        """What row `index` is."""
        rows = self._rows
        entry = rows.entry(index)
        if entry < 0:
            return RULE if self._is_new_epoch(index) else NOTHING
        if entry == MISSING or self._category(entry) in _FRONT:
            return FRONT if index == 0 or not self._front(rows.entry(index - 1)) else NOTHING
        category, node = self._category(entry), rows.readings.tree[entry]
        if category in (_USER, _ASSISTANT, _SUMMARY):
            if category == _USER and not asks(node):
                return CALL
            return TEXT if not rows.readings.ready(entry) or self._got(entry).text.strip() else NOTHING
        if category == _THINKING:
            return CALL if self._got(entry).text.strip() else NOTHING
        if category == _RESULT:
            return NOTHING if self.call_of(index) is not None else CALL
        if category == _CALL and _changes_file(self._got(entry), rows.readings.cwd):
            return FILE
        return CALL

    def _front(self, entry: int) -> bool:
        return entry == MISSING or (entry > 0 and self._category(entry) in _FRONT)

    def _category(self, entry: int) -> int:
        return shown_category(self._rows.scene, self._rows.readings.tree, entry)

    def _got(self, entry: int) -> BlockContent:
        return self._rows.readings.reading(entry)

    def _is_new_epoch(self, index: int) -> bool:
        found = self._rows.row(index, history=False)
        return isinstance(found, RuleRow) and found.kind not in ("answer", "since")

    def call_of(self, index: int) -> int | None:
        """The row above row `index` whose call it answers; None where it is not near."""
        entry = self._rows.entry(index)
        if entry not in self._calls:
            wanted = self._id(entry)
            self._calls[entry] = self._find(range(index - 1, max(-1, index - _BACK), -1), _CALL, wanted)
        call = self._calls[entry]
        return None if call is None else call

    def result_of(self, index: int) -> int | None:
        """The node that answers the call of row `index`; None where there is none yet."""
        entry = self._rows.entry(index)
        found = self._answers.get(entry)
        if found is None:
            stop = min(self._rows.count, index + _BACK)
            found = self._answers[entry] = self._find(range(index + 1, stop), _RESULT, self._id(entry))
        return found

    def _find(self, places: range, category: int, wanted: str) -> int | None:
        tree = self._rows.readings.tree
        for at in places:
            entry = self._rows.entry(at)
            if wanted and entry > 0 and tree[entry].category == category and self._id(entry) == wanted:
                return entry
        return None

    def _id(self, entry: int) -> str:
        return self._rows.readings.call_id(entry)

    # Its lines

    def height(self, index: int, grid: Grid) -> int:
        """Lines of row `index`."""
        kind = self.kind(index)
        if kind == NOTHING:
            return 0
        return self._own_height(index, kind, grid) + self._gap(index, kind)

    def _own_height(self, index: int, kind: str, grid: Grid) -> int:
        if kind == TEXT and not self._folded(index):
            return max(1, self._body(index, grid).height(_MOST))
        if kind == FILE:
            return 1 + len(self._change(index, grid))
        return 1

    def _gap(self, index: int, kind: str) -> int:
        """A blank line behind a text, and before the next one."""
        if kind == TEXT:
            return 1
        for at in range(index + 1, min(self._rows.count, index + _BACK)):
            following = self.kind(at)
            if following != NOTHING:
                return int(following in (TEXT, RULE))
        return 0

    def grows(self, index: int) -> bool:
        """Whether row `index` shows more of itself here when it is opened."""
        return self.kind(index) in (TEXT, FILE)

    def fold(self, index: int) -> bool:
        """Fold a text into one line, or show it again; whether row `index` is a text."""
        if self.kind(index) != TEXT:
            return False
        entry = self._rows.entry(index)
        self._rows.opened.pop(entry, None)
        self._rows.folded ^= {entry}
        return True

    def says(self, index: int, line: int, grid: Grid) -> bool:
        """Whether a person says line `line` of row `index`: it has a ground of its own."""
        return self._rows.asks(index) and line < self._own_height(index, TEXT, grid)

    def line(self, index: int, line: int, grid: Grid, cursor: str) -> Spans:
        """Line `line` of row `index`."""
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
        if self._rows.asks(index):
            spans = [Span(text, "ink bold" if style == "ink" else style) for text, style in spans]
        return [*self._lead(index, cursor), *spans] if line == 0 else [Span(" " * _LEAD), *spans]

    def _body(self, index: int, grid: Grid) -> Body:
        entry, room = self._rows.entry(index), min(_WIDEST, max(8, grid.width - _LEAD - 2))
        readings = self._rows.readings
        ready = readings.ready(entry)
        key = (entry, room, ready)
        found = self._bodies.get(key)
        if found is None:
            if not ready:
                return self._bodies.put(key, Body(content.coming().lines, room))
            made = content.content(
                self._category(entry), self._got(entry), readings.value(entry), highlight=self._rows.bodies.highlight
            )
            found = self._bodies.put(key, Body(made.lines, room, made.total, made.hang))
        return found

    def _tool_line(self, index: int, entry: int, grid: Grid, cursor: str) -> Spans:
        """A call with what came back, or any other block, in one line."""
        readings, tree = self._rows.readings, self._rows.readings.tree
        says = readings.preview(entry)
        sign = CATEGORY[self._category(entry)]
        words = list(one_line.words(says, sign.style, "ink" if tree[entry].category == _CALL else "dim"))
        nodes = [entry]
        answer = self.result_of(index) if tree[entry].category == _CALL else None
        if answer is not None:
            nodes.append(answer)
        room, file = max(1, grid.width - _LEAD - 10), self.kind(index) == FILE
        if file:
            words.append(Span(_counts(self._got(entry)), "dim"))
        if answer is not None:
            came = readings.preview(answer)._replace(label="", asked="")
            if not file or came.failed:
                said = [Span("  ← ", "cat-result"), *one_line.words(came, "dim", "dim")]
                # What came back has room, too, beside a long command.
                words = [*_short(words, room - min(width(said), room * 2 // 5)), *said]
        return [*self._lead(index, cursor), *fitted(words, room), Span(f"{self._tokens(nodes):>9} ", "faint")]

    def _tokens(self, nodes: list[int]) -> str:
        scene = self._rows.scene
        if scene is None or not all(scene.running.is_counted(node) for node in nodes):
            return ""
        return numbers.tokens(sum(scene.running.block_tokens(node) for node in nodes))

    def _front_line(self, index: int, grid: Grid, cursor: str) -> Spans:
        """What stands around the conversation, in one line."""
        rows, scene = self._rows, self._rows.scene
        kinds: dict[int, int] = {}
        tokens, counted, at = 0, True, index
        while at < rows.count and self._front(rows.entry(at)):
            entry = rows.entry(at)
            if entry == MISSING:
                tokens += scene.missing if scene is not None else 0
                kinds[len(CATEGORY) - 1] = 1
            else:
                kinds[self._category(entry)] = kinds.get(self._category(entry), 0) + 1
                counted = counted and scene is not None and scene.running.is_counted(entry)
                tokens += scene.running.block_tokens(entry) if scene is not None and counted else 0
            at += 1
        words: list[Span] = []
        for category, many in kinds.items():
            sign = CATEGORY[category]
            words += [Span(", ", "faint")] if words else []
            words += [sign.span, Span(f" {sign.name}{f' × {many}' if many > 1 else ''}", "dim")]
        figure = numbers.tokens(tokens) if counted else ""
        room = max(1, grid.width - _LEAD - 10)
        return [Span(" "), Span(cursor, "accent"), Span("     "), *fitted(words, room), Span(f"{figure:>9} ", "faint")]

    def _change(self, index: int, grid: Grid) -> list[Spans]:
        """The lines of a change of a file under its row."""
        entry, room = self._rows.entry(index), min(_WIDEST, max(8, grid.width - _LEAD - 4))
        whole = entry in self._rows.opened
        key = (entry, room, whole)
        found = self._changes.get(key)
        if found is None:
            edge = Span(" " * _LEAD + "│ ", "cat-call")
            body = Body(_changed(self._got(entry)), room, hang=2)
            most = _MOST if whole else _DIFF
            shown = body.height(most)
            made: list[Spans] = [[edge, *(body.line(n) or ())] for n in range(shown)]
            more = body.more(shown)
            if more != 0:
                left = "more lines" if more is None else f"{more:,} more line{'s' if more != 1 else ''}"
                made.append([edge, Span(f"⋯ {left}  ", "dim"), Span("⏎", "accent bold"), Span(" opens", "faint")])
            found = self._changes.put(key, made)
        return found


def _short(words: list[Span], room: int) -> list[Span]:
    if width(words) <= room:
        return words
    return [*cropped(words, max(1, room - 1)), Span("…", "dim")]


def _changes_file(got: BlockContent, cwd: str) -> bool:
    return any(touch.kind == CHANGE for touch in find_touches(got, cwd)) or bool(_patch(_given(got)))


def _given(got: BlockContent) -> Json:
    return arguments_value(got) if got.arguments else {}


def _pairs(given: Json) -> Iterator[tuple[str, str]]:
    """(before, after) of every replacement that a call makes; a file that is written whole had nothing before."""
    if not isinstance(given, Mapping):
        return
    inner = given.get("edits")
    if isinstance(inner, list):
        for one in inner:
            yield from _pairs(one)
    old = next((given[key] for key in _OLD if isinstance(given.get(key), str)), None)
    new = next((given[key] for key in _NEW if isinstance(given.get(key), str)), None)
    if isinstance(old, str) or isinstance(new, str):
        yield str(old or ""), str(new or "")
        return
    whole = next((given[key] for key in _WHOLE if isinstance(given.get(key), str)), None)
    if isinstance(whole, str):
        yield "", whole


def _patch(given: Json) -> str:
    """The text of a patch among the words of a call; "" without one."""
    texts = [given] if isinstance(given, str) else list(given.values()) if isinstance(given, Mapping) else []
    return next((text for text in texts if isinstance(text, str) and "*** " in text[:4096]), "")


def _changed(got: BlockContent) -> Iterator[Spans]:
    """The lines of a change, each behind its sign."""
    given = _given(got)
    pairs = list(_pairs(given))
    for n, (old, new) in enumerate(pairs):
        if n:
            yield [Span("⋯", "faint")]
        if not old:
            yield from ([Span("+ ", "add"), *safe_text.spans(line, "add")] for line in safe_text.lines(new))
            continue
        yield from map(_diff_line, _diff(old, new))
    if not pairs:
        yield from map(_diff_line, safe_text.lines(_patch(given)))


def _diff(old: str, new: str) -> Iterator[str]:
    """The lines of both, each behind its sign; what did not change is shown near a change only."""
    before, after = list(safe_text.lines(old)), list(safe_text.lines(new))
    if len(before) + len(after) > _COMPARED:
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    for line in islice(unified_diff(before, after, n=2, lineterm=""), 2, None):
        yield "⋯" if line.startswith("@@") else line


def _diff_line(line: str) -> Spans:
    style = "add" if line.startswith("+") else "del" if line.startswith("-") else "dim"
    return [Span(line[:1] + " ", style), *safe_text.spans(line[1:], style)]


def _counts(got: BlockContent) -> str:
    """Lines that come and go: ``  +12 −3``."""
    given = _given(got)
    pairs = list(_pairs(given))
    if not pairs:
        rows = list(islice(_patch(given).split("\n"), 100_000))
        come, go = (sum(row.startswith(sign) for row in rows) for sign in "+-")
    else:
        come, go = (sum(_lines(pair[side]) for pair in pairs) for side in (1, 0))
    return f"  +{come:,}" + (f" {numbers.MINUS}{go:,}" if go else "")


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0
