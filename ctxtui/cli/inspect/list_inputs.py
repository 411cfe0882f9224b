"""What the lists of `ctxtui show` are made of."""

from __future__ import annotations

from functools import cached_property, partial

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.content.block_lifetimes import Stays
from ctxtui.analysis.content.block_weights import Weight, weights
from ctxtui.analysis.content.duplicates import Repeat
from ctxtui.analysis.content.tools import ToolServer, ToolUse, used
from ctxtui.analysis.figures import context_size, figures
from ctxtui.analysis.growth.phases import Phase, phases
from ctxtui.analysis.growth.thread_tree import Kin, family
from ctxtui.analysis.money.block_costs import thread_costs
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.money.spending import SpendingRow, row_of
from ctxtui.core.call import Call
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import price_of, prices_for
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.library.workspace_files import repeats_of
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.study.phase_rules import begun


class ListInputs(Struct, frozen=True, dict=True):
    """What a list is made of: the counted `book`, the call, the recording, the settings."""

    book: Book
    chosen: ChosenCall
    loaded: Loaded
    settings: Settings
    rule: str = ""
    """What phases begin by: a word of `phase_rules.WORDS`, a regular expression, or "" for the user's names."""

    @property
    def family(self) -> list[Kin]:
        """The session's threads with their figures."""
        price = price_of(prices_for(self.settings))
        session = self.book.session
        costs = {id_: price(call) for id_, call in session.calls.items()}
        return family(session, costs, partial(context_size, self.book))

    @property
    def servers(self) -> list[ToolServer]:
        """The tools of the call's context, with the calls of the thread so far."""
        use, call, tree = ToolUse(self.book.session.tree), self.chosen.call, self.book.session.tree
        use.show(call.sent_head)
        calls = self.book.session.thread_calls(self.chosen.thread)[: self.chosen.number]
        return use.servers(self.own, used(tree, calls))

    def category(self, node: int) -> int:
        """The index of the category that a block is shown in."""
        return self.book.category(self.chosen.call.model, node)

    @property
    def weighed(self) -> list[Weight]:
        """The blocks of the context, those that carried most first."""
        book, call, tree = self.book, self.chosen.call, self.book.session.tree
        stays = Stays(tree)
        stays.advance(book.session.thread_calls(self.chosen.thread) or [call])
        strips = book.card(call.model).strips_thinking
        number = max(1, self.chosen.number)
        found = weights(tree, call.sent_head, self.own, stays, number, strips_thinking=strips)
        return sorted(found, key=lambda one: -one.carry)

    @cached_property
    def _ledger(self) -> CostLedger | None:
        """What the blocks of the thread cost, call by call; None for a thread without a call or price."""
        price, session = price_of(prices_for(self.settings)), self.book.session
        costs = {id_: price(call) for id_, call in session.calls.items()}
        threads = thread_costs(self.book, costs) if any(costs.values()) else []
        found = (one for one in threads if one.thread == self.chosen.thread)
        return next((one.ledger for one in found), None)

    def paid(self, one: Weight) -> float | None:
        """USD that a block has cost since it entered, up to the call; None where that is not known."""
        return self._ledger.block(one.node, one.tokens, max(1, self.chosen.number)) if self._ledger else None

    @property
    def repeats(self) -> list[Repeat]:
        """What of the context stands elsewhere too."""
        return repeats_of(self.book.session, self.book.names, self.chosen.call.sent_head)

    def own(self, node: int) -> int:
        """Tokens of one block."""
        return self.book.own(self.chosen.call.model, node)

    @property
    def phases(self) -> list[Phase]:
        """The phases of the thread."""
        session = self.book.session
        calls = session.thread_calls(self.chosen.thread)
        notes = Notebook(self.loaded, self.settings).read()
        price = price_of(prices_for(self.settings))

        def cost(call: Call) -> tuple[SpendingRow, bool]:
            return row_of(call, price(call), ""), True

        return phases(
            calls,
            begun(session, calls, self.rule, notes),
            lambda call: figures(self.book, call).context_tokens,
            cost,
        )
