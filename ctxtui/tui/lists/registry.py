"""The lists that the Inspector opens over itself: one command each. Its class is imported when it is first opened.

What `ctxtui show` prints too is listed in `cli.inspect.lists`, from the same tables.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual.screen import Screen

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import CALLS, SKIPPED, THREADS

if TYPE_CHECKING:
    from ctxtui.tui.lists.list_screen import ListHost

    Push = Callable[[Screen[Any], Callable[[Any], None]], None]


class OpensLists:
    """A screen, or a controller of one, over which lists are opened."""

    def open_list(self, opens: str) -> None:
        """Open the list of the class `opens`: ``module.Class`` of this room, or a dotted path from elsewhere."""


class ListCommand(Command):
    """Base of the commands that open a list: `opens` is its class, in this room if it has one dot only."""

    group = "lists"
    opens: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        cls.run = Act(lambda: OpensLists, lambda host: host.open_list(cls.opens))
        super().__init_subclass__()


class ShowThreads(ListCommand):
    """All threads as a tree: the main line of context and the agents it started, with calls, peaks and costs. Enter
    goes to one; the next time the cursor stands on the one you came from."""

    name, keys, label, opens = "threads", ("T",), "threads", "threads.ThreadsScreen"
    needs = frozenset({THREADS})


class ShowTools(ListCommand):
    """The tools of this context by server: tokens of each definition, loaded or deferred, how often it was called."""

    name, keys, opens = "tools by server", ("A",), "tools.ToolsScreen"


class ShowHeaviest(ListCommand):
    """The heaviest blocks of this context by tokens, by carry (tokens x calls they stayed) or by cost, and how far a
    cache can keep each."""

    name, keys, opens = "heaviest blocks, by tokens or carry", ("W",), "ctxtui.tui.lists.costs.heaviest.HeaviestScreen"
    sought = ("big", "large", "expensive", "old", "stale", "remove")
    label, short = "heaviest", "heavy"


class ShowRepeats(ListCommand):
    """What of this context stands elsewhere too: twice, nearly so, read again, changed since, or still in its file;
    with the tokens that could go."""

    name, keys, opens = "same content elsewhere (repeats)", ("S",), "duplicates.RepeatsScreen"
    sought = ("stale", "old", "duplicates", "twice")


class ShowMisses(ListCommand):
    """Why the cache missed: every miss, dearest first, with the block that parted the requests, word by word."""

    name, keys, label, short, opens = "cache misses", ("c",), "misses", "misses", "misses.MissesScreen"
    sought = ("expensive", "slow")
    group, needs = "calls", frozenset({CALLS})


class ShowBill(ListCommand):
    """What this session cost and why: carried, rewritten, new; the dearest rewrites and blocks; what is cheaper."""

    name, keys, label, group = "bill of the session", ("dollar_sign",), "bill", "calls"
    opens = "ctxtui.tui.lists.costs.bill.BillScreen"
    sought = ("money", "expensive", "price", "cost", "dear")


class SkippedLines(ListCommand):
    """What of the recording could not be read: every line, and why."""

    name, group, opens, needs = "skipped lines", "what is shown", "skipped.SkippedScreen", frozenset({SKIPPED})


LISTS: tuple[type[ListCommand], ...] = (ShowThreads, ShowTools, ShowHeaviest, ShowRepeats)
REPORTS: tuple[type[ListCommand], ...] = (ShowMisses, ShowBill)


def open_list(push: Push, host: ListHost, opens: str) -> None:
    """Open the list of the class `opens` over `host`, if there is anything to list yet; `push` puts it on the screen
    and has a function called with what it closes with."""
    module, _, name = opens.rpartition(".")
    screen = getattr(import_module(module if "." in module else f"{__package__}.{module}"), name)
    if screen.ready(host):
        shown = screen(host)

        def closed(result: object) -> None:
            if result is not None:
                shown.done(result)

        push(shown, closed)
