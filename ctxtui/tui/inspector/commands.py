"""Commands of the inspector, and the order in which key line, palette and help name them."""

from __future__ import annotations

from ctxtui.core.category import CATEGORIES
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.facts import (
    ASKING,
    BLOCK,
    CALLS,
    FILTERED,
    FOLLOWS,
    PUT_IN,
    QUESTION,
    SEARCHING,
    SKIPPED,
    THREADS,
)
from ctxtui.tui.inspector.controllers.blocks import BlocksController
from ctxtui.tui.inspector.controllers.diff import COMPARING
from ctxtui.tui.inspector.controllers.edit_log import AllRows, Apply, Breaks, Discard, EditLog, Redo, Undo, When
from ctxtui.tui.inspector.controllers.export import WriteContext
from ctxtui.tui.inspector.controllers.fork import TALKING
from ctxtui.tui.inspector.controllers.marking import MarkBlock, MarkRange, Widen
from ctxtui.tui.inspector.controllers.notes import NOTING, NotesController
from ctxtui.tui.inspector.controllers.policies import Policies
from ctxtui.tui.inspector.controllers.rewriting import REWRITING
from ctxtui.tui.inspector.controllers.search import SEARCH
from ctxtui.tui.inspector.controllers.staging import (
    Breakpoint,
    Drop,
    Externalize,
    Foretell,
    Pin,
    PutNote,
    Strip,
    Summarize,
    TruncateBlock,
)
from ctxtui.tui.inspector.controllers.summaries import SUMMARIES, RateGood, RatePoor
from ctxtui.tui.inspector.lists import ListsController
from ctxtui.tui.inspector.navigation import NavigationController
from ctxtui.views.text.signs import CATEGORY


class _Calls(Command):
    group = "calls"
    needs = frozenset({CALLS})


class PreviousCall(_Calls):
    """The call before: the cursor stays on its block."""

    name, run, keys = (
        "previous call",
        Act(NavigationController, lambda it: it.step_call(-1)),
        ("left_square_bracket", "comma"),
    )


class NextCall(_Calls):
    """The next call: the cursor stays on its block."""

    name, run, keys = (
        "next call",
        Act(NavigationController, lambda it: it.step_call(1)),
        ("right_square_bracket", "full_stop"),
    )
    shown, label, short = "[ ]", "calls", "call"


class FirstCall(_Calls):
    """The first call of the thread."""

    name, keys = "first call", ("home",)
    run = Act(NavigationController, lambda it: it.call_edge(-1))


class LastCall(_Calls):
    """The last call of the thread, and its end."""

    name, keys = "last call", ("end",)
    run = Act(NavigationController, lambda it: it.call_edge(1))


class GoToCall(_Calls):
    """Type a call's number; also an event (miss, -turn) or categories to show."""

    name, run, keys, label, short, first = (
        "go to call",
        Act(NavigationController, NavigationController.go),
        ("g",),
        "go to call",
        "go",
        True,
    )
    key_unless = frozenset({ASKING})


class NextEvent(_Calls):
    """The next event of any kind: turn, miss, compaction, jump of more than 5k, error, change of model."""

    name, run, keys, shown, label, short = (
        "next event",
        Act(NavigationController, lambda it: it.seek("event", 1)),
        ("n",),
        "n N",
        "events",
        "event",
    )
    unless = key_unless = frozenset({SEARCHING})


class PreviousEvent(NextEvent):
    """The event before."""

    name, run, keys, shown, label, short = (
        "previous event",
        Act(NavigationController, lambda it: it.seek("event", -1)),
        ("N",),
        "",
        "",
        "",
    )


