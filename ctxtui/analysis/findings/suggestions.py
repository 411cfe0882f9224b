"""Suggestions: what findings and policies propose for a context, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ctxtui.analysis.findings.priced import PricedFinding
from ctxtui.core.edit import Edit, Target
from ctxtui.curation.context import Context
from ctxtui.curation.policies.risk import Risk, drops_only_tools
from ctxtui.curation.price.advice import Advice


class Suggestion(Struct, frozen=True, kw_only=True, dict=True):
    """One thing to do: a finding with its cure, or the advice of policies. `is_safe`: no text goes that the model may
    need again. `staged` are the tokens that staged edits free already, which the price of advice has in it."""

    what: PricedFinding | Advice
    is_safe: bool = True
    staged: int = 0

    @property
    def finding(self) -> PricedFinding | None:
        """The finding, if it is one."""
        return self.what if isinstance(self.what, PricedFinding) else None

    @property
    def advice(self) -> Advice | None:
        """The advice of policies, if it is that."""
        return self.what if isinstance(self.what, Advice) else None

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What is staged; nothing where it is to be done elsewhere."""
        return self.what.stages if isinstance(self.what, PricedFinding) else self.what.edits

    @property
    def freed(self) -> int:
        """Tokens that every later call has less."""
        return self.what.tag.freed - self.staged if self.what.tag is not None else 0

    @property
    def once(self) -> float | None:
        """USD more (negative: less) in the first call under it; None where that is not known."""
        return self.what.moment.once if self.what.moment is not None else None

    @property
    def per_call(self) -> float | None:
        """The same for each call after that."""
        if self.what.moment is not None:
            return self.what.moment.per_call
        ahead = self.what.finding.ahead if isinstance(self.what, PricedFinding) else None
        return -ahead if ahead is not None else None

    @property
    def worth(self) -> float:
        """What it is ranked by: USD saved over the horizon, or tokens where no price is known."""
        return self.what.saves if self.what.saves is not None else float(self.freed)


def suggestions(
    context: Context, findings: Iterable[PricedFinding], advice: Iterable[Advice], staged: int = 0
) -> list[Suggestion]:
    """What there is to do, the safe ones first, then what saves most. A policy by itself is left out where a finding
    proposes the same one, as is what frees nothing besides what is `staged` (tokens)."""
    found = [*findings]
    known = {(one.finding.policy,) for one in found}
    more = (one for one in advice if one.names not in known and one.tag.freed > staged)
    every = [
        *(Suggestion(what=one, is_safe=not one.loses_text) for one in found),
        *(
            Suggestion(
                what=one, is_safe=one.risk <= Risk.OUTSIDE or drops_only_tools(context, one.edits), staged=staged
            )
            for one in more
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
