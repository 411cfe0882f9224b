"""The lists that `ctxtui show` adds when asked, as data and as lines: threads, tools, heavy blocks, repeats, phases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.analysis.content.block_weights import BlockWeight, block_weights
from ctxtui.analysis.content.diff import DiffSide
from ctxtui.analysis.content.duplicates import Duplicate
from ctxtui.analysis.content.tools import ToolServer, ToolUse, count_tool_calls
from ctxtui.analysis.content.tools import count_definitions as tool_totals
from ctxtui.analysis.figures import context_size, figures
from ctxtui.analysis.growth.phases import Phase, typical_growth
from ctxtui.analysis.growth.phases import build_phases as phases_of
from ctxtui.analysis.growth.thread_tree import ThreadNode, thread_nodes
from ctxtui.analysis.money.block_costs import thread_costs
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.money.spending import SpendingRow, call_row
from ctxtui.cli.paint import Painter, rule, table_lines, width
from ctxtui.core.call import Call
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import ROOT
from ctxtui.core.turns import turns_of
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import make_call_pricer, prices_for
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.library.workspace_files import find_duplicates
from ctxtui.services.members import members
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.study.phase_rules import find_phases
from ctxtui.views.inspector import threads as thread_view
from ctxtui.views.inspector import toolset
from ctxtui.views.lists import duplicates as repeat_view
from ctxtui.views.lists import phases as view
from ctxtui.views.lists.costs import heaviest_blocks as weight_view
from ctxtui.views.lists.diff import said
from ctxtui.views.text.span import Span


class ListInputs(Struct, frozen=True, dict=True):
    """What a list is made of: the counted `book`, the call, the recording, the settings."""

    book: Book
    chosen: ChosenCall
    loaded: Loaded
    settings: Settings
    rule: str = ""
    """What phases begin by: a word of `phase_rules.WORDS`, a regular expression, or "" for the user's names."""

    @property
    def family(self) -> list[ThreadNode]:
        """The session's threads with their figures."""
        price = make_call_pricer(prices_for(self.settings))
        session = self.book.session
        costs = {id_: price(call) for id_, call in session.calls.items()}
        return thread_nodes(session, costs, partial(context_size, self.book))

    @property
    def servers(self) -> list[ToolServer]:
        """The tools of the call's context, with the calls of the thread so far."""
        use, call, tree = ToolUse(self.book.session.tree), self.chosen.call, self.book.session.tree
        use.read_path(call.sent_head)
        calls = self.book.session.thread_calls(self.chosen.thread)[: self.chosen.number]
        return use.servers(self.own, count_tool_calls(tree, calls))

    def category(self, node: int) -> int:
        """The index of the category that a block is shown in."""
        return self.book.category(self.chosen.call.model, node)

    @property
    def weighed(self) -> list[BlockWeight]:
        """The blocks of the context, those that carried most first."""
        book, call, tree = self.book, self.chosen.call, self.book.session.tree
        stays = BlockLifetimes(tree)
        stays.advance(book.session.thread_calls(self.chosen.thread) or [call])
        strips = book.card(call.model).strips_thinking
        number = max(1, self.chosen.number)
        found = block_weights(tree, call.sent_head, self.own, stays, number, strips_thinking=strips)
        return sorted(found, key=lambda one: -one.carry)

    @cached_property
    def _ledger(self) -> CostLedger | None:
        """What the blocks of the thread cost, call by call; None for a thread without a call or price."""
        price, session = make_call_pricer(prices_for(self.settings)), self.book.session
        costs = {id_: price(call) for id_, call in session.calls.items()}
        threads = thread_costs(self.book, costs) if any(costs.values()) else []
        found = (one for one in threads if one.thread == self.chosen.thread)
        return next((one.ledger for one in found), None)

    def paid(self, one: BlockWeight) -> float | None:
        """USD that a block has cost since it entered, up to the call; None where that is not known."""
        return self._ledger.block_usd(one.node, one.tokens, max(1, self.chosen.number)) if self._ledger else None

    @property
    def repeats(self) -> list[Duplicate]:
        """What of the context stands elsewhere too."""
        return find_duplicates(self.book.session, self.book.names, self.chosen.call.sent_head)

    def own(self, node: int) -> int:
        """Tokens of one block."""
        return self.book.block_tokens(self.chosen.call.model, node)

    @property
    def phases(self) -> list[Phase]:
        """The phases of the thread."""
        session = self.book.session
        calls = session.thread_calls(self.chosen.thread)
        notes = Notebook(self.loaded, self.settings).read()
        price = make_call_pricer(prices_for(self.settings))

        def cost(call: Call) -> tuple[SpendingRow, bool]:
            return call_row(call, price(call), ""), True

        return phases_of(
            calls,
            find_phases(session, calls, self.rule, notes),
            lambda call: figures(self.book, call).context_tokens,
            cost,
        )


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
    yield from table_lines(weight_view.table(lambda node: said(side, node), rows), rows[:_MOST], width() - 1, "carry")


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
    yield from table_lines(repeat_view.table(lambda node: said(side, node)), rows, width() - 1)


def phases(asked: ListInputs) -> dict[str, Any]:
    """The member ``phases``: by rule and by the user's names, in order."""
    rows = asked.phases
    grown, each = typical_growth(rows)
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
    yield from table_lines(view.table(rows, asked.chosen.number), rows, width() - 1)


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
    yield from table_lines(thread_view.table(asked.chosen.thread), rows, width() - 1)


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
    yield from table_lines(toolset.table(rows, source), rows, width() - 1)


class Listing(NamedTuple):
    """A list: its data for scripts, and its lines for people."""

    fields: Callable[[ListInputs], Any]
    lines: Callable[[ListInputs], Iterable[list[Span]]]


def lists_json(asked: ListInputs, names: Collection[str]) -> dict[str, Any]:
    """The members of ``show --json`` for the lists asked for."""
    return {name: LISTINGS[name].fields(asked) for name in LISTINGS if name in names}


def print_lists(asked: ListInputs, names: Collection[str]) -> None:
    """Print the lists asked for."""
    painter = Painter(asked.settings.glyphs)
    for name, listing in LISTINGS.items():
        if name in names:
            painter.lines(listing.lines(asked))


LISTINGS: Final = {
    "threads": Listing(threads, thread_lines),
    "tools": Listing(tools, tool_lines),
    "heaviest": Listing(heaviest, heaviest_lines),
    "repeats": Listing(repeats, repeat_lines),
    "phases": Listing(phases, phase_lines),
}
"""The lists by the name of their option and of their member."""
