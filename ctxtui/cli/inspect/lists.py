"""Lists of `ctxtui show`, as data and as text: threads, tools, blocks, duplicates, phases."""

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
from ctxtui.analysis.content.tools import ToolServer, ToolUse, count_definitions, count_tool_calls
from ctxtui.analysis.figures import context_size, figures
from ctxtui.analysis.growth.phases import Phase, build_phases, typical_growth
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
from ctxtui.views.lists.diff import preview
from ctxtui.views.text.span import Span


class ListInputs(Struct, frozen=True, dict=True):
    """The input of the lists: a call of a recording whose blocks are all counted in `book`."""

    book: Book
    chosen: ChosenCall
    loaded: Loaded
    settings: Settings
    rule: str = ""
    """One of `phase_rules.RULE_NAMES`, a regular expression, or "" for the user's phase names, else turns."""

    @property
    def _call_count(self) -> int:
        """The thread's calls so far; all precede a context that is not sent yet."""
        return self.chosen.number or len(self.book.session.thread_calls(self.chosen.thread))

    @property
    def threads(self) -> list[ThreadNode]:
        price = make_call_pricer(prices_for(self.settings))
        session = self.book.session
        costs = {id_: price(call) for id_, call in session.calls.items()}
        return thread_nodes(session, costs, partial(context_size, self.book))

    @property
    def servers(self) -> list[ToolServer]:
        use, call, tree = ToolUse(self.book.session.tree), self.chosen.call, self.book.session.tree
        use.read_path(call.sent_head)
        calls = self.book.session.thread_calls(self.chosen.thread)[: self._call_count]
        return use.servers(self.tokens_of, count_tool_calls(tree, calls))

    def category(self, node: int) -> int:
        return self.book.category(self.chosen.call.model, node)

    @property
    def block_weights(self) -> list[BlockWeight]:
        """The blocks of the context, most carried tokens first."""
        book, call, tree = self.book, self.chosen.call, self.book.session.tree
        lifetimes = BlockLifetimes(tree)
        lifetimes.advance(book.session.thread_calls(self.chosen.thread) or [call])
        strips = book.card(call.model).strips_thinking
        number = max(1, self._call_count)
        weight_list = block_weights(tree, call.sent_head, self.tokens_of, lifetimes, number, strips_thinking=strips)
        return sorted(weight_list, key=lambda weight: -weight.carry)

    @cached_property
    def _ledger(self) -> CostLedger | None:
        """The costs of the thread's blocks; None without a call or price."""
        price, session = make_call_pricer(prices_for(self.settings)), self.book.session
        costs = {id_: price(call) for id_, call in session.calls.items()}
        threads = thread_costs(self.book, costs) if any(costs.values()) else []
        return next((thread.ledger for thread in threads if thread.thread == self.chosen.thread), None)

    def cost_of(self, weight: BlockWeight) -> float | None:
        """USD since the block entered, up to the call; None if unknown."""
        return self._ledger.block_usd(weight.node, weight.tokens, max(1, self._call_count)) if self._ledger else None

    @property
    def repeats(self) -> list[Duplicate]:
        return find_duplicates(self.book.session, self.book.names, self.chosen.call.sent_head)

    def tokens_of(self, node: int) -> int:
        return self.book.block_tokens(self.chosen.call.model, node)

    @property
    def phases(self) -> list[Phase]:
        session = self.book.session
        calls = session.thread_calls(self.chosen.thread)
        notes = Notebook(self.loaded, self.settings).read()
        price = make_call_pricer(prices_for(self.settings))

        def cost(call: Call) -> tuple[SpendingRow, bool]:
            return call_row(call, price(call), ""), True

        return build_phases(
            calls,
            find_phases(session, calls, self.rule, notes),
            lambda call: figures(self.book, call).context_tokens,
            cost,
        )


MAX_PRINTED_BLOCKS: Final = 40


def heaviest(inputs: ListInputs) -> list[dict[str, Any]]:
    return [
        {
            **_block_to_json(inputs, weight.node),
            **members(weight, "tokens calls carry since_call=first_call?"),
            "cost_usd": inputs.cost_of(weight),
            "cacheable": weight.stability or None,
            "held": [weight.stable_calls, weight.later_calls],
        }
        for weight in inputs.block_weights
    ]


def _block_to_json(inputs: ListInputs, node: int) -> dict[str, Any]:
    here = inputs.book.session.tree[node]
    return {
        "digest": here.block.digest,
        "at": here.depth,
        "category": CATEGORIES[inputs.category(node)],
        "label": inputs.book.names.label(here),
    }


