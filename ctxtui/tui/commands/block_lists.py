"""Commands of the lists over the inspector: heavy blocks, repeats, phases."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class NextOrder(Command):
    """Order by the next figure: tokens, what was carried (tokens x calls it stayed), cost."""

    name, action, keys, label, group = "order by next column", "order", ("s",), "order", "blocks"


class ShowOther(Command):
    """Close the list, and go to the block that stands for this one."""

    name, action, keys, label, short, group = "show the other one", "other", ("v",), "show the other", "other", "blocks"


class NamePhase(Command):
    """Give a name to the phase that begins with the call shown: it is kept as a note on that call, ``phase: name``."""

    name, action, keys, label, short, group = "name a phase here", "name", ("a",), "name a phase here", "name", "phases"


WEIGHTS: tuple[type[Command], ...] = (NextOrder,)
REPEATS: tuple[type[Command], ...] = (ShowOther,)
PHASES: tuple[type[Command], ...] = (NamePhase,)
