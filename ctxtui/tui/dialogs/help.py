"""The help: signs, the screen's keys by task, keys of other screens, and all words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ctxtui.services.config.package_data import glossary
from ctxtui.tui.commands import Command, key_text
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.rows import ScrolledRows
from ctxtui.views.glossary.entries import Entry
from ctxtui.views.glossary.note import style_markup
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans, cropped, width

TASKS: Final[Mapping[str, str]] = {
    "sessions": "find and keep sessions",
    "calls": "move between calls; costs and reasons",
    "searching": "find a text",
    "lists": "lists: large blocks, duplicates, forks",
    "the block under the cursor": "read a block",
    "editing the context": "change the context: mark, stage, price, apply, undo",
    "chat": "chat, or continue from here",
    "notes and bookmarks": "notes and bookmarks",
    "what is shown": "show more or less",
    "threads and following": "subagents, and live recordings",
    "general": "on every screen",
}
"""Headings of command groups in order; other groups follow under their own names."""
MOVING: Final = (
    ("↑ ↓ j k", "row by row", "Go to the row above or below; `pgup` and `pgdn` go by pages."),
    (
        "g g  G",
        "first row, last row",
        "Go to the first or last row; also `ctrl+home`, `ctrl+end`.",
    ),
)
"""Keys of every pane and list: keys, name, help."""
_KEY_CELLS: Final = 9
_NAME_CELLS: Final = 38
_WIDE_COLUMNS: Final = 110
"""Columns from which a command's name and help share a line."""


class Help(Struct, frozen=True):
    """Content of a screen's help.

    `commands` are the screen's, `now` those available now (empty: all), `first_groups` the groups that come first for
    the current task; `others` returns the commands of all screens by screen name.
    """

    commands: Sequence[type[Command]]
    now: frozenset[type[Command]] = frozenset()
    first_groups: tuple[str, ...] = ()
    others: Callable[[], Mapping[str, Sequence[type[Command]]]] = dict


def rows(page: Help, query: str, room: int) -> list[Spans]:
    """Return the page in `room` cells, filtered by all words of `query`."""
    terms = query.casefold().split()
    shared = {name for each in page.commands for name in each.help_partners}
    out: list[Spans] = []
    if not terms:
        out += [*_section("signs on the screens (`=` explains each of them in place)"), *_legend(room)]
    now = page.now or frozenset(page.commands)
    best_matches = [each for each in page.commands if terms and set(terms) <= set(each.synonyms)]
    if best_matches:
        out += _section("best matches")
        out += [line for each in best_matches for line in _command_lines(each, each in now, room)]
    for title, members in _by_task(page):
        if terms:
            searched = [(each, (each.name, each.help(), _keys(each), title, *each.synonyms)) for each in members]
            matching = [each for each, texts in searched if each not in best_matches and _contains_all(terms, *texts)]
        else:
            matching = [each for each in members if each.keys and each.__name__ not in shared]
        moving = [entry for entry in MOVING if _contains_all(terms, *entry)] if title == TASKS["general"] else []
        if matching or moving:
            out += _section(title)
            out += [line for each in matching for line in _command_lines(each, each in now, room, alone=not terms)]
            out += [
                line for keys, name, text in moving for line in _help_lines([_key_span(keys)], name, text, "ink", room)
            ]
    if not terms and (more := sum(not each.keys for each in page.commands)):
        line = [_key_span("^p"), Span(f"{more} more by name"), Span("; type here to find them, too", "dim")]
        out += [[], cropped(line, room)]
    own = {each.__name__ for each in page.commands}
    for name, commands in page.others().items() if terms else ():
        matching = [each for each in commands if each.__name__ not in own]
        matching = [each for each in matching if _contains_all(terms, each.name, each.help(), name, *each.synonyms)]
        if matching:
            out += _section(f"on another screen: {name}")
            out += [line for each in matching for line in _command_lines(each, False, room)]
    for group, entries in glossary().grouped():
        matches = [
            entry for entry in entries if _contains_all(terms, entry.word, entry.says, *entry.labels, *entry.glyphs)
        ]
        if matches:
            out += _section(f"words: {group}")
            out += [
                line
                for entry in matches
                for line in _help_lines(_leading_signs(entry), entry.word, entry.says, "ink", room)
            ]
    if not out:
        return [[], [Span("  Nothing matches. Clear the line to see all keys.", "dim")]]
    return out[1:] if not out[0] else out


def _by_task(page: Help) -> Iterator[tuple[str, list[type[Command]]]]:
    groups: dict[str, list[type[Command]]] = {}
    for command in page.commands:
        groups.setdefault(command.group, []).append(command)
    for group in dict.fromkeys([*page.first_groups, *TASKS, *groups]):
        if group in groups:
            # Commands in the key line come first.
            yield TASKS.get(group, group), sorted(groups[group], key=lambda each: not each.label)


def _contains_all(words: Iterable[str], *texts: str) -> bool:
    hay = "\0".join(texts).casefold()
    return all(word in hay for word in words)


def _keys(command: type[Command]) -> str:
    return " ".join(map(key_text, command.keys))


def _section(title: str) -> list[Spans]:
    return [[], [Span(" "), Span(title, "accent bold")]]


