"""The help: what the signs mean, what every key of the screen does by task, the keys of other screens, and all words.
What is typed filters it."""

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
    "sessions": "find a session, and keep it",
    "calls": "go from call to call; what one cost, and why",
    "searching": "find a text",
    "lists": "what is heavy, repeated, forked: lists",
    "the block under the cursor": "read a block",
    "editing the context": "change the context: mark, stage, price, apply, undo",
    "chat": "talk, or go on from here",
    "notes and bookmarks": "remember a place: notes and bookmarks",
    "what is shown": "show more, or less",
    "threads and following": "subagents, and recordings that grow",
    "general": "on every screen",
}
"""Headings of the groups of commands, in their order; any other group stands behind them under its own name."""
MOVING: Final = (
    ("↑ ↓ j k", "row by row", "The row above, the row below; `pgup` and `pgdn` go by pages."),
    (
        "g g  G",
        "first row, last row",
        "The first row of this pane or list, the last; also `ctrl+home`, `ctrl+end`.",
    ),
)
"""The keys of every pane and list: signs, what they are called, what they do."""
_KEYS: Final = 9
_NAME: Final = 38
_WIDE: Final = 110
"""Columns from which a command's name and what it does share a line."""
_GAP: Final = 2


class Help(Struct, frozen=True):
    """What the help of a screen is made of: its `commands`, those of them that can be used `now`, the groups that come
    `first` for what one is doing, the commands of `others` by the name of their screen."""

    commands: Sequence[type[Command]]
    now: frozenset[type[Command]] = frozenset()
    first: tuple[str, ...] = ()
    others: Callable[[], Mapping[str, Sequence[type[Command]]]] = dict


def rows(what: Help, words: str, room: int) -> list[Spans]:
    """The page in `room` cells, with only what all of `words` occur in; without any, a legend of the signs first."""
    wanted = words.casefold().split()
    shared = {name for each in what.commands for name in each.beside}
    out: list[Spans] = []
    if not wanted:
        out += [*_section("signs on the screens (= explains each where it stands)"), *_legend(room)]
    meant = [each for each in what.commands if wanted and set(wanted) <= set(each.sought)]
    if meant:
        out += _section("what you may be looking for")
        out += [line for each in meant for line in _command(each, each in what.now or not what.now, room)]
    for title, members in _by_task(what):
        if not wanted:
            found = [each for each in members if each.keys and each.__name__ not in shared]
        else:
            found = [each for each in members if _has(wanted, each.name, each.help(), _keys(each), title, *each.sought)]
        found = [each for each in found if each not in meant]
        moving = [one for one in MOVING if _has(wanted, *one)] if title == TASKS["general"] else []
        if found or moving:
            out += _section(title)
            can = [(each, each in what.now or not what.now) for each in found]
            out += [line for each, now in can for line in _command(each, now, room, alone=not wanted)]
            out += [line for keys, name, does in moving for line in _told(_lit(keys), name, does, "ink", room)]
    if not wanted and (more := sum(not each.keys for each in what.commands)):
        line = [_lit("^p"), Span(f"{more} more by name"), Span("; what you type here finds them, too", "dim")]
        out += [[], cropped(line, room)]
    own = {each.__name__ for each in what.commands}
    for name, commands in what.others().items() if wanted else ():
        found = [each for each in commands if each.__name__ not in own]
        found = [each for each in found if _has(wanted, each.name, each.help(), name, *each.sought)]
        if found:
            out += _section(f"elsewhere: {name}")
            out += [line for each in found for line in _command(each, False, room)]
    for group, entries in glossary().grouped():
        told = [one for one in entries if _has(wanted, one.word, one.says, *one.labels, *one.glyphs)]
        if told:
            out += _section(f"words: {group}")
            out += [line for one in told for line in _entry(one, room)]
    if not out:
        return [[], [Span(f"  Nothing of that name. Empty the line for everything: {len(what.commands)} keys.", "dim")]]
    return out[1:] if not out[0] else out


def _by_task(what: Help) -> Iterator[tuple[str, list[type[Command]]]]:
    groups: dict[str, list[type[Command]]] = {}
    for command in what.commands:
        groups.setdefault(command.group, []).append(command)
    for group in dict.fromkeys([*what.first, *TASKS, *groups]):
        if group in groups:
            # What the key line names comes first.
            yield TASKS.get(group, group), sorted(groups[group], key=lambda each: not each.label)


def _has(wanted: Iterable[str], *texts: str) -> bool:
    hay = "\0".join(texts).casefold()
    return all(word in hay for word in wanted)


def _keys(command: type[Command]) -> str:
    return " ".join(map(key_text, command.keys))


def _section(title: str) -> list[Spans]:
    return [[], [Span(" "), Span(title, "accent bold")]]


def _command(command: type[Command], can: bool, room: int, *, alone: bool = False) -> Iterator[Spans]:
    """A command: its keys (none: the palette's), its name there, what it does. What cannot be done now is dim. Where it
    stands `alone` for all that share its line, their keys and names."""
    shared = command.together if alone and command.beside else ("", "")
    keys, name = shared[0] or _keys(command) or "^p", shared[1] or command.name
    style = ("accent bold" if can else "accent") if command.keys else "faint"
    yield from _told(Span(_right(keys), style), name, command.help(), "ink" if can else "dim", room)


