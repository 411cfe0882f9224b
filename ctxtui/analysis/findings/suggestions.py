"""Suggestions: what findings and policies propose for a context, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ctxtui.analysis.findings.priced import PricedFinding
from ctxtui.core.edit import Edit, Target
from ctxtui.curation.context import Context
from ctxtui.curation.policies.risk import Risk, loses_text
from ctxtui.curation.price.advice import Advice
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag


class Suggestion(Struct, frozen=True, kw_only=True, dict=True):
    """One thing to do, as a finding or as the `advice` of policies; the other one is None. `is_safe`: no text goes that
    the model may need again. `staged` are the tokens that staged edits free already, which the advice's price has in
    it."""

    finding: PricedFinding | None = None
    advice: Advice | None = None
    is_safe: bool = True
    staged: int = 0

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What is staged; nothing where it is to be done elsewhere."""
        return self.finding.stages if self.finding is not None else self.advice.edits if self.advice is not None else ()

    @property
    def tag(self) -> PriceTag | None:
        """The price of its edits; None where they save over many calls only, or there are none."""
        one = self.finding or self.advice
        return one.tag if one is not None else None

    @property
    def moment(self) -> ApplyMoment | None:
        """When applying it costs least; None where no price is known."""
        one = self.finding or self.advice
        return one.moment if one is not None else None

    @property
    def freed(self) -> int:
        """Tokens that every later call has less."""
        return self.tag.freed - self.staged if self.tag is not None else 0

    @property
    def once(self) -> float | None:
        """USD more (negative: less) in the first call under it; None where that is not known."""
        return self.moment.once if self.moment is not None else None

    @property
    def per_call(self) -> float | None:
        """The same for each call after that."""
        if self.moment is not None:
            return self.moment.per_call
        ahead = self.finding.finding.ahead if self.finding is not None else None
        return -ahead if ahead is not None else None

    @property
    def risk(self) -> Risk | None:
        """What the model can no longer read; None where the context stays as it is."""
        one = self.finding or self.advice
        return one.risk if one is not None else None

    @property
    def worth(self) -> float:
        """What it is ranked by: USD saved over the horizon, or tokens where no price is known."""
        one = self.finding or self.advice
        saves = one.saves if one is not None else None
        return saves if saves is not None else float(self.freed)


def suggestions(
    context: Context, findings: Iterable[PricedFinding], advice: Iterable[Advice], staged: int = 0
) -> list[Suggestion]:
    """What there is to do, the safe ones first, then what saves most. A policy by itself is left out where a finding
    proposes the same one, as is what frees nothing besides what is `staged` (tokens)."""
    found = [*findings]
    known = {(one.finding.policy,) for one in found}
    every = [
        *(Suggestion(finding=one, is_safe=not loses_text(context, one.stages)) for one in found),
        *(
            Suggestion(advice=one, is_safe=not loses_text(context, one.edits), staged=staged)
            for one in advice
            if one.names not in known and one.tag.freed > staged
        ),
    ]
    return sorted(every, key=lambda one: (not one.is_safe, -one.worth))


def separate(every: Iterable[Sequence[Edit]]) -> list[Edit]:
    """The edits of `every`, of each block only the first ones that change it."""
    chosen: list[Edit] = []
    taken: set[Target] = set()
    for edits in every:
        free = [edit for edit in edits if taken.isdisjoint(edit.targets)]
        chosen += free
        taken.update(target for edit in free for target in edit.targets)
    return chosen
