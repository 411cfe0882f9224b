"""Findings with risk and saving of their fix, in ranked order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.findings.finding import Finding, NoFinding
from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.core.block import HEADER
from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.price.advice import best_moment, savings_over
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag

MIN_SAVING_SHARE: Final = 0.01
"""A finding that saves less, as a share of the best one's saving, is left out."""


class PricedFinding(Struct, frozen=True, kw_only=True, dict=True):
    """A `finding` with risk and saving of its fix.

    - `tag`, `risk`: price and risk of its edits; None: no edit fixes it.
    - `rest`: their effect on the recorded calls that followed; None: unknown, or there were none.
    - `marks`: breakpoints that fix it in the next request. `horizon`: number of next calls that `saves` covers.
    - `proved`: its effect up to the call shown, had it been applied from the first call on; None: unknown.
    - `blocks`, `longer`, `along`: as in `StagedBlocks`.
    """

    finding: Finding
    horizon: int
    tag: PriceTag | None = None
    risk: Risk | None = None
    loses_text: bool = False
    """Whether text is lost that the model may need again."""
    rest: EditedCalls | None = None
    marks: tuple[Edit, ...] = ()
    proved: EditedCalls | None = None
    blocks: int = 0
    longer: int = 0
    along: int = 0

    @property
    def staged_edits(self) -> tuple[Edit, ...]:
        return self.finding.edits or self.marks

    @property
    def why_not(self) -> str:
        """Why nothing can be staged to fix it; "" if something can."""
        if self.staged_edits:
            return ""
        takes_none = "no breakpoint can be set: the provider does not accept them"
        return self.finding.by_hand or (takes_none if self.finding.cache else "no edit of the context fixes it")

    @property
    def moment(self) -> ApplyMoment | None:
        """Moment at which applying its edits costs least, the first one if no price is known.

        None without edits.
        """
        return best_moment(self.tag) if self.tag is not None else None

    @property
    def saves(self) -> float | None:
        """USD saved in the next `horizon` calls (None: unknown)."""
        if self.tag is not None:
            return savings_over(self.tag, self.horizon)
        return None if self.finding.usd_per_call is None else self.finding.usd_per_call * self.horizon

    @property
    def freed(self) -> int:
        """Tokens freed in every later call."""
        return self.tag.freed if self.tag is not None else 0


class StagedBlocks(NamedTuple):
    """Numbers of blocks that edits change.

    `blocks`: those that the edits name; `longer`: those of them that do not become smaller; `along`: others that
    repairs change with them.
    """

    blocks: int
    longer: int
    along: int


def staged_blocks(policy_context: PolicyContext, after: Applied, edits: Iterable[Edit]) -> StagedBlocks:
    """Count the blocks that `edits` change; `after` is the context with them applied."""
    context = policy_context.context
    every = dict.fromkeys(target for edit in edits for target in edit.targets)
    positions = [position for target in every if (position := context.find(target)) is not None]
    blocks = [position for position in positions if context.items[position].block.kind != HEADER]
    longer = 0
    for position in blocks:
        change = after.changes.get(position)
        # Without a change, the replacement is already in place.
        if change is None or (
            change.after is not None and policy_context.count(change.after) >= policy_context.size(position)
        ):
            longer += 1
    return StagedBlocks(len(blocks), longer, after.repair_count - policy_context.applied.repair_count)


def rank_findings(every: Sequence[PricedFinding]) -> tuple[list[PricedFinding], list[NoFinding]]:
    """Sort findings: warnings first, then by risk, saving, freed tokens. Also returns those that save too little."""
    least = MIN_SAVING_SHARE * max((finding.saves or 0.0 for finding in every), default=0.0)
    ranked, silent = [], []
    for finding in every:
        saves = finding.saves
        if finding.finding.warning:
            ranked.append(finding)
        elif saves is None and finding.freed <= 0:
            why = "it frees nothing" if finding.finding.edits else "the savings of this fix are not known"
            silent.append(NoFinding(finding.finding.kind, why))
        elif saves is not None and saves <= 0:
            silent.append(NoFinding(finding.finding.kind, "it would cost more than it saves"))
        elif saves is not None and saves < least:
            silent.append(NoFinding(finding.finding.kind, "too small to matter"))
        else:
            ranked.append(finding)
    return sorted(
        ranked,
        key=lambda finding: (
            not finding.finding.warning,
            finding.risk or 0,
            -(finding.saves or 0.0),
            -finding.freed,
            finding.finding.kind,
        ),
    ), silent


class Findings(Struct, frozen=True, kw_only=True):
    """All findings in `thread` up to call `number` (of `calls`), as `rank_findings` orders them.

    - `together`: the price of all `edits` at once; None: there are none.
    - `lacks`: findings that are unknown or not proposed, with reasons.
    - `horizon`: number of next calls that savings are computed over.
    """

    thread: str
    number: int
    calls: int
    horizon: int
    priced: tuple[PricedFinding, ...] = ()
    together: PriceTag | None = None
    lacks: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    """Kinds of findings that were searched for and not found."""

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits of all findings but warnings, each once, without breakpoints."""
        return tuple(
            {
                edit.id: edit for priced in self.priced if not priced.finding.warning for edit in priced.finding.edits
            }.values()
        )

    @property
    def saves(self) -> float | None:
        """USD that all edits together save over the horizon; None if unknown."""
        return savings_over(self.together, self.horizon) if self.together is not None else None
