"""What a frame says to the terminal, in as few bytes as it takes.

Textual gives each piece of text its whole style and takes it off behind it: some 40 bytes for 5 cells. A terminal takes
4,096 bytes at a time, and a program that waits for it waits once for each of them. Here a piece says what is other than
in the piece before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_STYLE: Final = re.compile(r"\x1b\[([0-9;]*)m")
_MOVE: Final = re.compile(r"(?:\r?\n)?(?:\x1b\[[0-9]+;[0-9]+H)?")
_RESET: Final = ("", "0")
OFF: Final = "\x1b[0m"
"""Takes every style off."""
_FOLLOWING: Final = {"2": 3, "5": 1}
"""How many numbers follow that which says how a colour is told: red, green and blue, or one of a palette."""
_FOREGROUND: Final = frozenset(map(str, (*range(30, 38), *range(90, 98))))
_BACKGROUND: Final = frozenset(map(str, (*range(40, 48), *range(100, 108))))


class _Style(NamedTuple):
    """A style by the codes that set it: both colours ("" for the terminal's own), and all others."""

    foreground: str = ""
    background: str = ""
    others: frozenset[str] = frozenset()


def shortened(frame: str) -> str:
    """The same cells in the same styles. Before `frame` no style is set, and behind it none: each one that it sets is
    taken off before the next, or all of it is left as it is."""
    first = _STYLE.search(frame)
    second = first and _STYLE.search(frame, first.end())
    if first and second and first[1] not in _RESET and second[1] not in _RESET:
        # It is short already (`tui.shown_cells`).
        return frame
    said, codes = _parts(frame)
    found: list[str] = []
    now, wanted = "", ""
    for text, code in zip(said, [*codes, "0"], strict=True):
        if text:
            # Moving the cursor paints nothing.
            if wanted != now and (wanted or not _MOVE.fullmatch(text)):
                found.append(change(now, wanted))
                now = wanted
            found.append(text)
        if code in _RESET:
            wanted = ""
        elif wanted:
            return frame
        else:
            wanted = code
    if now:
        found.append(OFF)
    return "".join(found)


def _parts(frame: str) -> tuple[list[str], list[str]]:
    """The pieces of text, and the codes between them."""
    parts = _STYLE.split(frame)
    return parts[::2], parts[1::2]


@lru_cache(maxsize=20_000)
def change(before: str, after: str) -> str:
    """What leads from the style of one code to that of another, each set where none was ("": no style)."""
    if not after:
        return OFF
    old, new = _style(before), _style(after)
    kept = (
        old.others <= new.others and (new.foreground or not old.foreground) and (new.background or not old.background)
    )
    if not kept:
        return f"\x1b[0;{after}m"
    more = [
        new.foreground if new.foreground != old.foreground else "",
        new.background if new.background != old.background else "",
        *sorted(new.others - old.others),
    ]
    told = ";".join(filter(None, more))
    return f"\x1b[{told}m" if told else ""


def _style(code: str) -> _Style:
    foreground, background, others = "", "", set[str]()
    for one in _settings(code.split(";") if code else []):
        kind = one.partition(";")[0]
        if kind == "38" or kind in _FOREGROUND:
            foreground = one
        elif kind == "48" or kind in _BACKGROUND:
            background = one
        else:
            others.add(one)
    return _Style(foreground, background, frozenset(others))


def _settings(numbers: list[str]) -> Iterator[str]:
    """The numbers of a code, those of one colour together."""
    at = 0
    while at < len(numbers):
        colour = numbers[at] in ("38", "48") and at + 1 < len(numbers)
        size = 2 + _FOLLOWING.get(numbers[at + 1], 0) if colour else 1
        yield ";".join(numbers[at : at + size])
        at += size
