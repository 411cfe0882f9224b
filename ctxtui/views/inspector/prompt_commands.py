"""Navigation: finds the next event of a kind, and parses commands typed into the prompt."""

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
    "loop": ("loop",),
    "model": ("model", "client"),
    "resume": ("resume", "rewind"),
}
ANY_EVENT: Final = "event"
ALL_EVENT_KINDS: Final = tuple(kind for kinds in KINDS.values() for kind in kinds)


def next_event(events: Sequence[CallEvent], number: int, kind: str, step: int) -> CallEvent | None:
    """The nearest event of `kind` after call `number`, or before it if `step` is negative.

    Of several events of a call, an unusual one is preferred to a plain turn.
    """
    kinds = ALL_EVENT_KINDS if kind == ANY_EVENT else KINDS[kind]
    candidates = [event for event in events if event.kind in kinds and (event.number - number) * step > 0]
    if not candidates:
        return None
    nearest = min(candidates, key=lambda event: abs(event.number - number)).number
    here = [event for event in candidates if event.number == nearest]
    return next((event for event in here if event.kind != "turn"), here[0])


class Go(Struct, frozen=True):
    """Go to the call `number` (from 1)."""

    number: int


class Seek(Struct, frozen=True):
    """Go to the next event of a kind (`step` 1), or to the previous one (-1)."""

    kind: str
    step: int = 1


class Show(Struct, frozen=True):
    """Show only these categories (indices), or all but these if `hide`; an empty set shows all."""

    categories: frozenset[int] = frozenset()
    hide: bool = False


class ParseError(Struct, frozen=True):
    """The text could not be parsed; `message` says what is expected."""

    message: str


PromptCommand = Go | Seek | Show | ParseError

_NAMES: Final = {name.replace("_", " "): index for name, index in INDEX.items()} | {
    "call": INDEX["tool_call"],
    "calls": INDEX["tool_call"],
    "result": INDEX["tool_result"],
    "results": INDEX["tool_result"],
    "images": INDEX["image"],
    "documents": INDEX["document"],
}
HINT: Final = "call number, event (turn, miss, compaction, jump, error …), or categories to show (-name hides, all)"


def parse_command(text: str, calls: int) -> PromptCommand:
    """Parse a command for a thread of `calls` calls.

    ``139`` or ``#139``, ``miss``, ``-turn`` (previous one), ``user result`` (only these categories), ``-thinking`` (all
    but these), ``all``.
    """
    digits = text.strip().removeprefix("#").replace(",", "")
    if digits.isdecimal():
        number = int(digits[:9])
        return Go(number) if 1 <= number <= calls else ParseError(f"no call {number:,}: the last is {calls:,}")
    words = text.lower().replace("tool call", "call").replace("tool result", "result").replace(",", " ").split()
    if not words or words == ["all"]:
        return Show()
    if len(words) == 1:
        step, word = (-1, words[0][1:]) if words[0].startswith("-") else (1, words[0])
        kind = next((kind for kind in (word, word.removesuffix("s"), word.removesuffix("es")) if kind in KINDS), "")
        if kind:
            return Seek(kind, step)
    return _parse_categories(words)


def _parse_categories(words: Iterable[str]) -> PromptCommand:
    shown: set[int] = set()
    hidden: set[int] = set()
    for word in words:
        bare = word.lstrip("-!")
        name = bare if bare in _NAMES else next((n for n in _NAMES if n.startswith(bare) and len(bare) > 2), "")
        if not name:
            return ParseError(f"{word!r} is not one of: {HINT}")
        (hidden if bare != word else shown).add(_NAMES[name])
    if shown and hidden:
        return Show(frozenset(shown - hidden))
    return Show(frozenset(shown or hidden), hide=bool(hidden))


def apply_filter(command: Show, line: str, hidden: str) -> tuple[str, ...]:
    if not command.categories:
        return (line,) * len(CATEGORIES)
    return tuple(hidden if (index in command.categories) == command.hide else line for index in range(len(CATEGORIES)))
