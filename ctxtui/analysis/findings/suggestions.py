"""Suggestions for a context: findings and the advice of policies, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ctxtui.analysis.findings.priced import PricedFinding
from ctxtui.core.edit import Edit, Target
from ctxtui.curation.context import Context
from ctxtui.curation.policies.risk import Risk, drops_only_tools
from ctxtui.curation.price.advice import Advice


class Suggestion(Struct, frozen=True, kw_only=True, dict=True):
    """One suggestion: a finding with its fix, or the advice of policies.

    `is_safe`: no text is lost that the model may need again. `staged` are the tokens that staged edits free already;
    the price of advice includes them.
    """

    what: PricedFinding | Advice
    is_safe: bool = True
    staged: int = 0

    @property
    def finding(self) -> PricedFinding | None:
        return self.what if isinstance(self.what, PricedFinding) else None

    @property
    def advice(self) -> Advice | None:
        return self.what if isinstance(self.what, Advice) else None

    @property
    def is_warning(self) -> bool:
        return self.finding is not None and self.finding.finding.warning

    @property
    def edits(self) -> tuple[Edit, ...]:
        return self.what.staged_edits if isinstance(self.what, PricedFinding) else self.what.edits

    @property
    def freed(self) -> int:
        return self.what.tag.freed - self.staged if self.what.tag is not None else 0

    @property
    def once(self) -> float | None:
        """Extra USD (negative: saving) of the first call under it; None if unknown."""
        return self.what.moment.once if self.what.moment is not None else None

    @property
    def per_call(self) -> float | None:
        """The same for each later call."""
        if self.what.moment is not None:
            return self.what.moment.per_call
        saving = self.what.finding.usd_per_call if isinstance(self.what, PricedFinding) else None
        return -saving if saving is not None else None

    @property
    def worth(self) -> float:
        """Key for ranking: USD saved over the horizon, or tokens if no price is known."""
        return self.what.saves if self.what.saves is not None else float(self.freed)


def list_suggestions(
    context: Context, findings: Iterable[PricedFinding], advice: Iterable[Advice], staged: int = 0
) -> list[Suggestion]:
    """List suggestions: warnings, the safe ones, the others, each by saving.

    Left out are policies that a finding already proposes, and advice that frees nothing beyond the `staged` tokens.
    """
    priced = [*findings]
    policies = {(finding.finding.policy,) for finding in priced}
    suggestions = [Suggestion(what=finding, is_safe=not finding.loses_text) for finding in priced]
    for option in advice:
        if option.names not in policies and option.tag.freed > staged:
            is_safe = option.risk <= Risk.OUTSIDE or drops_only_tools(context, option.edits)
            suggestions.append(Suggestion(what=option, is_safe=is_safe, staged=staged))
    return sorted(
        suggestions,
        key=lambda suggestion: (
            not suggestion.is_warning,
            not suggestion.is_safe,
            0.0 if suggestion.is_warning else -suggestion.worth,
        ),
    )


def combine_edits(every: Iterable[Sequence[Edit]]) -> list[Edit]:
    """Combine the edits of `every`; for each block only the first ones that change it."""
    chosen: list[Edit] = []
    targets: set[Target] = set()
    for edits in every:
        free = [edit for edit in edits if targets.isdisjoint(edit.targets)]
        chosen += free
        targets.update(target for edit in free for target in edit.targets)
    return chosen
