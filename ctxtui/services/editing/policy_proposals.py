"""What every policy would do to the context shown, besides the edits that stand: worked out one by one."""

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
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.references import externalized_content
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.policy import Policy, Step, run
from ctxtui.curation.policies.risk import risk_of
from ctxtui.curation.policies.search import search
from ctxtui.curation.policies.settings_text import parse_settings
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.advice import Advice, find_advice
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag, pays_back
from ctxtui.curation.price.request_count import RequestCount
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.policy_registry import every_policy
from ctxtui.services.editing.later_calls import situation_of
from ctxtui.services.editing.next_request import Next
from ctxtui.services.editing.staging import StagingArea
from ctxtui.tokens.weights import weigh
from ctxtui.views.lists.policies import Proposed, Setting
from ctxtui.views.model.scene import Scene


class AdviceSearch(Struct, frozen=True, kw_only=True):
    """What a search needs: the context under all its edits (`situation`), and the `prices` of those that are in
    question (None: no price is known)."""

    situation: PolicyContext
    prices: EditPrices | None

    def priced(self, after: Applied) -> PriceTag | None:
        """The price of the edits in `after`; None where it cannot be told."""
        return self.prices.tag(after) if self.prices is not None else None

    def advice(
        self,
        policies: Iterable[Policy],
        horizon: int,
        staged: PriceTag | None,
        stopped: Callable[[], bool] = lambda: False,
        enough: Callable[[], bool] = lambda: False,
    ) -> list[Advice]:
        """What would help besides what is `staged` and costs that already, by risk, then by what it saves over
        `horizon` calls. Where it is `enough` no more is looked for, and what was found is priced; once it is `stopped`,
        nobody waits for anything."""
        situation = self.situation

        def price(after: Applied) -> PriceTag | None:
            found = self.priced(after)
            return None if found is None else without(found, staged)

        found = takewhile(lambda _: not stopped() and not enough(), search(situation, policies))
        try:
            return find_advice(situation, found, price, horizon, stopped)
        finally:
            situation.forget()


def without(found: PriceTag, staged: PriceTag | None) -> PriceTag:
    """`found` with its money less what the edits that are `staged` cost then anyway."""
    already = {one.name: one for one in staged.moments} if staged is not None else {}
    moments = (_more(one, already[one.name]) if one.name in already else one for one in found.moments)
    return replace(found, moments=tuple(moments))


def _more(moment: ApplyMoment, already: ApplyMoment) -> ApplyMoment:
    once = None if moment.once is None or already.once is None else moment.once - already.once
    per_call = None if moment.per_call is None or already.per_call is None else moment.per_call - already.per_call
    return replace(moment, once=once, per_call=per_call, pays_back=pays_back(once, per_call))


PATIENCE: Final = 20.0
"""Seconds for which prices are waited for; without them the rest is told."""
_ENOUGH: Final = 20.0
"""Seconds of processor time for which advice is looked for at most."""


