"""Commands of the inspector: blocks, threads, filters, prompt."""

from __future__ import annotations

from ctxtui.core.category import CATEGORIES
from ctxtui.tui.commands.command import Command, Situation
from ctxtui.tui.commands.inspector_calls import (
    CALLS,
    SEEKERS,
    FirstCall,
    GoToCall,
    LastCall,
    NextCall,
    NextEvent,
    PreviousCall,
    PreviousEvent,
)
from ctxtui.tui.commands.inspector_diff import COMPARING
from ctxtui.tui.commands.inspector_lists import LISTS, THREADS
from ctxtui.tui.commands.inspector_misses import MISSED
from ctxtui.tui.commands.inspector_money import MONEY
from ctxtui.tui.commands.inspector_notes import NOTES, NOTING
from ctxtui.tui.commands.inspector_search import SEARCH, SEARCHING
from ctxtui.tui.commands.inspector_staging import PUT_IN, STAGING
from ctxtui.tui.commands.inspector_summaries import SUMMARIES
from ctxtui.tui.commands.inspector_talk import TALKING
from ctxtui.views.text.signs import CATEGORY

__all__ = ["BLOCK", "CALLS", "FILTERED", "FOLLOWS", "INSPECTOR", "NOTES", "PUT_IN", "SEARCHING", "SKIPPED", "THREADS"]

FOLLOWS, FILTERED, SKIPPED = "follows", "filtered", "skipped"
"""Facts: the recording may grow; a filter is on; not all of it could be read."""
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

    name, action, keys, label = "open or fold block", "open_block", ("enter",), "open"


class MoreLines(_OnBlock):
    """Show more lines of the open block, each time eight times as many."""

    name, action, keys, label = "more lines of the open block", "more_lines", ("e", "plus"), "more"


class RawJson(_OnBlock):
    """The provider's own JSON of the block, letter for letter, or the readable form again."""

    name, action, keys, label, short = "raw JSON of block", "raw", ("r",), "raw JSON", "raw"


class _OnText(_OnBlock):
    @classmethod
    def available(cls, at: Situation) -> bool:
        """With a block under the cursor, also one that an edit puts in."""
        return at.row in (BLOCK, PUT_IN)


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

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With several threads."""
        return THREADS in at.facts


class PreviousThread(Command):
    """The thread before."""

    name, action, group = "previous thread", "step_thread(-1)", "threads and following"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With several threads."""
        return THREADS in at.facts


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


class SkippedLines(Command):
    """What of the recording could not be read: every line, and why."""

    name, action, group = "skipped lines", "skipped", "what is shown"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Where something was skipped."""
        return SKIPPED in at.facts


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
    OpenBlock, *STAGING, *SUMMARIES, MoreLines, NextCall, NextEvent, RawJson, CopyBlock, PageBlock, Follow, NextThread,
    ShowAll, GoToCall, *COMPARING, *LISTS, *MISSED, *MONEY,
    Home, PreviousCall, FirstCall, LastCall, PreviousEvent, *SEEKERS, OpenTurn, PreviousThread, *FILTERS, SkippedLines,
    *SEARCH, *NOTING, *TALKING, Prompt, Leave,
)  # fmt: skip