def _seeker(kind: str, step: int, key: str) -> type[Command]:
    word = "next" if step > 0 else "previous"
    told = {"jump": "call that brought more than 5k tokens", "miss": "cache miss", "model": "change of model"}.get(
        kind, kind
    )
    doc = f"To the {word} {told}."
    return type(
        f"{word.title()}{kind.title()}",
        (_Calls,),
        {
            "__doc__": doc,
            "name": f"{word} {told}",
            "run": Act(NavigationController, lambda it: it.seek(kind, step)),
            "keys": (key,) if key else (),
        },
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


class ShowThreads(Command):
    """All threads as a tree: the main line of context and the agents it started, with calls, peaks and costs. Enter
    goes to one; the next time the cursor stands on the one you came from."""

    name, keys, label, group = "threads", ("T",), "threads", "lists"
    run = Act(ListsController, ListsController.threads)
    needs = frozenset({THREADS})


class Tools(Command):
    """The tools of this context by server: tokens of each definition, loaded or deferred, how often it was called."""

    name, keys, group = "tools by server", ("A",), "lists"
    run = Act(ListsController, ListsController.tools)


class ShowHeaviest(Command):
    """The heaviest blocks of this context by tokens, by carry (tokens x calls they stayed) or by cost, and how far a
    cache can keep each."""

    name, run, keys, group = (
        "heaviest blocks, by tokens or carry",
        Act(ListsController, ListsController.weights),
        ("W",),
        "lists",
    )


class ShowRepeats(Command):
    """What of this context stands elsewhere too: twice, nearly so, read again, changed since, or still in its file;
    with the tokens that could go."""

    name, run, keys, group = (
        "same content elsewhere (repeats)",
        Act(ListsController, ListsController.repeats),
        ("S",),
        "lists",
    )


class Phases(Command):
    """Phases of this thread with their growth, tokens sent and cost: by your names, by the setting ``phases``, else by
    turn."""

    name, keys, group = "phases: growth in each", ("G",), "lists"
    run = Act(NotesController, NotesController.phases)
    key_unless = frozenset({QUESTION})


class NamePhase(Command):
    """Name the phase that begins with the call shown; it is kept as a note on the call, ``phase: name``."""

    name, group = "name a phase at this call", "lists"
    run = Act(NotesController, NotesController.name_phase)
    key_unless = frozenset({QUESTION})


LISTS: tuple[type[Command], ...] = (ShowThreads, Tools, ShowHeaviest, ShowRepeats, Phases, NamePhase)


class ShowMisses(Command):
    """Why the cache missed: every miss, dearest first, with the block that parted the requests, word by word."""

    name, run, keys, label, short, group = (
        "cache misses",
        Act(ListsController, ListsController.misses),
        ("c",),
        "misses",
        "misses",
        "calls",
    )
    needs = frozenset({CALLS})


MISSED: tuple[type[Command], ...] = (ShowMisses,)


class ShowBill(Command):
    """What this session cost and why: carried, rewritten, new; the dearest rewrites and blocks; what is cheaper."""

    name, run, keys, label, group = (
        "bill of the session",
        Act(ListsController, ListsController.bill),
        ("dollar_sign",),
        "bill",
        "calls",
    )


MONEY: tuple[type[Command], ...] = (ShowBill,)


class _OnBlock(Command):
    group = "the block under the cursor"
    panes = ("transcript",)
    needs = frozenset({BLOCK})


class OpenBlock(_OnBlock):
    """Open the block in place, or fold it: Markdown, code, arguments, JSON, an image's facts."""

    name, run, keys, label = (
        "open or fold block",
        Act(BlocksController, BlocksController.open_block),
        ("enter",),
        "open",
    )


class MoreLines(_OnBlock):
    """Show more lines of the open block, each time eight times as many."""

    name, run, keys, label = (
        "more lines of the open block",
        Act(BlocksController, BlocksController.more_lines),
        ("e", "plus"),
        "more",
    )


class RawJson(_OnBlock):
    """The provider's own JSON of the block, letter for letter, or the readable form again."""

    name, run, keys, label, short = (
        "raw JSON of block",
        Act(BlocksController, BlocksController.raw),
        ("r",),
        "raw JSON",
        "raw",
    )


class _OnText(_OnBlock):
    one_of = frozenset({BLOCK, PUT_IN})


class CopyBlock(_OnText):
    """Copy the block's text to the clipboard (OSC 52: works over ssh, where the terminal allows it)."""

    name, keys, label = "copy block", ("y",), "copy"
    run = Act(BlocksController, BlocksController.copy)


class PageBlock(_OnText):
    """Read the block in $PAGER. Terminal escapes in it are shown, not obeyed."""

    name, keys, label = "open block in pager", ("o",), "pager"
    run = Act(BlocksController, BlocksController.pager)


class OpenTurn(_OnBlock):
    """Open every block of this turn, or fold them all."""

    name, keys = "open or fold all blocks of the turn", ("O",)
    run = Act(BlocksController, BlocksController.open_turn)


class NextThread(Command):
    """The next thread: the main line of context, then the agents it started."""

    name, run, keys, label, group = (
        "next thread",
        Act(NavigationController, lambda it: it.step_thread(1)),
        ("ctrl+t",),
        "thread",
        "threads and following",
    )
    needs = frozenset({THREADS})


class PreviousThread(Command):
    """The thread before."""

    name, run, group = (
        "previous thread",
        Act(NavigationController, lambda it: it.step_thread(-1)),
        "threads and following",
    )
    needs = frozenset({THREADS})


class Follow(Command):
    """Follow the recording as it grows, or hold the view. Moving up holds it too; `end` lets it go on."""

    name, run, keys, label, group = (
        "follow",
        Act(NavigationController, NavigationController.follow),
        ("F",),
        "follow",
        "threads and following",
    )
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
            "run": Act(NavigationController, lambda it: it.next_filter(category)),
            "keys": (key,),
            "group": "what is shown",
        },
    )