class Proposals:
    """Every policy, with its defaults or as `set`, on the context of `scene` under its edits, as `desk` has it;
    `coming` asks for the next request without staged edits (None: prices are not known). Made at once; `rows` and `row`
    are for a worker."""

    def __init__(self, desk: StagingArea, scene: Scene, coming: Callable[[], Next | None]) -> None:
        self._desk = desk
        self._study = desk.study
        self._model = scene.call.model
        self._staging = desk.staging(scene)
        self._before = desk.applied(scene)
        self._ask = coming
        self._coming = coming()
        self._overlay = desk.overlay(scene.thread or "main")
        self.rules = rules_for(self._staging.applied.context.dialect, desk.study.book.card(self._model))
        self._policies = tuple(every_policy().values())
        self._given: dict[str, dict[str, Json]] = {}
        self._worked: tuple[AdviceSearch, PriceTag | None] | None = None

    @property
    def empty(self) -> list[Proposed]:
        """Every policy, before anything is worked out."""
        return [self._known(policy) for policy in self._policies]

    def set(self, index: int, text: str) -> None:
        """Set a policy otherwise: ``key=value`` words, "" for its defaults. Raises `BadConfig`."""
        policy = self._policies[index]
        self._given[policy.name] = parse_settings(policy, text)

    def rows(self) -> Iterator[Proposed]:
        """What each would do, in the same order."""
        for index in range(len(self._policies)):
            yield self.row(index)

    def row(self, index: int) -> Proposed:
        """What one would do, set as it is now."""
        policy = self._policies[index]
        row = self._known(policy)
        worked = self.begun()
        try:
            return self._tried(policy, row, *worked)
        except CtxtuiError as error:
            return replace(row, why=error.message)

    def _await(self) -> None:
        """Wait for the next request, which another worker works out: it tells what is cached, and what quotes what."""
        until = time.monotonic() + PATIENCE
        while self._coming is None and time.monotonic() < until:
            # Looked at first: what is ready by then is there when it is asked for.
            waits = self._desk.foretelling
            self._coming = self._ask()
            if not waits and not self._desk.foretelling:
                return
            time.sleep(0.02)

    def _situation(self) -> PolicyContext:
        staging, coming = self._staging, self._coming
        return replace(
            situation_of(staging, staging.applied, coming, self._count),
            log=tuple(self._overlay.log),
            usable=staging.scene.limits.usable,
            rules=self.rules,
            literals=self._desk.literals,
            cold=coming is not None and not coming.asked.read,
        )

    def _count(self, block: Block) -> int:
        return round(weigh(self._study.count_now(self._model, block), self._study.book.weights(self._model)))

    def _tried(self, policy: Policy, row: Proposed, search: AdviceSearch, tag: PriceTag | None) -> Proposed:
        situation = search.situation
        made = run(Step(policy, dict(self._given.get(policy.name, {}))), situation)
        own = tuple(edit.id for edit in self._overlay.in_force if edit.author == policy.name)
        row = replace(row, freed=0, stands=own)
        if not made:
            return row
        context = situation.context
        after = apply(context, (*situation.log, *made), self.rules)
        if after.refused:
            return replace(row, why=after.refused)
        usable, size = situation.usable, self._counted(after).whole
        row = replace(
            row,
            edits=tuple(made),
            freed=self._counted(self._staging.applied).whole - size,
            share=size / usable if usable else None,
            risk=risk_of(context, made),
        )
        found = search.priced(after)
        return row if found is None else _at_best(row, found, tag)

    def _counted(self, applied: Applied) -> RequestCount:
        """What the request under `applied` comes to."""
        return count_under(self._terms, applied, partial(self._study.count_now, self._model))

    @cached_property
    def _terms(self) -> CountingTerms:
        return counting_terms(self._study.book, self._staging.scene.call, self._staging.applied.context)

    def _known(self, policy: Policy) -> Proposed:
        values = {**policy.defaults, **self._given.get(policy.name, {})}
        settings = tuple(Setting(name, _spelled(value), policy.notes.get(name, "")) for name, value in values.items())
        return Proposed(policy.name, policy.about, settings)

    def advice(self, horizon: int, stopped: Callable[[], bool] = lambda: False) -> list[Advice]:
        """What would help besides what stands already, what saves most over `horizon` calls first; for a worker, which
        says when it is `stopped`. After `_ENOUGH` seconds of its processor time it is what was found by then."""
        found, staged = self.begun()
        policies = [policy for policy in self._policies if policy.name != budget.NAME]
        until = time.thread_time() + _ENOUGH
        return found.advice(policies, horizon, staged, stopped, lambda: time.thread_time() > until)

    def begun(self) -> tuple[AdviceSearch, PriceTag | None]:
        """What prices are worked out with, and what is staged already costs; worked out at the first time."""
        if self._worked is None:
            self._await()
            coming, prices = self._coming, None
            if coming is not None:
                measure = partial(self._study.count_now, self._model)
                prices = EditPrices(self._before, coming.asked, coming.weigh, measure, self._terms)
            found = AdviceSearch(situation=self._situation(), prices=prices)
            tag = found.priced(self._staging.applied) if self._overlay.staged else None
            self._worked = found, tag
        return self._worked

    def artifacts(self, edits: tuple[Edit, ...]) -> dict[str, str]:
        """The content that `edits` take out, by name."""
        return externalized_content(self._staging.applied.context, edits)


def _spelled(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _at_best(row: Proposed, found: PriceTag, staged: PriceTag | None) -> Proposed:
    """`row` with the price at the cheapest moment, less what the edits that are staged cost then anyway."""
    if not found.moments:
        return row
    moment = without(found, staged).moments[found.cheapest]
    return replace(row, moment=moment.name, once=moment.once, per_call=moment.per_call, pays_back=moment.pays_back)
