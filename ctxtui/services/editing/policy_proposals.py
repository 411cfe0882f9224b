"""Proposals of every policy for the context shown, in addition to the edits in force."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from itertools import takewhile
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.edit_prices import EditPrices
from ctxtui.analysis.request_counts import CountingTerms, count_under, counting_terms
from ctxtui.core.block import Block
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.policy import Policy, Step, run
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.risk import risk_of
from ctxtui.curation.policies.search import search
from ctxtui.curation.policies.settings_text import parse_settings
from ctxtui.curation.price.advice import Advice, find_advice
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag, pays_back
from ctxtui.curation.price.request_count import RequestCount
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.policy_registry import load_policies
from ctxtui.services.editing.later_calls import policy_context_of
from ctxtui.services.editing.next_request import PricedRequest
from ctxtui.services.editing.staging import StagingArea
from ctxtui.tokens.weights import weigh
from ctxtui.views.lists.policies import Proposed, Setting
from ctxtui.views.model.scene import Scene


class AdviceSearch(Struct, frozen=True, kw_only=True):
    """A search for advice in a context under all its edits.

    `prices` are those of further edits (None: unknown).
    """

    policy_context: PolicyContext
    prices: EditPrices | None

    def priced(self, after: Applied) -> PriceTag | None:
        return self.prices.tag(after) if self.prices is not None else None

    def advice(
        self,
        policies: Iterable[Policy],
        horizon: int,
        staged: PriceTag | None,
        stopped: Callable[[], bool] = lambda: False,
        enough: Callable[[], bool] = lambda: False,
    ) -> list[Advice]:
        """Advice beyond what is `staged`, by risk, then by savings over `horizon` calls.

        - `enough`: when it returns true, the search ends and its results are priced.
        - `stopped`: when it returns true, the result is no longer needed, and the search ends without prices.
        """
        policy_context = self.policy_context

        def price(after: Applied) -> PriceTag | None:
            tag = self.priced(after)
            return None if tag is None else subtract_staged(tag, staged)

        remedies = takewhile(lambda _: not stopped() and not enough(), search(policy_context, policies))
        try:
            return find_advice(policy_context, remedies, price, horizon, stopped)
        finally:
            policy_context.forget()


def subtract_staged(tag: PriceTag, staged: PriceTag | None) -> PriceTag:
    """`tag` minus the cost of the `staged` edits (None: nothing is staged)."""
    staged_moments = {moment.name: moment for moment in staged.moments} if staged is not None else {}
    moments = (
        _subtract_moment(moment, staged_moments[moment.name]) if moment.name in staged_moments else moment
        for moment in tag.moments
    )
    return replace(tag, moments=tuple(moments))


def _subtract_moment(moment: ApplyMoment, already: ApplyMoment) -> ApplyMoment:
    once = None if moment.once is None or already.once is None else moment.once - already.once
    per_call = None if moment.per_call is None or already.per_call is None else moment.per_call - already.per_call
    return replace(moment, once=once, per_call=per_call, pays_back=pays_back(once, per_call))


PRICE_TIMEOUT_S: Final = 20.0
"""Seconds to wait for prices; after that, results are shown without them."""
MAX_SEARCH_SECONDS: Final = 20.0
"""Processor seconds after which a search for advice begins nothing new."""


class Proposals:
    """Proposals of every policy for the context of `scene` under its edits.

    `find_next_request` returns the next request without staged edits (None: no prices). The constructor is quick;
    `rows` and `row` are for a worker.
    """

    def __init__(
        self, staging_area: StagingArea, scene: Scene, find_next_request: Callable[[], PricedRequest | None]
    ) -> None:
        self._staging_area = staging_area
        self._study = staging_area.study
        self._model = scene.call.model
        self._staging = staging_area.staging(scene)
        self._before = staging_area.applied(scene)
        self._find_next_request = find_next_request
        self._next_request = find_next_request()
        self._overlay = staging_area.overlay(scene.thread or "main")
        self.rules = rules_for(self._staging.applied.context.dialect, staging_area.study.book.card(self._model))
        self._policies = tuple(load_policies().values())
        self._settings: dict[str, dict[str, Json]] = {}
        self._search: tuple[AdviceSearch, PriceTag | None] | None = None

    @property
    def empty(self) -> list[Proposed]:
        """Every policy, without results."""
        return [self._without_result(policy) for policy in self._policies]

    def set(self, index: int, text: str) -> None:
        """Set the settings of policy number `index` (from 0) by `text`. Raises `BadConfig`.

        `text` is ``key=value`` words, "" for the defaults.
        """
        policy = self._policies[index]
        self._settings[policy.name] = parse_settings(policy, text)

    def rows(self) -> Iterator[Proposed]:
        for index in range(len(self._policies)):
            yield self.row(index)

    def row(self, index: int) -> Proposed:
        """The proposal of one policy with its present settings."""
        policy = self._policies[index]
        row = self._without_result(policy)
        try:
            return self._with_result(policy, row, *self.start_search())
        except CtxtuiError as error:
            return replace(row, why=error.message)

    def _wait_for_next_request(self) -> None:
        """Wait for the next request, which another worker computes."""
        until = time.monotonic() + PRICE_TIMEOUT_S
        while self._next_request is None and time.monotonic() < until:
            # Read this first, so that a result finished meanwhile is not missed.
            waits = self._staging_area.is_forecasting
            self._next_request = self._find_next_request()
            if not waits and not self._staging_area.is_forecasting:
                return
            time.sleep(0.02)

    def _make_policy_context(self) -> PolicyContext:
        staging, next_request = self._staging, self._next_request
        return replace(
            policy_context_of(staging, staging.applied, next_request, self._count_block),
            log=tuple(self._overlay.log),
            usable=staging.scene.limits.usable,
            rules=self.rules,
            literals=self._staging_area.literals,
            cold=next_request is not None and not next_request.question.read,
        )

    def _count_block(self, block: Block) -> int:
        return round(weigh(self._study.count_now(self._model, block), self._study.book.weights(self._model)))

    def _with_result(self, policy: Policy, row: Proposed, search: AdviceSearch, tag: PriceTag | None) -> Proposed:
        policy_context = search.policy_context
        edits = run(Step(policy, dict(self._settings.get(policy.name, {}))), policy_context)
        own_ids = tuple(edit.id for edit in self._overlay.in_force if edit.author == policy.name)
        row = replace(row, freed=0, active_ids=own_ids)
        if not edits:
            return row
        context = policy_context.context
        after = apply(context, (*policy_context.log, *edits), self.rules)
        if after.refused:
            return replace(row, why=after.refused)
        usable, size = policy_context.usable, self._count_request(after).whole
        row = replace(
            row,
            edits=tuple(edits),
            freed=self._count_request(self._staging.applied).whole - size,
            share=size / usable if usable else None,
            risk=risk_of(context, edits),
        )
        new_tag = search.priced(after)
        return row if new_tag is None else _with_cheapest_price(row, new_tag, tag)

    def _count_request(self, applied: Applied) -> RequestCount:
        return count_under(self._counting_terms, applied, partial(self._study.count_now, self._model))

    @cached_property
    def _counting_terms(self) -> CountingTerms:
        return counting_terms(self._study.book, self._staging.scene.call, self._staging.applied.context)

    def _without_result(self, policy: Policy) -> Proposed:
        values = {**policy.defaults, **self._settings.get(policy.name, {})}
        settings = tuple(
            Setting(name, _format_setting(value), policy.notes.get(name, "")) for name, value in values.items()
        )
        return Proposed(policy.name, policy.about, settings)

    def advice(self, horizon: int, stopped: Callable[[], bool] = lambda: False) -> list[Advice]:
        """Advice beyond the edits in force, by risk, then by savings over `horizon` calls.

        For a worker; when `stopped` returns true, it ends early.
        """
        advice_search, staged = self.start_search()
        policies = [policy for policy in self._policies if policy.name != budget.NAME]
        until = time.thread_time() + MAX_SEARCH_SECONDS
        return advice_search.advice(policies, horizon, staged, stopped, lambda: time.thread_time() > until)

    def start_search(self) -> tuple[AdviceSearch, PriceTag | None]:
        """The search, and the price of the staged edits (None: there are none, or it is unknown)."""
        if self._search is None:
            self._wait_for_next_request()
            next_request, prices = self._next_request, None
            if next_request is not None:
                measure = partial(self._study.count_now, self._model)
                prices = EditPrices(
                    self._before, next_request.question, next_request.weigh, measure, self._counting_terms
                )
            advice_search = AdviceSearch(policy_context=self._make_policy_context(), prices=prices)
            tag = advice_search.priced(self._staging.applied) if self._overlay.staged else None
            self._search = advice_search, tag
        return self._search


def _format_setting(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _with_cheapest_price(row: Proposed, tag: PriceTag, staged: PriceTag | None) -> Proposed:
    """`row` with the price at the cheapest moment, minus what the `staged` edits cost anyway."""
    if not tag.moments:
        return row
    moment = subtract_staged(tag, staged).moments[tag.cheapest]
    return replace(row, moment=moment.name, once=moment.once, per_call=moment.per_call, pays_back=moment.pays_back)