FILTERS: tuple[type[Command], ...] = tuple(_filter(category) for category in range(len(CATEGORIES)))


class ShowAll(Command):
    """Show all categories again, one line for each block."""

    name, run, keys, label, group = (
        "show all categories",
        Act(NavigationController, NavigationController.show_all),
        ("equals_sign",),
        "all",
        "what is shown",
    )
    needs = frozenset({FILTERED})


class SkippedLines(Command):
    """What of the recording could not be read: every line, and why."""

    name, group = "skipped lines", "what is shown"
    run = Act(ListsController, ListsController.skipped)
    needs = frozenset({SKIPPED})


class EnterPrompt(Command):
    """Enter the prompt: a call's number, an event, or categories. `esc` leaves it."""

    name, run, keys, group, first = (
        "enter the prompt",
        Act(NavigationController, NavigationController.go),
        ("i",),
        "general",
        True,
    )
    key_unless = frozenset({ASKING})


class LeaveOpen(Command):
    """Close what is open: the prompt's message, then back to the transcript."""

    name, keys, group = "leave", ("escape",), "general"
    run = Act(NavigationController, NavigationController.leave)


class Home(Command):
    """Back to the list of sessions."""

    name, run, keys, label, group = (
        "home: list of sessions",
        Act(ListsController, ListsController.home),
        ("h", "backspace"),
        "home",
        "general",
    )


STAGING: tuple[type[Command], ...] = (
    MarkBlock, Pin, Drop, TruncateBlock, Summarize, Externalize, Breakpoint, Apply, When, Discard, Undo, AllRows,
    EditLog, MarkRange, Widen, *REWRITING, PutNote, Strip, Redo, Foretell, Policies, WriteContext, Breaks, RateGood,
    RatePoor,
)  # fmt: skip
"""The commands that edit the context, in the order of their use."""

INSPECTOR: tuple[type[Command], ...] = (
    OpenBlock, *STAGING, *SUMMARIES, MoreLines, NextCall, NextEvent, RawJson, CopyBlock, PageBlock, Follow, NextThread,
    ShowAll, GoToCall, *COMPARING, *LISTS, *MISSED, *MONEY,
    Home, PreviousCall, FirstCall, LastCall, PreviousEvent, *SEEKERS, OpenTurn, PreviousThread, *FILTERS, SkippedLines,
    *SEARCH, *NOTING, *TALKING, EnterPrompt, LeaveOpen,
)  # fmt: skip