def heaviest_lines(inputs: ListInputs) -> Iterator[list[Span]]:
    rows = [
        weight_view.HeavyBlock(weight, inputs.category(weight.node), inputs.cost_of(weight))
        for weight in inputs.block_weights
    ]
    yield from rule("heaviest by carry", "".join(span.text for span in weight_view.total(rows)))
    side = DiffSide(inputs.book, inputs.chosen)
    yield from table_lines(
        weight_view.table(lambda node: preview(side, node), rows), rows[:MAX_PRINTED_BLOCKS], width() - 1, "carry"
    )


def repeats(inputs: ListInputs) -> dict[str, Any]:
    duplicates = inputs.repeats
    return {
        "tokens": sum(inputs.tokens_of(duplicate.node) for duplicate in duplicates),
        "blocks": [
            {
                **_block_to_json(inputs, duplicate.node),
                "tokens": inputs.tokens_of(duplicate.node),
                "why": duplicate.kind,
                "share": round(duplicate.share, 3),
                "other": _block_to_json(inputs, duplicate.counterpart) if duplicate.counterpart != ROOT else None,
                "path": duplicate.path or None,
            }
            for duplicate in duplicates
        ],
    }


def repeat_lines(inputs: ListInputs) -> Iterator[list[Span]]:
    tree, side = inputs.book.session.tree, DiffSide(inputs.book, inputs.chosen)
    turns = turns_of(tree, inputs.book.session.thread_calls(inputs.chosen.thread))
    rows = repeat_view.sort_by_size(
        [
            repeat_view.duplicate_row(
                tree, turns, duplicate, inputs.tokens_of(duplicate.node), inputs.category(duplicate.node)
            )
            for duplicate in inputs.repeats
        ]
    )
    yield from rule("repeats", "".join(span.text for span in repeat_view.total(rows)))
    if not rows:
        yield [Span(" No duplicate content in this context.", "dim")]
    yield from table_lines(repeat_view.table(lambda node: preview(side, node)), rows, width() - 1)


def phases(inputs: ListInputs) -> dict[str, Any]:
    rows = inputs.phases
    per_phase, per_call = typical_growth(rows)
    return {
        "rule": inputs.rule or None,
        "typical_growth": per_phase,
        "typical_growth_per_call": per_call,
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


def phase_lines(inputs: ListInputs) -> Iterator[list[Span]]:
    rows = inputs.phases
    yield from rule("phases", "".join(span.text for span in view.summary(rows)))
    yield from table_lines(view.table(rows, inputs.chosen.number), rows, width() - 1)


def threads(inputs: ListInputs) -> list[dict[str, Any]]:
    return [
        members(
            node,
            "id label parent? depth after_call=since? model? calls context_tokens=tokens peak_tokens=peak "
            "input_tokens=sent output_tokens=answered cost_usd=usd cost_usd_at_least=least "
            "partial_calls=partial compactions=folds",
        )
        for node in inputs.threads
    ]


def thread_lines(inputs: ListInputs) -> Iterator[list[Span]]:
    rows = inputs.threads
    yield from rule("threads", f"{len(rows):,}")
    yield from table_lines(thread_view.table(inputs.chosen.thread), rows, width() - 1)


def tools(inputs: ListInputs) -> list[dict[str, Any]]:
    return [
        {
            **members(server, "server=name? tokens calls never_called=unused_count"),
            "tools": [members(tool, "name? tokens state calls") for tool in server.tools],
        }
        for server in inputs.servers
    ]


def tool_lines(inputs: ListInputs) -> Iterator[list[Span]]:
    servers = inputs.servers
    source = inputs.book.session.about.source
    tool_set = toolset.Toolset(tuple(servers), *count_definitions(servers), source)
    yield from rule("tools", "".join(span.text for span in toolset.notes(tool_set)))
    rows = toolset.rows(servers)
    yield from table_lines(toolset.table(rows, source), rows, width() - 1)


class Listing(NamedTuple):
    """A list: its data for JSON, and its lines of text."""

    fields: Callable[[ListInputs], Any]
    lines: Callable[[ListInputs], Iterable[list[Span]]]


def lists_json(inputs: ListInputs, names: Collection[str]) -> dict[str, Any]:
    return {name: LISTINGS[name].fields(inputs) for name in LISTINGS if name in names}


def print_lists(inputs: ListInputs, names: Collection[str]) -> None:
    painter = Painter(inputs.settings.glyphs)
    for name, listing in LISTINGS.items():
        if name in names:
            painter.lines(listing.lines(inputs))


LISTINGS: Final = {
    "threads": Listing(threads, thread_lines),
    "tools": Listing(tools, tool_lines),
    "heaviest": Listing(heaviest, heaviest_lines),
    "repeats": Listing(repeats, repeat_lines),
    "phases": Listing(phases, phase_lines),
}
