"""Commands of a diff."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command


class _OnDiff(Command):
    group = "differences"


class NextDifference(_OnDiff):
    """The next difference, brought to the top."""

    name, action, keys, shown, label, short = "next difference", "difference(1)", ("n",), "n N", "differences", "next"


class PreviousDifference(_OnDiff):
    """The difference before."""

    name, action, keys = "previous difference", "difference(-1)", ("N",)


class OpenDifference(_OnDiff):
    """Open the difference in place, word by word, or fold it."""

    name, action, keys, shown, label = "open or fold difference", "open", ("space",), "⏎", "open"


class WholeBlocks(_OnDiff):
    """All lines of changed blocks, or only those near a change."""

    name, action, keys, label, short = "whole blocks or changes only", "whole", ("w",), "whole blocks", "whole"


class ShowInTranscript(_OnDiff):
    """Close the diff, and go to the block in the context that has it."""

    name, action, keys, label, short = "show in transcript", "show", ("o",), "show in transcript", "show"


DIFF: tuple[type[Command], ...] = (NextDifference, OpenDifference, WholeBlocks, ShowInTranscript, PreviousDifference)