def _command_lines(command: type[Command], available: bool, room: int, *, alone: bool = False) -> Iterator[Spans]:
    """Render a command: keys (`^p` if it has none), name, help.

    `alone`: it also represents the commands that share its line, with their keys and names.
    """
    shared = command.help_row if alone and command.help_partners else ("", "")
    keys, name = shared[0] or _keys(command) or "^p", shared[1] or command.name
    style = ("accent bold" if available else "accent") if command.keys else "faint"
    key_span = Span(_right_aligned(keys), style)
    yield from _help_lines([key_span], name, command.help(), "ink" if available else "dim", room)


def _right_aligned(keys: str) -> str:
    return cells.right(keys, _KEY_CELLS) + "  "


def _key_span(keys: str) -> Span:
    return Span(_right_aligned(keys), "accent bold")


def _help_lines(head: Spans, name: str, text: str, style: str, room: int) -> Iterator[Spans]:
    """Render an entry of the help: keys or signs (`head`), a name and its text."""
    bold = f"{style} bold" if style == "ink" else style
    if room >= _WIDE_COLUMNS:
        lines = safe_text.wrap(text, room - _KEY_CELLS - _NAME_CELLS - 5)
        yield [*head, Span(cells.left(name, _NAME_CELLS) + " ", bold), *style_markup(lines[0], "dim")]
        yield from ([Span(" " * (_KEY_CELLS + _NAME_CELLS + 3)), *style_markup(line, "dim")] for line in lines[1:])
        return
    yield [*head, Span(cells.fit(name, room - _KEY_CELLS - 3), bold)]
    yield from (
        [Span(" " * (_KEY_CELLS + 2)), *style_markup(line, "dim")]
        for line in safe_text.wrap(text, room - _KEY_CELLS - 4)
    )


def _sign_spans(entry: Entry) -> list[Span]:
    signs = {sign.glyph: sign.style for sign in entry.signs}
    return [Span(glyph, signs.get(glyph, "accent")) for glyph in entry.glyphs]


def _legend(room: int) -> Iterator[Spans]:
    """Yield lines of signs with their words; each group begins a new line."""
    line: list[Span] = [Span("  ")]
    for _, entries in glossary().grouped():
        for entry in entries:
            if not entry.signs:
                continue
            digits = "".join(sign.key for sign in entry.signs)
            shown = [
                *_sign_spans(entry),
                Span(f" {entry.word}"),
                Span(f" {digits}" if digits else "", "accent"),
                Span("   "),
            ]
            if width(line) + width(shown) > room:
                yield line
                line = [Span("  ")]
            line += shown
        if len(line) > 1:
            yield line
            line = [Span("  ")]


def _leading_signs(entry: Entry) -> list[Span]:
    """Return the first three signs of a glossary word, where the keys of commands are."""
    signs = _sign_spans(entry)[:3]
    lead = _KEY_CELLS - width(signs) - max(0, len(signs) - 1)
    spaced = [span for sign in signs for span in (sign, Span(" "))]
    return [Span(" " * max(0, lead)), *spaced, Span(" " * (2 - bool(spaced)))]


class HelpPage(ScrolledRows):
    """The page; arrow keys and the wheel scroll it."""

    def __init__(self, page: Help) -> None:
        super().__init__(title="help", id="help")
        self._help = page
        self._query = ""
        self._rows: list[Spans] = []
        self._built_for: tuple[str, int] | None = None

    def search(self, query: str) -> None:
        self._query, self.viewport.top = query, 0
        self.reload()

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def measure(self) -> None:
        """Build the lines again if the width or the filter changed."""
        if self._built_for != (self._query, self.body_width):
            self._built_for = self._query, self.body_width
            self._rows = rows(self._help, self._query, self.body_width)
        super().measure()

    def render_row(self, index: int, line: int, width: int) -> Spans:
        return self._rows[index]

    def notes(self) -> Spans:
        keys = (("↑ ↓ pgdn", " scroll  "), ("esc", " close"))
        return [span for key, text in keys for span in (Span(key, "accent bold"), Span(text, "dim"))]


class HelpScreen(Dialog[None]):
    """The help over the screen that it explains; the filter starts as `query`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "dismiss", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll(-20)", show=False),
        Binding("pagedown", "scroll(20)", show=False),
        Binding("ctrl+home", "scroll(-99999)", show=False),
        Binding("ctrl+end", "scroll(99999)", show=False),
    ]
    DEFAULT_CSS = "HelpScreen { background: $background; } HelpScreen HelpPage { height: 1fr; }"

    def __init__(self, page: Help, query: str = "") -> None:
        super().__init__()
        self._page = HelpPage(page)
        self._filter = LineEdit(id="filter")
        self._first_query = query

    def compose(self) -> ComposeResult:
        yield self._filter
        yield self._page

    def on_mount(self) -> None:
        hint = [Span("type to search: drop, cache, cost, ▲ …", "faint")]
        self._filter.hint = hint
        self._filter.show([Span(" ? ", "accent bold"), *([] if self._first_query else hint)], self._first_query)
        self._filter.focus()
        self._page.search(self._first_query)

    def on_line_edit_changed(self, message: LineEdit.Changed) -> None:
        """Filter by the typed text; `?` alone closes the help."""
        text = message.edit.text
        if text == "?":
            self.dismiss(None)
            return
        self._filter.lead = [Span(" ? ", "accent bold"), *([] if text else self._filter.hint)]
        self._page.search(text)

    def on_line_edit_submitted(self, message: LineEdit.Submitted) -> None:
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        self._page.scroll_to_line(self._page.viewport.top + lines)
