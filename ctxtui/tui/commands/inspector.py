"""Commands of the inspector."""

from __future__ import annotations

from ctxtui.core.category import CATEGORIES
from ctxtui.tui.commands.command import Command, Situation
from ctxtui.views.signs import CATEGORY

FOLLOWS, THREADS, FILTERED, CALLS = "follows", "threads", "filtered", "calls"
"""Facts: the recording may grow; there are several threads; a filter is on; there is more than one call."""
BLOCK = "block"
"""The kind of row on which block commands work."""


class _OnBlock(Command):
    group = "the block under the cursor"
    panes = ("transcript",)

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Only with a block under the cursor."""
        return at.row == BLOCK


class OpenBlock(_OnBlock):
    """Open the block in place, or fold it: Markdown, code, arguments, JSON, an image's facts."""

    name, action, keys, label = "open or fold block", "open_block", ("enter", "space"), "open"


class MoreLines(_OnBlock):
    """Show more lines of the open block, each time eight times as many."""

    name, action, keys, label = "more lines of the open block", "more_lines", ("e", "plus"), "more"


class RawJson(_OnBlock):
    """The provider's own JSON of the block, letter for letter, or the readable form again."""

    name, action, keys, label, short = "raw JSON of block", "raw", ("r",), "raw JSON", "raw"


class CopyBlock(_OnBlock):
    """Copy the block's text to the clipboard (OSC 52: works over ssh, where the terminal allows it)."""

    name, action, keys, label = "copy block", "copy", ("y",), "copy"


class PageBlock(_OnBlock):
    """Read the block in $PAGER. Terminal escapes in it are shown, not obeyed."""

    name, action, keys, label = "open block in pager", "pager", ("o",), "pager"


class OpenTurn(_OnBlock):
    """Open every block of this turn, or fold them all."""

    name, action, keys = "open or fold all blocks of the turn", "open_turn", ("E",)


class _Calls(Command):
    group = "calls"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With more than one call."""
        return CALLS in at.facts


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


class PreviousEvent(_Calls):
    """The event before."""

    name, action, keys = "previous event", "seek('event', -1)", ("N",)


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


class NextThread(Command):
    """The next thread: the main line of context, then the agents it started."""

    name, action, keys, label, group = "next thread", "step_thread(1)", ("t",), "thread", "threads and following"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With several threads."""
        return THREADS in at.facts


class PreviousThread(NextThread):
    """The thread before."""

    name, action, keys, label = "previous thread", "step_thread(-1)", ("T",), ""


class Follow(Command):
    """Follow the recording as it grows, or hold the view. Moving up holds it too; `end` lets it go on."""

    name, action, keys, label, group = "follow", "follow", ("F",), "follow", "threads and following"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Where there is a file that may grow."""
        return FOLLOWS in at.facts


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

    @classmethod
    def available(cls, at: Situation) -> bool:
        """While a filter is on."""
        return FILTERED in at.facts


class Prompt(Command):
    """Enter the prompt: a call's number, an event, or categories. `esc` leaves it."""

    name, action, keys, group, first = "enter the prompt", "prompt", ("i",), "general", True


class Leave(Command):
    """Close what is open: the prompt's message, then back to the transcript."""

    name, action, keys, group = "leave", "leave", ("escape",), "general"


class Home(Command):
    """Back to the list of sessions."""

    name, action, keys, label, group = "home: list of sessions", "home", ("h", "backspace"), "home", "general"


INSPECTOR: tuple[type[Command], ...] = (
    OpenBlock, MoreLines, NextCall, NextEvent, RawJson, CopyBlock, PageBlock, Follow, NextThread, ShowAll, GoToCall,
    Home, PreviousCall, FirstCall, LastCall, PreviousEvent, *SEEKERS, OpenTurn, PreviousThread, *FILTERS, Prompt, Leave,
)  # fmt: skip
