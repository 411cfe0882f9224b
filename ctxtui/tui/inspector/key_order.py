"""Order of keys in the key line, for navigation or for editing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.tui.commands.command import Command, CommandContext
from ctxtui.tui.commands.everywhere import Back
from ctxtui.tui.commands.situation import ASKING, KEYED, MARKED, RUNNING, SEARCHING, SEEKING, STAGED, TALKING
from ctxtui.tui.inspector.commands import GoToCall, Home, LeaveOpen, NextCall, NextEvent, OpenBlock, ShowAll
from ctxtui.tui.inspector.controllers.diff import DiffBefore
from ctxtui.tui.inspector.controllers.edit_log import Apply, Breaks, ChooseMoment, Discard, Undo
from ctxtui.tui.inspector.controllers.export import ShowNext
from ctxtui.tui.inspector.controllers.fork import TalkHere
from ctxtui.tui.inspector.controllers.marking import MarkBlock, Widen
from ctxtui.tui.inspector.controllers.search import NextHit, Search, SearchExpression
from ctxtui.tui.inspector.controllers.staging import Breakpoint, Drop, Externalize, Pin, Summarize, TruncateBlock
from ctxtui.tui.inspector.controllers.summaries import WriteSummary
from ctxtui.tui.lists.registry import ShowBlocks, ShowMisses, ShowMoney
from ctxtui.tui.widgets.keyline import Key

NAVIGATION: Final[tuple[type[Command], ...]] = (
    NextCall, Search, ShowMisses, ShowMoney, ShowBlocks, DiffBefore, Home, Drop, Undo, OpenBlock, Back, MarkBlock,
    TalkHere, NextEvent, GoToCall,
)  # fmt: skip
"""Commands that come after those for the current task."""
ON_MARKED: Final[tuple[type[Command], ...]] = (
    Drop, TruncateBlock, WriteSummary, Summarize, Externalize, Pin,
)  # fmt: skip
"""Commands on marked blocks, listed before `esc`; without an API key not a model's summary."""
MORE_ON_MARKED: Final[tuple[type[Command], ...]] = (Widen, MarkBlock, Breakpoint)
ON_STAGED: Final[tuple[type[Command], ...]] = (Apply, Discard, Undo, ChooseMoment, Breaks, ShowNext)
_FIRST: Final[tuple[type[Command], ...]] = (NextHit, ShowAll)
"""Commands that come before all others."""
_ON_PANES: Final[dict[str, tuple[Key, ...]]] = {
    "calls": (Key("← →", "call to call"),),
    "map": (Key("← → ↑ ↓", "block to block"),),
    "context": (Key("⏎", "what the residual is", "residual"),),
    "heaviest": (Key("↑ ↓", "rows"), Key("⏎", "go to it")),
    "threads": (Key("↑ ↓", "rows"), Key("⏎", "show it")),
}
"""Keys of the focused pane that are not commands."""
_CLOSED_BY_ESC: Final = ((SEARCHING, "end search", "end"), (MARKED, "unmark", ""), (RUNNING, "interrupt", ""))
"""What `esc` closes, in order, with labels for the key line."""


def keys(
    available: Sequence[type[Command]],
    context: CommandContext,
    *,
    first: Sequence[type[Command]] = (),
    choice: bool = False,
    esc: str = "leave",
    top: bool = False,
) -> Iterator[Key]:
    """Yield the keys of the `available` commands, those for the current task first.

    - `first`: commands of the screen that come before navigation.
    - `choice`: a question takes one of a few keys; `esc`: the label of that key there.
    - `top`: on the top level, going back quits.
    """
    facts = context.facts
    if ASKING in facts:
        usable = [each for each in dict.fromkeys([*first, *available]) if each in available]
        yield from _typing(facts, usable, talking=TALKING in facts, choice=choice, esc=esc)
        return
    marked, staged = MARKED in facts, STAGED in facts
    marking = [each for each in ON_MARKED if each is not WriteSummary or KEYED in facts] if marked else []
    ordered = [
        *_FIRST,
        *marking,
        *(MORE_ON_MARKED if marked else ()),
        *(ON_STAGED if staged else ()),
        *first,
        *NAVIGATION,
    ]
    named = [
        each
        for each in dict.fromkeys([*ordered, *available])
        if each in available and each.label and not each.is_always_shown
    ]
    if context.pane in _ON_PANES:
        yield from (*_ON_PANES[context.pane], Key("tab", "next pane", "pane"))
    # Without marks, `esc` comes first.
    marked_count = sum(each in marking for each in named)
    escape = _escape(available, facts)
    shown = [_key(each, top) for each in named]
    yield from (*shown[:marked_count], *escape, *shown[marked_count:])


def _key(command: type[Command], top: bool) -> Key:
    key = Key(*command.key_line())
    return key._replace(label="quit") if top and command is Back else key


def _escape(available: Sequence[type[Command]], facts: frozenset[str]) -> list[Key]:
    for fact, label, short in _CLOSED_BY_ESC:
        if fact in facts:
            return [Key("esc", label, short, each.actions()) for each in available if issubclass(each, LeaveOpen)]
    return []


def _typing(
    facts: frozenset[str], available: Sequence[type[Command]], *, talking: bool, choice: bool, esc: str
) -> Iterator[Key]:
    """Yield the keys that are not letters while a line is typed in.

    Only `esc` for a `choice` of keys.
    """
    seeking = SEEKING in facts
    if not choice:
        yield Key("⏎", "send" if talking else "keep" if seeking else "accept")
    yield Key("esc", esc)
    if seeking:
        yield Key("^x", "regular expression", "expression", SearchExpression.actions())
    elif not choice:
        yield from (
            Key(*each.key_line())
            for each in available
            if each.label and not each.is_always_shown and each.key_shown().startswith("^")
        )
