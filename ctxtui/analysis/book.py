"""The book: all token counts of a session, under the weights of each call's model.

A block is counted as *features* (raw numbers, such as characters); a model's *weights* give the tokens for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ctxtui.analysis.forecast import Forecast, ForecastLearner, ForecastRange
from ctxtui.analysis.labels.segments import Segment, by_category
from ctxtui.analysis.read.absence import Absences
from ctxtui.analysis.read.read_context import ReadContexts
from ctxtui.analysis.read.reported_thinking import ReportedThinking
from ctxtui.analysis.read.searches import Searches
from ctxtui.analysis.short_names import Names
from ctxtui.analysis.window_signs import WindowSigns
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Node
from ctxtui.tokens.cumulate import Cumulated, Parts, WholeTokens
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import Counting, ModelCard, ModelTable
from ctxtui.tokens.weights import Weights, half_interval, is_exact

_THINKING: Final = INDEX["thinking"]

Measure = Callable[[ModelCard], Callable[[Block], Features]]
"""Builds the function that counts the features of a block for a model."""

Labels = Callable[[ModelCard], Callable[[Node], "Sequence[Segment]"]]
"""Builds the function that splits a node's block into labelled segments; empty if no rule applies."""


class Book:
    """The token counts behind every figure of one session.

    `labels` splits blocks by the user's rules. `advance` counts and learns; it may run in a worker thread. A node has
    figures once `is_counted` returns True. Values computed under an older `version` must be computed again.
    """

    def __init__(self, session: Session, table: ModelTable, measure: Measure, labels: Labels | None = None) -> None:
        self.session = session
        self.names = Names(session.tree)
        self._table = table
        self._measure = measure
        self._labels = labels
        self._cards: dict[str, ModelCard] = {}
        self.searches = Searches(session)
        self.windows = WindowSigns(session)
        self.version = 0
        self._weights: dict[str, Weights] = {}
        self._cumulated: dict[Counting, Cumulated] = {}
        self._by_model: dict[str, Cumulated] = {}
        self._reported = ReportedThinking(session)
        self._learning = ForecastLearner(session, self.cumulated, self.card)
        self._summed: tuple[tuple[int, str, int], tuple[int, ...]] | None = None
        """Arguments and result of the last `sums`."""
        self.contexts = ReadContexts(self)
        self._first: dict[tuple[str, int], str] = {}
        """By thread and epoch: the id of the first call with a report."""
        self._first_estimate: dict[tuple[str, int], str] = {}
        self._scanned: dict[str, int] = {}

    @property
    def is_settled(self) -> bool:
        node_count = len(self.session.tree)
        return all(self.cumulated(model).done == node_count for model in self.models) and self._learning.is_settled

    def card(self, model: str) -> ModelCard:
        card = self._cards.get(model)
        if card is None:
            card = self._cards.setdefault(model, self._table.card(model))
        return card

    def weights(self, model: str) -> Weights:
        """Tokens of `model` per raw feature, as last published."""
        published = self._weights
        weights = published.get(model)
        if weights is None:
            # If new weights are published meanwhile, this is stored in the old dict, which is no longer read.
            weights = published.setdefault(model, self._learning.weights(model))
        return weights

    def cumulated(self, model: str) -> Cumulated:
        """Running counts by node; models that count alike share them."""
        by_model = self._by_model
        cumulated = by_model.get(model)
        if cumulated is None:
            card = self.card(model)
            cumulated = self._cumulated.get(card.counting)
            if cumulated is None:
                # Two threads may get here at once; setdefault gives both the same object.
                cumulated = self._cumulated.setdefault(card.counting, self._new_cumulated(card))
            by_model[model] = cumulated
        return cumulated

    def _new_cumulated(self, card: ModelCard) -> Cumulated:
        reported = self._reported
        return Cumulated(
            self.session.tree, self._measure(card), self._label_splitter(card), reported.tokens, reported.alike
        )

    def measure(self, model: str) -> Callable[[Block], Features]:
        """The function that counts one block for `model`; the block need not be in the session."""
        return self._measure(self.card(model))

    def _label_splitter(self, card: ModelCard) -> Parts | None:
        if self._labels is None:
            return None
        split, measure = self._labels(card), self._measure(card)

        def parts(node: Node) -> list[tuple[int, Features]]:
            segments = split(node)
            return by_category(segments, measure(node.block), node.category) if segments else []

        return parts

    def segments(self, model: str, node: int) -> Sequence[Segment]:
        """Labelled segments of a node's block, in order; empty if no rule splits it."""
        return self._labels(self.card(model))(self.session.tree[node]) if self._labels else ()

    @property
    def models(self) -> frozenset[str]:
        """Models of the session's calls; {""} if there are none."""
        # Copy first: another thread may be adding calls.
        return frozenset({call.model for call in list(self.session.calls.values())} or {""})

    def is_counted(self, model: str, node: int) -> bool:
        return self.cumulated(model).is_counted(node)

    def count(self, limit: int) -> None:
        """Count up to `limit` further nodes for every model, without learning from reports."""
        for cumulated in self._cumulated_of_models():
            cumulated.advance(limit)

    def _cumulated_of_models(self) -> list[Cumulated]:
        return list({id(cumulated): cumulated for cumulated in map(self.cumulated, self.models)}.values())

    def advance(self, limit: int | None = None) -> tuple[int, int]:
        """Count up to `limit` (None: all) further nodes for every model, and learn from new reports.

        Returns (nodes counted, nodes in all).
        """
        counts = self._cumulated_of_models()
        first = self._reported.advance()
        if first is not None:
            for cumulated in counts:
                cumulated.revise(first)
            # Increment last, so that sums made by another thread meanwhile are stale.
            self.version += any(cumulated.is_counted(first) for cumulated in counts)
        done = min(cumulated.advance(limit) for cumulated in counts)
        self._learning.advance()
        if done == len(self.session.tree):
            self._publish_weights(all_there_is=False)
        return done, len(self.session.tree)

    def settle(self) -> None:
        """Make the weights independent of the pieces in which the recording was read."""
        self._publish_weights(all_there_is=True)

    def _publish_weights(self, *, all_there_is: bool) -> None:
        if self._learning.publish(all_there_is=all_there_is):
            # Copy first: another thread may be adding a model.
            self._weights = {model: self._learning.weights(model) for model in list(self._weights)}
            self.version += 1
        self.contexts.advance()

    @property
    def forecasts(self) -> Mapping[str, ForecastRange]:
        return self._learning.forecasts

    def forecast(self, call: Call) -> Forecast | None:
        """Forecast the input of `call`; None before the first report of its thread.

        Raises `IndexError` while its context is not counted.
        """
        return self._learning.forecaster.forecast(call)

    def whole_tokens(self, model: str) -> WholeTokens:
        return self.cumulated(model).whole_tokens(self.weights(model))

    def sums(self, model: str, node: int) -> tuple[int, ...]:
        """Whole tokens per category index of the context `node`, with nothing removed.

        Raises `IndexError` while it is not counted.
        """
        # The same context is looked up several times in a row, with different blocks absent.
        key, last = (self.version, model, node), self._summed
        if last is not None and last[0] == key:
            return last[1]
        sums = self.whole_tokens(model).tokens_at(node)
        self._summed = key, sums
        return sums

    def category_tokens(self, model: str, node: int, category: int) -> int:
        return self.whole_tokens(model).category_tokens(node, category)

    def read_sums(self, model: str, head: int, absences: Absences) -> tuple[int, ...]:
        """Tokens that the model reads of the context `head`, by category index.

        Absent blocks and dropped thinking are not counted.
        """
        sums = list(self.sums(model, head))
        start = self.session.tree[head].turn_start
        if start != ROOT and self.card(model).strips_thinking:
            sums[_THINKING] -= self.category_tokens(model, self.session.tree[start].parent, _THINKING)
        if absences:
            sums = [
                n - absent_tokens
                for n, absent_tokens in zip(sums, self.contexts.tokens(model, head, absences), strict=True)
            ]
        return tuple(sums)

    def block_tokens(self, model: str, node: int) -> int:
        """Whole tokens of one block, with its message's header if it is the first part.

        Raises `IndexError` while it is not counted.
        """
        return sum(self.block_tokens_by_category(model, node).values())

    def block_tokens_by_category(self, model: str, node: int) -> dict[int, int]:
        """Like `block_tokens`, by category index."""
        tokens_of, parent = self.whole_tokens(model), self.session.tree[node].parent
        return {
            c: tokens_of.category_tokens(node, c) - tokens_of.category_tokens(parent, c)
            for c in self.cumulated(model).categories(node)
        }

    def category(self, model: str, node: int) -> int:
        """Index of the category that a block is shown in. With label rules it is that of most tokens."""
        if self._labels is None or not self.is_counted(model, node):
            return self.session.tree[node].category
        parts = self.block_tokens_by_category(model, node)
        return max(parts, key=lambda category: parts[category])

    def copy_report(self, node: int, recorded: int) -> None:
        """Give `node` the reported tokens of `recorded`, a node of the same block, if there are any."""
        reported = self._reported.tokens.get(recorded)
        if reported is None or node in self._reported.tokens:
            return
        self._reported.tokens[node] = reported
        # Another book of this session may have made the node, so that it is already counted.
        counted = [cumulated for cumulated in self._cumulated.values() if cumulated.is_counted(node)]
        for cumulated in counted:
            cumulated.revise(node)
        self.version += bool(counted)

    def is_reported(self, node: int) -> bool:
        return node in self._reported.tokens or self.session.tree[node].block.digest in self._reported.alike

    def slack(self, model: str, node: int) -> float | None:
        """Half of the 90 % interval of a block, in tokens; None if it is counted exactly."""
        features = self.cumulated(model).block_features(node)
        weights = self.weights(model)
        return None if is_exact(features, weights) else half_interval(features, weights)

    def whole_slack(self, model: str, head: int) -> float | None:
        """Half of the 90 % interval of the context `head`, as a share of its tokens. None if counted exactly."""
        weights = self.weights(model)
        exact = all(is_exact(f, weights) for f in self.cumulated(model).composition_at(head))
        return None if exact else weights.half_width

    def first_report(self, thread: str, epoch: int) -> Call | None:
        """First call of a thread's epoch with a report, else the first with a client's estimate."""
        order = self.session.order.get(thread, [])
        # The list may grow during the loop.
        last = len(order)
        # The last call may get a report later (upsert), so it is not skipped next time.
        for index in range(self._scanned.get(thread, 0), last):
            call = self.session.calls[order[index]]
            if call.usage is not None:
                self._first.setdefault((thread, call.epoch.number), call.id)
            elif call.estimated_input is not None:
                self._first_estimate.setdefault((thread, call.epoch.number), call.id)
        self._scanned[thread] = max(0, last - 1)
        id_ = self._first.get((thread, epoch)) or self._first_estimate.get((thread, epoch))
        return self.session.calls[id_] if id_ else None
