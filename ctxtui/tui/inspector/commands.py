"""Commands of the inspector, in the order of key line, palette and help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ctxtui.core.category import CATEGORIES
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import (
    ASKING,
    BLOCK,
    CALLS,
    FILTERED,
    FOLLOWS,
    INSERTED,
    QUESTION,
    THREADS,
)
from ctxtui.tui.inspector.controllers.blocks import BlocksController
from ctxtui.tui.inspector.controllers.compactions import COMPACTIONS
from ctxtui.tui.inspector.controllers.diff import COMPARING
from ctxtui.tui.inspector.controllers.edit_log import (
    Apply,
    Breaks,
    ChooseMoment,
    Discard,
    EditLog,
    OnlyEdits,
    Redo,
    Undo,
)
from ctxtui.tui.inspector.controllers.export import ShowNext, WriteContext
from ctxtui.tui.inspector.controllers.fork import FORKING
from ctxtui.tui.inspector.controllers.marking import MarkBlock, MarkRange, Widen
from ctxtui.tui.inspector.controllers.notes import NOTING, NotesController
from ctxtui.tui.inspector.controllers.playing import PLAYING
from ctxtui.tui.inspector.controllers.policies import AdviceList, OpenLab, Policies
from ctxtui.tui.inspector.controllers.reading import ReadingMode
from ctxtui.tui.inspector.controllers.resending import SendAgain
from ctxtui.tui.inspector.controllers.rewriting import REWRITING
from ctxtui.tui.inspector.controllers.search import SEARCH
from ctxtui.tui.inspector.controllers.staging import (
    Breakpoint,
    Drop,
    Externalize,
    Pin,
    PutInCopied,
    PutNote,
    Strip,
    Summarize,
    ToggleNextCall,
    TruncateBlock,
)
from ctxtui.tui.inspector.controllers.summaries import SUMMARIES, RateGood, RatePoor
from ctxtui.tui.inspector.navigation import NavigationController
from ctxtui.tui.lists.registry import LISTS, REPORTS, SkippedLines
from ctxtui.views.text.signs import CATEGORY


class _CallCommand(Command):
    group = "calls"
    needs = frozenset({CALLS})


class PreviousCall(_CallCommand):
    """Go to the previous call; the cursor stays on its block."""

    name, keys = "previous call", ("left_square_bracket",)
    run = Act(NavigationController, lambda it: it.step_call(-1))


class NextCall(_CallCommand):
    """Go to the next call; the cursor stays on its block."""

    name, keys = "next call", ("right_square_bracket",)
    run = Act(NavigationController, lambda it: it.step_call(1))
    shown, label, short_label = "[ ]", "calls", "call"
    part_commands = ("PreviousCall", "NextCall")
    help_partners, help_row = ("PreviousCall",), ("[ ]", "previous call, next call")


class FirstCall(_CallCommand):
    """Go to the first call of the thread."""

    name, keys = "first call", ("home",)
    run = Act(NavigationController, lambda it: it.call_edge(-1))


class LastCall(_CallCommand):
    """Go to the last call of the thread, and its end."""

    name, keys = "last call", ("end",)
    run = Act(NavigationController, lambda it: it.call_edge(1))
    help_partners, help_row = ("FirstCall",), ("home end", "first call, last call")


class GoToCall(_CallCommand):
    """Type the number of a call, an event (miss, -turn) or categories to show.

    `g` again: the first row.
    """

    name, keys, label, short_label, has_priority = "go to call", ("g",), "go to call", "go", True
    run = Act(NavigationController, NavigationController.go)
    key_unless = frozenset({ASKING})
    synonyms = ("enter the prompt",)


class NextEvent(_CallCommand):
    """Go to the next event.

    Events are turns, misses, compactions, jumps, errors, loops, resumes, and changes of model or client. A jump is a
    call that brought more than 5k tokens.
    """

    name, keys, shown, label, short_label = "next event", ("right_curly_bracket",), "{ }", "events", "event"
    part_commands: ClassVar[tuple[str, ...]] = ("PreviousEvent", "NextEvent")
    help_partners = ("PreviousEvent",)
    help_row = ("{ }", "previous event, next event")
    run = Act(NavigationController, lambda it: it.seek("event", 1))


class PreviousEvent(NextEvent):
    """Go to the previous event."""

    name, keys, shown, label, short_label, part_commands = "previous event", ("left_curly_bracket",), "", "", "", ()
    run = Act(NavigationController, lambda it: it.seek("event", -1))


def _seek_command(kind: str, step: int) -> type[Command]:
    word = "next" if step > 0 else "previous"
    event_name = {
        "jump": "call that brought more than 5k tokens",
        "miss": "cache miss",
        "model": "change of model",
    }.get(kind, kind)
    doc = f"Go to the {word} {event_name}{' or client' if kind == 'model' else ''}."
    return type(
        f"{word.title()}{kind.title()}",
        (_CallCommand,),
        {
            "__doc__": doc,
            "name": f"{word} {event_name}",
            "run": Act(NavigationController, lambda it: it.seek(kind, step)),
        },
    )


SEEK_COMMANDS = tuple(
    _seek_command(kind, step) for kind in ("turn", "miss", "compaction", "jump", "error", "model") for step in (1, -1)
)


class Phases(Command):
    """Show how the context of this thread grew: each call by category, shape, and outlook.

    It also shows what was carried, sent again and never quoted, and the phases: by your names, by the setting
    ``phases``, else by turn.
    """

    name, group = "growth: by category and phase", "lists"
    synonyms = ("phases", "big", "limit", "quadratic", "dead")
    run = Act(NotesController, NotesController.phases)
    key_unless = frozenset({QUESTION})


class NamePhase(Command):
    """Name the phase that starts with the call shown.

    The name is stored as a note on the call, ``phase: name``.
    """

    name, group = "name a phase at this call", "lists"
    run = Act(NotesController, NotesController.name_phase)
    key_unless = frozenset({QUESTION})


class _BlockCommand(Command):
    group = "the block under the cursor"
    panes = ("transcript",)
    needs = frozenset({BLOCK})


class OpenBlock(_BlockCommand):
    """Open the block in place, or fold it: Markdown, code, arguments, JSON, image details."""

    name, keys, label = "open or fold block", ("enter",), "open"
    works_on_end = True
    run = Act(BlocksController, BlocksController.open_block)


class MoreLines(_BlockCommand):
    """Show more lines of the open block, eight times as many each time."""

    name, keys, label = "more lines of the open block", ("e",), "more"
    works_on_end = True
    run = Act(BlocksController, BlocksController.more_lines)


class RawJson(_BlockCommand):
    """Show the block's JSON without cache breakpoints, or the readable form again."""

    name, keys, label, short_label = "raw JSON of block", ("r",), "raw JSON", "raw"
    works_on_end = True
    run = Act(BlocksController, BlocksController.raw)


