"""The lists that `ctxtui show` adds when asked, as data and as lines: threads, tools, heavy blocks, repeats, phases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from ctxtui.analysis.content.diff import DiffSide
from ctxtui.analysis.content.tools import totals as tool_totals
from ctxtui.analysis.growth.phases import typical
from ctxtui.cli.inspect.list_inputs import ListInputs
from ctxtui.cli.output import members
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import ROOT
from ctxtui.core.turns import turns_of
from ctxtui.views.inspector import threads as thread_view
from ctxtui.views.inspector import toolset
from ctxtui.views.lists import duplicates as repeat_view
from ctxtui.views.lists import phases as view
from ctxtui.views.lists.costs import heaviest_blocks as weight_view
from ctxtui.views.lists.diff import said
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Table

Row = TypeVar("Row")

_MOST: Final = 40
"""Blocks that are printed; JSON has all."""


def heaviest(asked: ListInputs) -> list[dict[str, Any]]:
    """The member ``heaviest``: every block that is read, the one that carried most first."""
    return [
        {
            **_block(asked, one.node),
            **members(one, "tokens calls carry since_call=since?"),
            "cost_usd": asked.paid(one),
            "cacheable": one.stability or None,
            "held": [one.held, one.further],
        }
        for one in asked.weighed
    ]


def _block(asked: ListInputs, node: int) -> dict[str, Any]:
    here = asked.book.session.tree[node]
    return {
        "digest": here.block.digest,
        "at": here.depth,
        "category": CATEGORIES[asked.category(node)],
        "label": asked.book.names.label(here),
    }


def heaviest_lines(asked: ListInputs) -> Iterator[list[Span]]:
    """The heaviest blocks for people."""
    rows = [weight_view.HeavyBlock(one, asked.category(one.node), asked.paid(one)) for one in asked.weighed]
    yield from rule("heaviest by carry", "".join(span.text for span in weight_view.total(rows)))
    side = DiffSide(asked.book, asked.chosen)
    yield from _lines(weight_view.table(lambda node: said(side, node), rows), rows[:_MOST], "carry")


def _lines(table: Table[Row], rows: Iterable[Row], order: str = "") -> Iterator[list[Span]]:
    """The heads of a table, where it has any, and its rows."""
    if table.headed:
        yield table.heads(width() - 1, order)
    for row in rows:
        yield table.draw(row, width() - 1)


def repeats(asked: ListInputs) -> dict[str, Any]:
    """The member ``repeats``: what could go, and why."""
    found = asked.repeats
    return {
        "tokens": sum(asked.own(one.node) for one in found),
        "blocks": [
            {
                **_block(asked, one.node),
                "tokens": asked.own(one.node),
                "why": one.kind,
                "share": round(one.share, 3),
                "other": _block(asked, one.other) if one.other != ROOT else None,
                "path": one.path or None,
            }
            for one in found
        ],
    }


def repeat_lines(asked: ListInputs) -> Iterator[list[Span]]:
    """The repeats for people."""
    tree, side = asked.book.session.tree, DiffSide(asked.book, asked.chosen)
    turns = turns_of(tree, asked.book.session.thread_calls(asked.chosen.thread))
    rows = repeat_view.ordered(
        [repeat_view.repeated(tree, turns, one, asked.own(one.node), asked.category(one.node)) for one in asked.repeats]
    )
    yield from rule("repeats", "".join(span.text for span in repeat_view.total(rows)))
    if not rows:
        yield [Span(" Nothing in this context stands there twice.", "dim")]
    yield from _lines(repeat_view.table(lambda node: said(side, node)), rows)


def phases(asked: ListInputs) -> dict[str, Any]:
    """The member ``phases``: by rule and by the user's names, in order."""
    rows = asked.phases
    grown, each = typical(rows)
    return {
        "rule": asked.rule or None,
        "typical_growth": grown,
        "typical_growth_per_call": each,
        "phases": [
            members(
                row,
                "name? first_call=first last_call=last growth end_tokens=end peak_tokens=peak input_tokens=sent "
                "output_tokens=answered cost_usd=usd cost_usd_at_least=least partial_calls=partial "
                "named_by_user=own",
            )
            for row in rows
        ],
    }


def phase_lines(asked: ListInputs) -> Iterator[list[Span]]:
    """The phases for people."""
    rows = asked.phases
    yield from rule("phases", "".join(span.text for span in view.summary(rows)))
    yield from _lines(view.table(rows, asked.chosen.number), rows)


def threads(asked: ListInputs) -> list[dict[str, Any]]:
    """The member ``threads``: as a tree, in order."""
    return [
        members(
            kin,
            "id label parent? depth after_call=since? model? calls context_tokens=tokens peak_tokens=peak "
            "input_tokens=sent output_tokens=answered cost_usd=usd cost_usd_at_least=least "
            "partial_calls=partial compactions=folds",
        )
        for kin in asked.family
    ]


def thread_lines(asked: ListInputs) -> Iterator[list[Span]]:
    """The threads for people."""
    rows = asked.family
    yield from rule("threads", f"{len(rows):,}")
    yield from _lines(thread_view.table(asked.chosen.thread), rows)


def tools(asked: ListInputs) -> list[dict[str, Any]]:
    """The member ``tools``: by server."""
    return [
        {
            **members(server, "server=name? tokens calls never_called=unused"),
            "tools": [members(tool, "name? tokens state calls") for tool in server.tools],
        }
        for server in asked.servers
    ]


def tool_lines(asked: ListInputs) -> Iterator[list[Span]]:
    """The tools for people."""
    servers = asked.servers
    source = asked.book.session.about.source
    what = toolset.Toolset(tuple(servers), *tool_totals(servers), source)
    yield from rule("tools", "".join(span.text for span in toolset.notes(what)))
    rows = toolset.rows(servers)
    yield from _lines(toolset.table(rows, source), rows)


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
