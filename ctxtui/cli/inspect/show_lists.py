"""The lists that `ctxtui show` adds when asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, NamedTuple

from ctxtui.cli.inspect.list_inputs import ListInputs
from ctxtui.cli.inspect.lists import (
    heaviest,
    heaviest_lines,
    phase_lines,
    phases,
    repeat_lines,
    repeats,
    thread_lines,
    threads,
    tool_lines,
    tools,
)
from ctxtui.cli.paint import Painter
from ctxtui.views.text.span import Span

__all__ = ["LISTINGS", "ListInputs", "as_fields", "print_lists"]


class Listing(NamedTuple):
    """A list: its data for scripts, and its lines for people."""

    fields: Callable[[ListInputs], Any]
    lines: Callable[[ListInputs], Iterable[list[Span]]]


def as_fields(asked: ListInputs, names: Collection[str]) -> dict[str, Any]:
    """The members of ``show --json`` for the lists asked for."""
    return {name: LISTINGS[name].fields(asked) for name in LISTINGS if name in names}


def print_lists(asked: ListInputs, names: Collection[str]) -> None:
    """Print the lists asked for."""
    painter = Painter(asked.settings.glyphs)
    for name, listing in LISTINGS.items():
        if name in names:
            for line in listing.lines(asked):
                painter.line(line)


LISTINGS: Final = {
    "threads": Listing(threads, thread_lines),
    "tools": Listing(tools, tool_lines),
    "heaviest": Listing(heaviest, heaviest_lines),
    "repeats": Listing(repeats, repeat_lines),
    "phases": Listing(phases, phase_lines),
}
"""The lists by the name of their option and of their member."""
