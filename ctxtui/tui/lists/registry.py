"""The lists that the Inspector opens over itself: one command each. Its class is imported when it is first opened.

What `ctxtui show` prints too is listed in `cli.inspect.lists`, from the same tables.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.screen import Screen

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import CALLS, SKIPPED, THREADS

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState

    Push = Callable[[Screen[Any]], None]


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


class ShowBlocks(ListCommand):
    """The blocks of this context: the heaviest by tokens, carry (tokens x calls they stayed) or cost, stale results,
    what stands there twice, tools by server. `tab` turns to the next."""

    name, keys, opens = "blocks: heaviest, stale, duplicates", ("W",), "blocks.HeaviestScreen"
    synonyms = ("big", "large", "expensive", "old", "stale", "remove", "heaviest blocks, by tokens or carry")
    label, short_label = "blocks", "blocks"


class ShowRepeats(ListCommand):
    """What of this context stands elsewhere too: twice, nearly so, read again, changed since, or still in its file;
    with the tokens that could go."""

    name, opens, synonyms = "same content elsewhere (repeats)", "blocks.RepeatsScreen", ("stale", "duplicates", "twice")


class ShowTools(ListCommand):
    """The tools of this context by server: tokens of each definition, loaded or deferred, how often it was called."""

    name, opens = "tools by server", "blocks.ToolsScreen"


class ShowThreads(ListCommand):
    """All threads as a tree: the main line of context and the agents it started, with calls, peaks and costs. Enter
    goes to one; the next time the cursor stands on the one you came from."""

    name, opens, needs = "threads", "threads.ThreadsScreen", frozenset({THREADS})


class ShowMisses(ListCommand):
    """Why the cache missed: every miss, dearest first, with the block that parted the requests, word by word. `P` there
    shows the two requests."""

    name, keys, label, short_label, opens = "cache misses", ("c",), "misses", "miss", "money.MissesScreen"
    synonyms = ("expensive", "slow", "rewrites")
    group, needs = "calls", frozenset({CALLS})


class ShowMoney(ListCommand):
    """What this session cost and why: the total in its parts, the misses, by tool, by category, by thread. `tab` turns
    to the next."""

    name, keys, label, group = "money: total, misses, by tool", ("dollar_sign",), "money", "calls"
    opens, synonyms = "money.TotalScreen", ("money", "expensive", "price", "cost", "dear", "bill of the session")


class SkippedLines(ListCommand):
    """What of the recording could not be read: every line, and why."""

    name, group, opens, needs = "skipped lines", "what is shown", "skipped.SkippedScreen", frozenset({SKIPPED})


LISTS: tuple[type[ListCommand], ...] = (ShowBlocks, ShowRepeats, ShowTools, ShowThreads)
REPORTS: tuple[type[ListCommand], ...] = (ShowMisses, ShowMoney)


TABS: Final = {
    "blocks": {
        "heaviest": "blocks.HeaviestScreen",
        "stale": "blocks.StaleScreen",
        "duplicates": "blocks.RepeatsScreen",
        "by tool": "blocks.ToolsScreen",
    },
    "money": {
        "total": "money.TotalScreen",
        "misses": "money.MissesScreen",
        "by tool": "money.ToolCostScreen",
        "by category": "money.CategoryCostScreen",
        "by thread": "threads.ThreadsScreen",
    },
}
"""Lists that are the tabs of one, by the name of that: the class of each, as in `ListCommand.opens`."""


def list_class(opens: str) -> Any:
    """The class of a list."""
    module, _, name = opens.rpartition(".")
    return getattr(import_module(module if "." in module else f"{__package__}.{module}"), name)


def open_list(push: Push, host: InspectorState, opens: str) -> None:
    """Open the list of the class `opens` over `host`, where there is anything to list; `push` puts it on the screen."""
    screen = list_class(opens)
    if screen.ready(host):
        push(screen(host))
