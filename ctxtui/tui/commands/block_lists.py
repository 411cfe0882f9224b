"""Commands of the lists of blocks: by weight, by what repeats."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class NextOrder(Command):
    """Order by the next figure: tokens, what was carried (tokens x calls it stayed), cost."""

    name, action, keys, label, group = "order by next column", "order", ("s",), "order", "blocks"


class ShowOther(Command):
    """Close the list, and go to the block that stands for this one."""

    name, action, keys, label, short, group = "show the other one", "other", ("v",), "show the other", "other", "blocks"


WEIGHTS: tuple[type[Command], ...] = (NextOrder,)
REPEATS: tuple[type[Command], ...] = (ShowOther,)
