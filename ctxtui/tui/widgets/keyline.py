"""The key line: what the keys do here, as many as fit, the palette and the help always at the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.strip import Strip

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.still import Still
from ctxtui.views.text.span import Span, merged, width

ALWAYS = (("^p", "palette"), ("?", "help"))
WIDE = 160
"""Columns from which labels are written out."""


class Key(NamedTuple):
    """A key as it is written (``⏎``, ``[ ]``), what it does, and that in a word for narrow screens."""

    key: str
    label: str
    short: str = ""


_NAMES = {"⏎": "ret", "↑": "up", "↓": "down", "←": "left", "→": "right"}


def _spans(key: str, label: str, ascii: bool) -> list[Span]:
    return [Span(_NAMES.get(key, key) if ascii else key, "accent bold"), Span(f" {label}", "dim")]


def keyline(
    room: int, keys: Sequence[Key], *, right: Sequence[tuple[str, str]] = ALWAYS, ascii: bool = False
) -> list[Span]:
    """A line of exactly `room` cells: `keys` in order, the first that does not fit and all behind it left out.

    Keys are named in words with `ascii`. `right` is always there, as far as `room` reaches.
    """
    always: list[Span] = []
    for name, label in right:
        always += [Span("  " if always else " "), *_spans(name, label, ascii)]
    always.append(Span(" "))
    left: list[Span] = []
    free = room - width(always)
    for key in keys:
        label = key.label if room >= WIDE or not key.short else key.short
        more = [Span("  " if left else " "), *_spans(key.key, label, ascii)]
        if width(left) + width(more) + 1 > free:
            break
        left += more
    gap = max(0, free - width(left))
    return merged([*left, Span(" " * gap), *always])


class KeyLine(Still):
    """The last row of a screen; `right` are the keys that are always there."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "KeyLine { height: 1; dock: bottom; }"

    def __init__(
        self, keys: Sequence[Key] = (), *, right: Sequence[tuple[str, str]] = ALWAYS, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._keys = tuple(keys)
        self._right = right

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys shown, the most used on the focused row first."""
        return self._keys

    @keys.setter
    def keys(self, keys: Sequence[Key]) -> None:
        if tuple(keys) != self._keys:
            self._keys = tuple(keys)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        look = look_of(self.app)
        spans = keyline(self.size.width, self._keys, right=self._right, ascii=look.ascii)
        return paint.strip(spans, self.size.width, look, "on-panel")
