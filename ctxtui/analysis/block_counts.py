"""What is counted of single blocks and of whole contexts, before anything is said of what was read of them."""

from __future__ import annotations

from typing import Protocol

from ctxtui.analysis.read.absence import Absences
from ctxtui.analysis.read.searches import Searches
from ctxtui.core.session import Session
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights


class BlockCounts(Protocol):
    """The part of a `Book` that what was read of a context is worked out from; a `Book` documents each."""

    session: Session
    searches: Searches
    version: int

    def card(self, model: str) -> ModelCard:
        """Facts about `model`."""

    def weights(self, model: str) -> Weights:
        """What one raw feature is worth in tokens of `model`."""

    def counted(self, model: str, node: int) -> bool:
        """Whether the figures of the context `node` are known yet."""

    def own(self, model: str, node: int) -> int:
        """Tokens of one block."""

    def own_by_category(self, model: str, node: int) -> dict[int, int]:
        """As `own`, by category index."""

    def sums(self, model: str, node: int) -> tuple[int, ...]:
        """Tokens by category index of the context `node`."""

    def sum_of(self, model: str, node: int, category: int) -> int:
        """As `sums`, for one category alone."""

    def read_sums(self, model: str, head: int, gone: Absences) -> tuple[int, ...]:
        """As `sums`, of what is read of the context `head` without what is `gone`."""

    def slack(self, model: str, node: int) -> float | None:
        """Half of the 90 % interval of one block, in tokens."""

    def whole_slack(self, model: str, head: int) -> float | None:
        """Half of the 90 % interval of a whole context, as a share."""