class _TextCommand(_BlockCommand):
    needs_any = frozenset({BLOCK, INSERTED})


class CopyBlock(_TextCommand):
    """Copy the text of the marked blocks, or of this one, to the clipboard.

    It uses OSC 52, which works over ssh if the terminal allows it. `)` puts the blocks into this session or another
    one.
    """

    name, keys, label = "copy block", ("y",), "copy"
    works_on_end = True
    run = Act(BlocksController, BlocksController.copy)


class CopyCall(Command):
    """Copy the new blocks of the call shown and its answer, each under its category."""

    name, group = "copy call", "calls"
    run = Act(BlocksController, BlocksController.copy_call)


class PageBlock(_TextCommand):
    """Read the block in the pager. Terminal escapes are shown, not executed."""

    name, keys, label = "open block in pager", ("o",), "pager"
    works_on_end = True
    run = Act(BlocksController, BlocksController.pager)


class OpenTurn(_BlockCommand):
    """Open every block of this turn, or fold them all."""

    name = "open or fold all blocks of the turn"
    run = Act(BlocksController, BlocksController.open_turn)


class NextThread(Command):
    """Go to the next thread: the main thread, then the agents it started."""

    name, keys, label, group = "next thread", ("ctrl+t",), "thread", "threads and following"
    run = Act(NavigationController, lambda it: it.step_thread(1))
    needs = frozenset({THREADS})


