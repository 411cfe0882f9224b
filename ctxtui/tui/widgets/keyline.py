"""The key line: as many keys of the focused pane as fit, with palette and help at the right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from textual import events
from textual.message import Message
from textual.strip import Strip

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.still import Still
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, merged, width

WIDE = 160
"""Columns from which long labels are used."""
ROOMY = 100
"""Columns from which the explain key is shown next to palette and help."""


class Key(NamedTuple):
    """A key as written (``⏎``, ``[ ]``), its label, a short label, and Textual actions.

    One action, or one for each sign of the key; with none, a click does nothing.
    """

    key: str
    label: str
    short: str = ""
    actions: tuple[str, ...] = ()


EXPLAIN = Key("=", "explain", "", ("app.explain",))
ALWAYS = (Key("^p", "palette", "", ("app.palette",)), Key("?", "help", "", ("app.help",)))
"""Keys that are always shown at the right end."""
WHILE_TYPING = (ALWAYS[0], ALWAYS[1]._replace(key="f1"))
"""The same while a line is typed in, where ``?`` is a letter or an answer."""
ACCEPT, LEAVE = Key("⏎", "accept"), Key("esc", "leave")
"""Keys that end a line."""
_NAMES = {"⏎": "ret", "↑": "up", "↓": "down", "←": "left", "→": "right"}
"""Names of keys where only ASCII may be written."""


class _PlacedKey(NamedTuple):
    x: int
    key: Key
    spans: list[Span]

    @property
    def end(self) -> int:
        return self.x + width(self.spans)

    def action(self, x: int) -> str:
        """Return the action of a click on cell `x` of the line."""
        actions = self.key.actions
        if len(actions) < 2:
            return actions[0] if actions else ""
        # Blanks separate the signs; the label belongs to the last sign.
        passed = self.spans[0].text[: max(0, x - self.x)].count(" ")
        return actions[min(passed, len(actions) - 1)] if x < self.x + cells.width(self.spans[0].text) else actions[-1]


def _spans(key: Key, room: int, ascii: bool) -> list[Span]:
    label = key.label if room >= WIDE or not key.short else key.short
    name = " ".join(_NAMES.get(sign, sign) for sign in key.key.split(" ")) if ascii else key.key
    return [Span(name, "accent bold"), Span(f" {label}", "dim")]


def _place_keys(
    room: int, keys: Sequence[Key], right: Sequence[Key], ascii: bool, out: Key | None = None
) -> list[_PlacedKey]:
    """Place `keys` until one does not fit, then `out`; `right` at the right end, or after `out`."""
    right = (EXPLAIN, *right) if room >= ROOMY and right == ALWAYS else right
    right_keys = {key.key for key in right}
    always = [_spans(key, room, ascii) for key in right]
    x = room - sum(width(spans) for spans in always) - 2 * max(0, len(always) - 1) - 1
    placed: list[_PlacedKey] = []
    # Keep a wider gap if there is space.
    free, column = x - (2 if room >= ROOMY else 1), 1
    free -= width(_spans(out, room, ascii)) + 2 if out is not None else 0
    for key in keys:
        # A command whose key the user gave to another one has none.
        if not key.key or key.key in right_keys:
            continue
        spans = _spans(key, room, ascii)
        if column + width(spans) > free:
            break
        placed.append(_PlacedKey(column, key, spans))
        column += width(spans) + 2
    if out is not None:
        placed.append(_PlacedKey(column, out, _spans(out, room, ascii)))
    x = max(x, placed[-1].end + 1 if placed else 1)
    for key, spans in zip(right, always, strict=True):
        placed.append(_PlacedKey(x, key, spans))
        x += width(spans) + 2
    return placed


def keyline(
    room: int,
    keys: Sequence[Key],
    *,
    right: Sequence[Key] = ALWAYS,
    ascii: bool = False,
    out: Key | None = None,
) -> list[Span]:
    """Return a line of `room` cells: `keys` until one does not fit, `out`; `right` at its end.

    `out` (the key that leaves, if any) and `right` are never dropped; the line is longer if they do not fit.
    """
    line: list[Span] = []
    for placed in _place_keys(room, keys, right, ascii, out):
        line += [Span(" " * (placed.x - width(line))), *placed.spans]
    return merged([*line, Span(" " * max(1, room - width(line)))])


class KeyLine(Still):
    """The last row of a screen, with its keys; `right` are always shown."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "KeyLine { height: 1; dock: bottom; }"

    class Pressed(Message):
        """A key was clicked: run its `action` on the screen."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, keys: Sequence[Key] = (), *, right: Sequence[Key] = ALWAYS, id: str | None = None) -> None:
        super().__init__(id=id)
        self._keys, self._right = tuple(keys), tuple(right)
        self._out: Key | None = None

    @property
    def keys(self) -> tuple[Key, ...]:
        return self._keys

    def show(self, keys: Iterable[Key], *, right: Sequence[Key] = ALWAYS, out: Key | None = None) -> None:
        """Show other keys; `out` is the key that leaves."""
        shown = tuple(keys), tuple(right), out
        if shown != (self._keys, self._right, self._out):
            self._keys, self._right, self._out = shown
            self.refresh()

    def render_line(self, y: int) -> Strip:
        look = look_of(self.app)
        spans = keyline(self.size.width, self._keys, right=self._right, ascii=look.ascii, out=self._out)
        return paint.strip(spans, self.size.width, look, "on-panel")

    def on_click(self, event: events.Click) -> None:
        event.stop()
        for placed in _place_keys(self.size.width, self._keys, self._right, look_of(self.app).ascii, self._out):
            if placed.x <= event.x < placed.end and (action := placed.action(event.x)):
                self.post_message(self.Pressed(action))
