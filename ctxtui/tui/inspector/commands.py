"""Commands of the inspector, and the order in which key line, palette and help name them."""

from __future__ import annotations

from ctxtui.core.category import CATEGORIES
from ctxtui.tui.commands.command import Command
from ctxtui.tui.commands.facts import BLOCK, CALLS, FILTERED, FOLLOWS, PUT_IN, SEARCHING, THREADS
from ctxtui.tui.inspector.controllers.diff import COMPARING
from ctxtui.tui.inspector.controllers.fork import TALKING
from ctxtui.tui.inspector.controllers.notes import NOTING
from ctxtui.tui.inspector.controllers.rewriting import REWRITING
from ctxtui.tui.inspector.controllers.search import SEARCH
from ctxtui.tui.inspector.controllers.staging import (
    AllRows,
    Apply,
    Breakpoint,
    Breaks,
    Discard,
    Drop,
    EditLog,
    Externalize,
    Foretell,
    MarkBlock,
    MarkRange,
    Pin,
    Policies,
    PutNote,
    RateGood,
    RatePoor,
    Redo,
    Strip,
    Summarize,
    TruncateBlock,
    Undo,
    When,
    Widen,
    WriteContext,
)
from ctxtui.tui.inspector.controllers.summaries import SUMMARIES
from ctxtui.tui.lists.registry import LISTS, REPORTS, SkippedLines
from ctxtui.views.text.signs import CATEGORY


class _Calls(Command):
    group = "calls"
    needs = frozenset({CALLS})


class PreviousCall(_Calls):
    """The call before: the cursor stays on its block."""

    name, action, keys = "previous call", "step_call(-1)", ("left_square_bracket", "comma")


class NextCall(_Calls):
    """The next call: the cursor stays on its block."""

    name, action, keys = "next call", "step_call(1)", ("right_square_bracket", "full_stop")
    shown, label, short = "[ ]", "calls", "call"


class FirstCall(_Calls):
    """The first call of the thread."""

    name, action, keys = "first call", "call_edge(-1)", ("home",)


class LastCall(_Calls):
    """The last call of the thread, and its end."""

    name, action, keys = "last call", "call_edge(1)", ("end",)


class GoToCall(_Calls):
    """Type a call's number; also an event (miss, -turn) or categories to show."""

    name, action, keys, label, short, first = "go to call", "go", ("g",), "go to call", "go", True


class NextEvent(_Calls):
    """The next event of any kind: turn, miss, compaction, jump of more than 5k, error, change of model."""

    name, action, keys, shown, label, short = "next event", "seek('event', 1)", ("n",), "n N", "events", "event"
    unless = frozenset({SEARCHING})


class PreviousEvent(NextEvent):
    """The event before."""

    name, action, keys, shown, label, short = "previous event", "seek('event', -1)", ("N",), "", "", ""


def _seeker(kind: str, step: int, key: str) -> type[Command]:
    word = "next" if step > 0 else "previous"
    told = {"jump": "call that brought more than 5k tokens", "miss": "cache miss", "model": "change of model"}.get(
        kind, kind
    )
    doc = f"To the {word} {told}."
    return type(
        f"{word.title()}{kind.title()}",
        (_Calls,),
        {"__doc__": doc, "name": f"{word} {told}", "action": f"seek('{kind}', {step})", "keys": (key,) if key else ()},
    )


_KEYS: dict[str, tuple[str, str]] = {
    "turn": ("right_curly_bracket", "left_curly_bracket"),
    "miss": ("m", "M"),
    "compaction": ("", ""),
    "jump": ("", ""),
    "error": ("", ""),
    "model": ("", ""),
}
"""Keys for the next and the one before; kinds without are reached by palette, prompt, or `n` and `N`."""
SEEKERS = tuple(
    _seeker(kind, step, key) for kind, keys in _KEYS.items() for step, key in zip((1, -1), keys, strict=True)
)


class Phases(Command):
    """Phases of this thread with their growth, tokens sent and cost: by your names, by the setting ``phases``, else by
    turn."""

    name, action, keys, group = "phases: growth in each", "phases", ("G",), "lists"


class NamePhase(Command):
    """Name the phase that begins with the call shown; it is kept as a note on the call, ``phase: name``."""

    name, action, group = "name a phase at this call", "name_phase", "lists"


class _OnBlock(Command):
    group = "the block under the cursor"
    panes = ("transcript",)
    needs = frozenset({BLOCK})