class PreviousThread(Command):
    """Go to the previous thread."""

    name, group = "previous thread", "threads and following"
    run = Act(NavigationController, lambda it: it.step_thread(-1))
    needs = frozenset({THREADS})


class Follow(Command):
    """Follow the recording as it grows, or stop. Moving up pauses it; `end` goes on."""

    name, keys, label, group = "follow", ("F",), "follow", "threads and following"
    run = Act(NavigationController, NavigationController.follow)
    needs = frozenset({FOLLOWS})


_FILTERS = tuple(f"Filter{category.title().replace('_', '')}" for category in CATEGORIES)


_SHARED_HELP_ROW: Mapping[str, object] = {
    "help_partners": (*_FILTERS[1:], "ShowAll"),
    "help_row": ("1-9 0 - _", "show a category: lines, full, hidden; all"),
}


def _filter_command(category: int) -> type[Command]:
    sign = CATEGORY[category]
    key = {"-": "minus"}.get(sign.key, sign.key)
    return type(
        _FILTERS[category],
        (Command,),
        {
            "__doc__": f"Show {sign.name} blocks in one line each, then open, then hidden.",
            "name": f"show {sign.name}: lines, full, hidden",
            "run": Act(NavigationController, lambda it: it.next_filter(category)),
            "keys": (key,),
            "group": "what is shown",
            **({} if category else _SHARED_HELP_ROW),
        },
    )


FILTERS: tuple[type[Command], ...] = tuple(_filter_command(category) for category in range(len(CATEGORIES)))


class ShowAll(Command):
    """Show all categories again, one line for each block."""

    name, keys, label, group = "show all categories", ("underscore",), "show all", "what is shown"
    run = Act(NavigationController, NavigationController.show_all)
    needs = frozenset({FILTERED})


class ShowTips(Command):
    """Show the tips of the first session: what the panes show, and their keys."""

    name, action, group = "tips: what the panes show", "tips", "general"


class LeaveOpen(Command):
    """Close what is open: a search, the marks; otherwise go back to the transcript."""

    name, keys, group = "leave", ("escape",), "general"
    works_on_end = True
    run: ClassVar[object] = Act(NavigationController, NavigationController.leave)


class Home(Command):
    """Go back to the list of sessions."""

    name, keys, label, group = "home: list of sessions", ("h", "backspace"), "home", "general"
    works_on_end = True
    run = Act(NavigationController, NavigationController.home)


STAGING: tuple[type[Command], ...] = (
    MarkBlock, Pin, Drop, TruncateBlock, Summarize, Externalize, Breakpoint, Apply, ChooseMoment, Discard, Undo,
    OnlyEdits, EditLog, MarkRange, Widen, *REWRITING, PutNote, PutInCopied, Strip, Redo, ToggleNextCall, AdviceList,
    Policies, OpenLab, ShowNext, WriteContext, Breaks, RateGood, RatePoor,
)  # fmt: skip
"""Commands that edit the context, in the order of use."""

INSPECTOR: tuple[type[Command], ...] = (
    OpenBlock, *STAGING, *SUMMARIES, MoreLines, NextCall, NextEvent, RawJson, CopyBlock, CopyCall, PageBlock,
    Follow, NextThread, ShowAll, ReadingMode, GoToCall, SendAgain, *COMPARING, *LISTS, *COMPACTIONS, Phases, NamePhase,
    *REPORTS,
    *PLAYING, Home, PreviousCall, FirstCall, LastCall, PreviousEvent, *SEEK_COMMANDS, OpenTurn, PreviousThread,
    *FILTERS,
    SkippedLines,
    *SEARCH, *NOTING, *FORKING, LeaveOpen, ShowTips,
)  # fmt: skip
