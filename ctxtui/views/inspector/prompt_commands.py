"""Travel: the next event of a kind, and what a text typed into the prompt asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.session_events import CallEvent
from ctxtui.core.category import CATEGORIES, INDEX

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "turn": ("turn",),
    "miss": ("miss",),
    "compaction": ("compaction", "microcompaction"),
    "jump": ("jump",),
    "error": ("error",),
    "model": ("model", "client"),
    "resume": ("resume", "rewind"),
}
"""What one can travel to, and the events that count as such."""
ANY: Final = "event"
_EVERY: Final = tuple(kind for kinds in KINDS.values() for kind in kinds)


def next_event(events: Sequence[CallEvent], number: int, kind: str, step: int) -> CallEvent | None:
    """The first event of `kind` (or of any, ``event``) behind call `number`, or before it where `step` is negative.
    An unusual event of a call is told before its plain turn."""
    wanted = _EVERY if kind == ANY else KINDS[kind]
    found = [event for event in events if event.kind in wanted and (event.number - number) * step > 0]
    if not found:
        return None
    nearest = min(found, key=lambda event: abs(event.number - number)).number
    here = [event for event in found if event.number == nearest]
    return next((event for event in here if event.kind != "turn"), here[0])


class Go(Struct, frozen=True):
    """To the call of that number."""

    number: int


class Seek(Struct, frozen=True):
    """To the next event of a kind, or the one before it."""

    kind: str
    step: int = 1


class Show(Struct, frozen=True):
    """Show only these categories (indices), or with `hide` all but these; none of them: all."""

    categories: frozenset[int] = frozenset()
    hide: bool = False


class Wrong(Struct, frozen=True):
    """What could not be understood, and what could."""

    message: str


Wish = Go | Seek | Show | Wrong

_NAMES: Final = {name.replace("_", " "): index for name, index in INDEX.items()} | {
    "call": INDEX["tool_call"],
    "calls": INDEX["tool_call"],
    "result": INDEX["tool_result"],
    "results": INDEX["tool_result"],
    "images": INDEX["image"],
    "documents": INDEX["document"],
}
HINT: Final = "call number, event (turn, miss, compaction, jump, error), or categories to show (-name hides, all)"


def asked(text: str, calls: int) -> Wish:
    """What `text` asks for, in a thread of `calls` calls: ``139``, ``+5``, ``miss``, ``-turn`` (the one before),
    ``user result`` (only these categories), ``-thinking`` (all but these), ``all``."""
    words = text.lower().replace("tool call", "call").replace("tool result", "result").replace(",", " ").split()
    if not words or words == ["all"]:
        return Show()
    if len(words) == 1:
        word = words[0].lstrip("#")
        if word.isdecimal():
            number = int(word[:9])
            return Go(number) if 1 <= number <= calls else Wrong(f"there are {calls:,} calls, not {number:,}")
        step, kind = (-1, word[1:]) if word.startswith("-") else (1, word)
        if kind.removesuffix("s") in KINDS:
            return Seek(kind.removesuffix("s"), step)
        if kind in KINDS:
            return Seek(kind, step)
    return _categories(words)


def _categories(words: Iterable[str]) -> Wish:
    shown: set[int] = set()
    hidden: set[int] = set()
    for word in words:
        bare = word.lstrip("-!")
        name = bare if bare in _NAMES else next((n for n in _NAMES if n.startswith(bare) and len(bare) > 2), "")
        if not name:
            return Wrong(f"{word!r} is none of: {HINT}")
        (hidden if bare != word else shown).add(_NAMES[name])
    if shown and hidden:
        return Show(frozenset(shown - hidden))
    return Show(frozenset(shown or hidden), hide=bool(hidden))


def filtered(wish: Show, line: str, hidden: str) -> tuple[str, ...]:
    """How each category is shown after `wish`: `line` or `hidden`."""
    if not wish.categories:
        return (line,) * len(CATEGORIES)
    return tuple(hidden if (index in wish.categories) == wish.hide else line for index in range(len(CATEGORIES)))