def _right(keys: str) -> str:
    return cells.right(keys, _KEYS) + "  "


def _lit(keys: str) -> Span:
    return Span(_right(keys), "accent bold")


def _told(keys: Span, name: str, says: str, style: str, room: int) -> Iterator[Spans]:
    """Keys, a name, what they do: in a line where there is room, else below each other."""
    bold = f"{style} bold" if style == "ink" else style
    if room >= _WIDE:
        told = safe_text.wrap(says, room - _KEYS - _NAME - 5)
        yield [keys, Span(cells.left(name, _NAME) + " ", bold), *style_markup(told[0], "dim")]
        yield from ([Span(" " * (_KEYS + _NAME + 3)), *style_markup(line, "dim")] for line in told[1:])
        return
    yield [keys, Span(cells.fit(name, room - _KEYS - 3), bold)]
    yield from (
        [Span(" " * (_KEYS + 2)), *style_markup(line, "dim")] for line in safe_text.wrap(says, room - _KEYS - 4)
    )


def _drawn(entry: Entry) -> list[Span]:
    signs = {sign.glyph: sign.style for sign in entry.signs}
    return [Span(glyph, signs.get(glyph, "accent")) for glyph in entry.glyphs]


def _legend(room: int) -> Iterator[Spans]:
    """Signs with their words, as many as fit in a line."""
    line: list[Span] = [Span("  ")]
    for _, entries in glossary().grouped():
        for one in entries:
            if not one.signs:
                continue
            digits = "".join(sign.key for sign in one.signs)
            shown = [
                *_drawn(one),
                Span(f" {one.word}"),
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


def _entry(entry: Entry, room: int) -> Iterator[Spans]:
    """A word: its signs, itself, its two sentences."""
    signs = _drawn(entry)[:3]
    lead = _KEYS - width(signs) - max(0, len(signs) - 1)
    spaced = [span for sign in signs for span in (sign, Span(" "))]
    head = [Span(" " * max(0, lead)), *spaced, Span(" " * (2 - bool(spaced)))]
    if room >= _WIDE:
        told = safe_text.wrap(entry.says, room - _KEYS - _NAME - 5)
        yield [*head, Span(cells.left(entry.word, _NAME) + " ", "ink bold"), *style_markup(told[0], "dim")]
        yield from ([Span(" " * (_KEYS + _NAME + 3)), *style_markup(line, "dim")] for line in told[1:])
        return
    yield [*head, Span(entry.word, "ink bold")]
    yield from (
        [Span(" " * (_KEYS + 2)), *style_markup(line, "dim")] for line in safe_text.wrap(entry.says, room - _KEYS - 4)
    )


class HelpPage(ScrolledRows):
    """The page; arrow keys and the wheel scroll it."""

    def __init__(self, what: Help) -> None:
        super().__init__(title="help", id="help")
        self._what = what
        self._words = ""
        self._rows: list[Spans] = []
        self._made: tuple[str, int] | None = None

    def search(self, words: str) -> None:
        """Show only what these words occur in."""
        self._words, self.viewport.top = words, 0
        self.reload()

    @property
    def row_count(self) -> int:
        """Lines of the page."""
        return len(self._rows)

    def measure(self) -> None:
        """Another width, or other words, give other lines."""
        if self._made != (self._words, self.body_width):
            self._made = self._words, self.body_width
            self._rows = rows(self._what, self._words, self.body_width)
        super().measure()

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A line."""
        return self._rows[index]

    def notes(self) -> Spans:
        """How to go on, and how to leave."""
        keys = (("↑ ↓ pgdn", " scroll  "), ("esc", " close"))
        return [span for key, text in keys for span in (Span(key, "accent bold"), Span(text, "dim"))]


class HelpScreen(Dialog[None]):
    """The help over the screen that it explains; `words` stand in its filter at first."""

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

    def __init__(self, what: Help, words: str = "") -> None:
        super().__init__()
        self._page = HelpPage(what)
        self._filter = LineEdit(id="filter")
        self._begin = words

    def compose(self) -> ComposeResult:
        """What is looked for, and the page."""
        yield self._filter
        yield self._page

    def on_mount(self) -> None:
        """Typing filters at once."""
        hint = [Span("type what you look for: drop, cache, cost, ▲ …", "faint")]
        self._filter.hint = hint
        self._filter.show([Span(" ? ", "accent bold"), *([] if self._begin else hint)], self._begin)
        self._filter.focus()
        self._page.search(self._begin)

    def on_line_edit_changed(self, message: LineEdit.Changed) -> None:
        """Show what is looked for; the key that opened the help closes it."""
        text = message.edit.text
        if text == "?":
            self.dismiss(None)
            return
        self._filter.lead = [Span(" ? ", "accent bold"), *([] if text else self._filter.hint)]
        self._page.search(text)

    def on_line_edit_submitted(self, message: LineEdit.Submitted) -> None:
        """Close."""
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        """Scroll the page."""
        self._page.scroll_to_line(self._page.viewport.top + lines)
