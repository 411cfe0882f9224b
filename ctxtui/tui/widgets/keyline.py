"""The key line: what the keys do here, as many as fit, the palette and the help always at the right. A click on a key
does what the key does."""

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
"""Columns from which labels are written out."""
ROOMY = 100
"""Columns from which the key that explains stands beside palette and help."""


class Key(NamedTuple):
    """A key as it is written (``⏎``, ``[ ]``), what it does, that in a word for narrow screens, and Textual's actions:
    one, or one for each sign of the key. None: a click does nothing."""

    key: str
    label: str
    short: str = ""
    actions: tuple[str, ...] = ()


EXPLAIN = Key("=", "explain", "", ("app.explain",))
ALWAYS = (Key("^p", "palette", "", ("app.palette",)), Key("?", "help", "", ("app.help",)))
WHILE_TYPING = (ALWAYS[0], ALWAYS[1]._replace(key="f1"))
"""Where a line has the cursor: other keys are letters of it, or answer what it asks."""
ACCEPT, LEAVE = Key("⏎", "accept"), Key("esc", "leave")
"""What ends a line."""
_NAMES = {"⏎": "ret", "↑": "up", "↓": "down", "←": "left", "→": "right"}


class _Placed(NamedTuple):
    """A key and the cell in which it begins."""

    x: int
    key: Key
    spans: list[Span]

    @property
    def end(self) -> int:
        return self.x + width(self.spans)

    def action(self, x: int) -> str:
        """What a click on cell `x` of the line does."""
        actions = self.key.actions
        if len(actions) < 2:
            return actions[0] if actions else ""
        # Signs are divided by blanks; the label belongs to the last one, which goes on.
        passed = self.spans[0].text[: max(0, x - self.x)].count(" ")
        return actions[min(passed, len(actions) - 1)] if x < self.x + cells.width(self.spans[0].text) else actions[-1]


def _spans(key: Key, room: int, ascii: bool) -> list[Span]:
    label = key.label if room >= WIDE or not key.short else key.short
    name = " ".join(_NAMES.get(sign, sign) for sign in key.key.split(" ")) if ascii else key.key
    return [Span(name, "accent bold"), Span(f" {label}", "dim")]


def _placed(room: int, keys: Sequence[Key], right: Sequence[Key], ascii: bool, out: Key | None = None) -> list[_Placed]:
    """`keys` in order from the left, the first that does not fit and all behind it left out, then the way `out`, which
    never is; `right` at the end, and only there."""
    right = (EXPLAIN, *right) if room >= ROOMY and right == ALWAYS else right
    there = {key.key for key in right}
    always = [_spans(key, room, ascii) for key in right]
    x = room - sum(width(spans) for spans in always) - 2 * max(0, len(always) - 1) - 1
    made: list[_Placed] = []
    # Where there is room the two sides keep apart.
    free, at = x - (2 if room >= ROOMY else 1), 1
    free -= width(_spans(out, room, ascii)) + 2 if out is not None else 0
    for key in keys:
        if key.key in there:
            continue
        spans = _spans(key, room, ascii)
        if at + width(spans) > free:
            break
        made.append(_Placed(at, key, spans))
        at += width(spans) + 2
    if out is not None:
        made.append(_Placed(at, out, _spans(out, room, ascii)))
    for key, spans in zip(right, always, strict=True):
        made.append(_Placed(max(x, 1), key, spans))
        x = max(x, 1) + width(spans) + 2
    return made


def keyline(
    room: int,
    keys: Sequence[Key],
    *,
    right: Sequence[Key] = ALWAYS,
    ascii: bool = False,
    out: Key | None = None,
) -> list[Span]:
    """A line of exactly `room` cells: `keys` in order, the first that does not fit and all behind it left out.

    Keys are named in words with `ascii`. `right` is always there, as far as `room` reaches, and behind `keys` the way
    `out`, where there is one.
    """
    line: list[Span] = []
    for one in _placed(room, keys, right, ascii, out):
        line += [Span(" " * (one.x - width(line))), *one.spans]
    return merged([*line, Span(" " * max(1, room - width(line)))])


class KeyLine(Still):
    """The last row of a screen; `right` are the keys that are always there, `out` is the way out of it."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "KeyLine { height: 1; dock: bottom; }"

    class Pressed(Message):
        """A key was clicked: its `action` is to be run on the screen."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(
        self,
        keys: Sequence[Key] = (),
        *,
        right: Sequence[Key] = ALWAYS,
        out: Key | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._keys = tuple(keys)
        self._right, self._out = tuple(right), out

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys shown, the most used on the focused row first."""
        return self._keys

    @keys.setter
    def keys(self, keys: Sequence[Key]) -> None:
        if tuple(keys) != self._keys:
            self._keys = tuple(keys)
            self.refresh()

    def show(self, keys: Iterable[Key], *, right: Sequence[Key] = ALWAYS, out: Key | None = None) -> None:
        """Show other keys, as they are given to a new line."""
        shown = tuple(keys), tuple(right), out
        if shown != (self._keys, self._right, self._out):
            self._keys, self._right, self._out = shown
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        look = look_of(self.app)
        spans = keyline(self.size.width, self._keys, right=self._right, ascii=look.ascii, out=self._out)
        return paint.strip(spans, self.size.width, look, "on-panel")

    def on_click(self, event: events.Click) -> None:
        """A click on a key does what the key does."""
        event.stop()
        for one in _placed(self.size.width, self._keys, self._right, look_of(self.app).ascii, self._out):
            if one.x <= event.x < one.end and (action := one.action(event.x)):
                self.post_message(self.Pressed(action))
