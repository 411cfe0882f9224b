"""Which keys the key line names first: those that go about, or those that edit where something is marked or staged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.tui.commands.command import Command, CommandContext
from ctxtui.tui.commands.everywhere import Back
from ctxtui.tui.commands.situation import ASKING, KEYED, MARKED, RUNNING, SEARCHING, SEEKING, STAGED, TALKING
from ctxtui.tui.inspector.commands import GoToCall, Home, LeaveOpen, NextCall, NextEvent, OpenBlock, ShowAll
from ctxtui.tui.inspector.controllers.diff import DiffBefore
from ctxtui.tui.inspector.controllers.edit_log import Apply, Breaks, Discard, Undo, When
from ctxtui.tui.inspector.controllers.export import ShowNext
from ctxtui.tui.inspector.controllers.fork import TalkHere
from ctxtui.tui.inspector.controllers.marking import MarkBlock, Widen
from ctxtui.tui.inspector.controllers.search import NextHit, Search, SearchExpression
from ctxtui.tui.inspector.controllers.staging import Breakpoint, Drop, Externalize, Pin, Summarize, TruncateBlock
from ctxtui.tui.inspector.controllers.summaries import WriteSummary
from ctxtui.tui.lists.registry import ShowBlocks, ShowMisses, ShowMoney
from ctxtui.tui.widgets.keyline import Key

GOING: Final[tuple[type[Command], ...]] = (
    NextCall, Search, ShowMisses, ShowMoney, ShowBlocks, DiffBefore, Home, Drop, Undo, OpenBlock, Back, MarkBlock,
    TalkHere, NextEvent, GoToCall,
)  # fmt: skip
"""What one looks round with."""
MARKING: Final[tuple[type[Command], ...]] = (
    Drop, TruncateBlock, WriteSummary, Summarize, Externalize, Pin,
)  # fmt: skip
"""What is done to marked blocks, before the key that is rid of them; without a key of a provider a model comes last."""
WIDENING: Final[tuple[type[Command], ...]] = (Widen, MarkBlock, Breakpoint)
"""What else is done with marks."""
APPLYING: Final[tuple[type[Command], ...]] = (Apply, Discard, Undo, When, Breaks, ShowNext)
"""What is done with staged edits."""
_SPECIAL: Final[tuple[type[Command], ...]] = (NextHit, ShowAll)
"""What comes before all others, where it can be done at all."""
_ON_PANES: Final[dict[str, tuple[Key, ...]]] = {
    "calls": (Key("← →", "call to call"),),
    "map": (Key("← → ↑ ↓", "block to block"),),
    "context": (Key("⏎", "what the residual is", "residual"),),
    "heaviest": (Key("↑ ↓", "rows"), Key("⏎", "go to it")),
    "threads": (Key("↑ ↓", "rows"), Key("⏎", "show it")),
}
"""The keys of panes that are no commands, by the pane that has the focus."""
_CLOSES: Final = ((SEARCHING, "end search", "end"), (MARKED, "unmark", ""), (RUNNING, "interrupt", ""))
"""What `esc` closes, in its order, and what the key line says of it."""


def keys(
    can: Sequence[type[Command]],
    at: CommandContext,
    *,
    first: Sequence[type[Command]] = (),
    choice: bool = False,
    esc: str = "leave",
    top: bool = False,
) -> Iterator[Key]:
    """The keys of the commands that `can` be used `at` this situation, those for what one is doing first. In a chat
    `first` come before those that go about; with `choice` one of a few keys is asked for, and `esc` is what that key
    does to the question; on the `top` level going back
    is leaving."""
    facts = at.facts
    if ASKING in facts:
        able = [each for each in dict.fromkeys([*first, *can]) if each in can]
        yield from _typing(facts, able, talking=TALKING in facts, choice=choice, esc=esc)
        return
    marked, staged = MARKED in facts, STAGED in facts
    marking = [each for each in MARKING if each is not WriteSummary or KEYED in facts] if marked else []
    doing = [*_SPECIAL, *marking, *(WIDENING if marked else ()), *(APPLYING if staged else ()), *first, *GOING]
    named = [each for each in dict.fromkeys([*doing, *can]) if each in can and each.label and not each.is_always_shown]
    if at.pane in _ON_PANES:
        yield from (*_ON_PANES[at.pane], Key("tab", "next pane", "pane"))
    # Elsewhere the way out comes first.
    behind = sum(each in marking for each in named)
    escape = _escape(facts)
    shown = [_key(each, top) for each in named]
    yield from (*shown[:behind], *escape, *shown[behind:])


def _key(command: type[Command], top: bool) -> Key:
    key = Key(*command.key_line())
    return key._replace(label="quit") if top and command is Back else key


def _escape(facts: frozenset[str]) -> tuple[Key, ...]:
    """What `esc` closes next, where anything is open."""
    for fact, label, short in _CLOSES:
        if fact in facts:
            return (Key("esc", label, short, LeaveOpen.actions()),)
    return ()


def _typing(
    facts: frozenset[str], can: Sequence[type[Command]], *, talking: bool, choice: bool, esc: str
) -> Iterator[Key]:
    """While a line is typed in only these keys are no letters."""
    seeking = SEEKING in facts
    if not choice:
        yield Key("⏎", "send" if talking else "keep" if seeking else "accept")
    yield Key("esc", esc)
    if seeking:
        yield Key("^x", "regular expression", "expression", SearchExpression.actions())
    elif not choice:
        yield from (
            Key(*each.key_line())
            for each in can
            if each.label and not each.is_always_shown and each.key_shown().startswith("^")
        )