class OpenBlock(_OnBlock):
    """Open the block in place, or fold it: Markdown, code, arguments, JSON, an image's facts."""

    name, action, keys, label = "open or fold block", "open_block", ("enter",), "open"


class MoreLines(_OnBlock):
    """Show more lines of the open block, each time eight times as many."""

    name, action, keys, label = "more lines of the open block", "more_lines", ("e", "plus"), "more"


class RawJson(_OnBlock):
    """The provider's own JSON of the block, letter for letter, or the readable form again."""

    name, action, keys, label, short = "raw JSON of block", "raw", ("r",), "raw JSON", "raw"


class _OnText(_OnBlock):
    one_of = frozenset({BLOCK, PUT_IN})


class CopyBlock(_OnText):
    """Copy the block's text to the clipboard (OSC 52: works over ssh, where the terminal allows it)."""

    name, action, keys, label = "copy block", "copy", ("y",), "copy"


class PageBlock(_OnText):
    """Read the block in $PAGER. Terminal escapes in it are shown, not obeyed."""

    name, action, keys, label = "open block in pager", "pager", ("o",), "pager"


class OpenTurn(_OnBlock):
    """Open every block of this turn, or fold them all."""

    name, action, keys = "open or fold all blocks of the turn", "open_turn", ("O",)


class NextThread(Command):
    """The next thread: the main line of context, then the agents it started."""

    name, action, keys, label, group = "next thread", "step_thread(1)", ("ctrl+t",), "thread", "threads and following"
    needs = frozenset({THREADS})


class PreviousThread(Command):
    """The thread before."""

    name, action, group = "previous thread", "step_thread(-1)", "threads and following"
    needs = frozenset({THREADS})


class Follow(Command):
    """Follow the recording as it grows, or hold the view. Moving up holds it too; `end` lets it go on."""

    name, action, keys, label, group = "follow", "follow", ("F",), "follow", "threads and following"
    needs = frozenset({FOLLOWS})


def _filter(category: int) -> type[Command]:
    sign = CATEGORY[category]
    key = {"-": "minus"}.get(sign.key, sign.key)
    return type(
        f"Filter{CATEGORIES[category].title().replace('_', '')}",
        (Command,),
        {
            "__doc__": f"Blocks of {sign.name}: one line each, then open, then hidden.",
            "name": f"show {sign.name}: lines, full, hidden",
            "action": f"filter({category})",
            "keys": (key,),
            "group": "what is shown",
        },
    )


FILTERS: tuple[type[Command], ...] = tuple(_filter(category) for category in range(len(CATEGORIES)))


class ShowAll(Command):
    """Show all categories again, one line for each block."""

    name, action, keys, label, group = "show all categories", "show_all", ("equals_sign",), "all", "what is shown"
    needs = frozenset({FILTERED})


class EnterPrompt(Command):
    """Enter the prompt: a call's number, an event, or categories. `esc` leaves it."""

    name, action, keys, group, first = "enter the prompt", "prompt", ("i",), "general", True


class LeaveOpen(Command):
    """Close what is open: the prompt's message, then back to the transcript."""

    name, action, keys, group = "leave", "leave", ("escape",), "general"


class Home(Command):
    """Back to the list of sessions."""

    name, action, keys, label, group = "home: list of sessions", "home", ("h", "backspace"), "home", "general"


STAGING: tuple[type[Command], ...] = (
    MarkBlock, Pin, Drop, TruncateBlock, Summarize, Externalize, Breakpoint, Apply, When, Discard, Undo, AllRows,
    EditLog, MarkRange, Widen, *REWRITING, PutNote, Strip, Redo, Foretell, Policies, WriteContext, Breaks, RateGood,
    RatePoor,
)  # fmt: skip
"""The commands that edit the context, in the order of their use."""

INSPECTOR: tuple[type[Command], ...] = (
    OpenBlock, *STAGING, *SUMMARIES, MoreLines, NextCall, NextEvent, RawJson, CopyBlock, PageBlock, Follow, NextThread,
    ShowAll, GoToCall, *COMPARING, *LISTS, Phases, NamePhase, *REPORTS,
    Home, PreviousCall, FirstCall, LastCall, PreviousEvent, *SEEKERS, OpenTurn, PreviousThread, *FILTERS, SkippedLines,
    *SEARCH, *NOTING, *TALKING, EnterPrompt, LeaveOpen,
)  # fmt: skip
