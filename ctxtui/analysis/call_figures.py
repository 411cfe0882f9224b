"""What is said of a call before and after its blocks are counted: its figures, and book and running totals of a
session of which nothing is counted. The end of a long recording is shown with them, without the modules that count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.turns import is_read
from ctxtui.core.usage import Usage
from ctxtui.dataclasses import dataclass

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book
    from ctxtui.analysis.running_totals import RunningTotals
    from ctxtui.analysis.window_signs import WindowSigns
    from ctxtui.tokens.models import ModelCard, ModelTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFigures:
    """What a call's context comes to, in tokens.

    `context_tokens` is the reported input where there is a report (`method` ``reported``), else what the recording
    gives as an estimate or what an earlier report foretells (``calibrated`` once enough was learnt from reports, else
    ``guessed``), else the sum of our figures (``exact`` where every block is); `lo` and `hi` are its 90 % interval.
    `categories` holds our figure for each category that is not empty, in prompt order. `not_recorded` is what the
    recording lacks (None where nothing is lacking or it cannot be inferred yet), `attached` what the client attached
    again after a compaction, `residual` the context tokens less everything else. `counted` is False while some block
    has no count yet, or what a report shows to be gone is not known yet: then only `context_tokens` and `reported` are
    meant to be shown.
    """

    context_tokens: int
    method: str
    lo: int
    hi: int
    categories: dict[str, int]
    not_recorded: int | None
    residual: int
    reported: Usage | None
    counted: bool
    attached: int = 0


def uncounted(call: Call) -> CallFigures:
    """The figures of a call whose context has blocks without a count."""
    total = call.usage.input if call.usage and not call.is_sum else 0
    return CallFigures(
        context_tokens=total,
        method="reported" if call.usage else "guessed",
        lo=total,
        hi=total,
        categories={},
        not_recorded=None,
        residual=0,
        reported=call.usage,
        counted=False,
    )


_NOWHERE: Final[Mapping[int, int]] = {}


class UncountedBook:
    """The book of `session` before anything is counted, with the models of `table`. What is asked of it beside that is
    answered by the book itself, which `make` makes then."""

    def __init__(self, session: Session, table: Callable[[], ModelTable], make: Callable[[], Book]) -> None:
        self.session = session
        self._table = table
        self._make = make

    @cached_property
    def _book(self) -> Book:
        return self._make()

    @cached_property
    def windows(self) -> WindowSigns:
        """What its calls show of their windows."""
        from ctxtui.analysis.window_signs import WindowSigns

        return WindowSigns(self.session)

    def card(self, model: str) -> ModelCard:
        """Facts about `model`."""
        return self._table().card(model)

    def counted(self, model: str, node: int) -> bool:
        """Nothing is, but for the empty context."""
        return node == ROOT

    def __getattr__(self, name: str) -> Any:
        return getattr(self._book, name)


class UncountedTotals:
    """The running totals of a session before anything is counted; what is asked of them beside that is answered by
    those that `make` makes then."""

    elsewhere = _NOWHERE

    def __init__(self, tree: Tree, strips_thinking: bool, make: Callable[[], RunningTotals]) -> None:
        self.strips_thinking = strips_thinking
        self._tree = tree
        self._make = make

    @cached_property
    def _totals(self) -> RunningTotals:
        return self._make()

    def counted(self, node: int) -> bool:
        """Nothing is, but for the empty context."""
        return node == ROOT

    def category(self, node: int) -> int:
        """The index of a block's own category."""
        return self._tree[node].category

    def is_read(self, head: int, node: int) -> bool:
        """Whether the model reads the block of `node` as part of the context `head`; no report tells yet of one that is
        gone."""
        return is_read(self._tree, head, node, strips_thinking=self.strips_thinking)

    def gone(self, head: int, node: int) -> None:
        """That is not known of any block."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._totals, name)
