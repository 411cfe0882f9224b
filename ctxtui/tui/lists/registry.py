"""The lists that the inspector opens, one command each.

Classes are imported when first opened. The lists that `ctxtui show` also prints are in `cli.inspect.lists`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, Final

from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import CALLS, SKIPPED, THREADS


class ListHost:
    """Base of the controller that opens lists."""

    def open_list(self, opens: str) -> None:
        """Open the list class `opens` (`ListCommand.opens`)."""


class ListCommand(Command):
    """Base of commands that open a list."""

    group = "lists"
    opens: ClassVar[str] = ""
    """The list's class: ``module.Class`` of this package, or a full dotted path."""

    def __init_subclass__(cls) -> None:
        cls.run = Act(lambda: ListHost, lambda host: host.open_list(cls.opens))
        super().__init_subclass__()


class ShowBlocks(ListCommand):
    """List the blocks of this context: heaviest, stale results, duplicates, tools by server.

    The heaviest are by tokens, carry (tokens x calls they stayed) or cost. `tab` goes to the next list.
    """

    name, keys, opens = "blocks: heaviest, stale, duplicates", ("W",), "blocks.HeaviestScreen"
    synonyms = ("big", "large", "expensive", "old", "stale", "remove", "heaviest blocks, by tokens or carry")
    label = "blocks"


class ShowRepeats(ListCommand):
    """List blocks of this context with a copy elsewhere, and the tokens that they could free.

    They are duplicates, near duplicates, files read again, changed since, or still on disk.
    """

    name, opens, synonyms = "same content elsewhere (repeats)", "blocks.RepeatsScreen", ("stale", "duplicates", "twice")


class ShowTools(ListCommand):
    """List the tools of this context by server.

    Each has the tokens of its definition, whether it is loaded or deferred, and its number of calls.
    """

    name, opens = "tools by server", "blocks.ToolsScreen"


class ShowThreads(ListCommand):
    """Show all threads as a tree: the main thread and the agents it started.

    Each has its calls, peak and cost. Enter goes to one; the list then opens at the thread you came from.
    """

    name, opens, needs = "threads", "threads.ThreadsScreen", frozenset({THREADS})


class ShowMisses(ListCommand):
    """Show why the cache missed: every miss, most expensive first.

    If content changed, the first block that differs is shown word by word. `P` there shows the two requests.
    """

    name, keys, label, short_label, opens = "cache misses", ("c",), "misses", "miss", "money.MissesScreen"
    synonyms = ("expensive", "slow", "rewrites")
    group, needs = "calls", frozenset({CALLS})


class ShowMoney(ListCommand):
    """Show what this session cost and why: total in parts, misses, by tool, category, thread.

    `tab` goes to the next list.
    """

    name, keys, label, group = "money: total, misses, by tool", ("dollar_sign",), "money", "calls"
    opens, synonyms = "money.TotalScreen", ("money", "expensive", "price", "cost", "dear", "bill of the session")


class SkippedLines(ListCommand):
    """List every line of the recording that could not be read, and why."""

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
"""Tabs by group and name: the class of each, as in `ListCommand.opens`."""


def list_class(opens: str) -> Any:
    module, _, name = opens.rpartition(".")
    return getattr(import_module(module if "." in module else f"{__package__}.{module}"), name)
