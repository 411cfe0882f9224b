"""Findings with what their cure risks and saves, ranked by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.findings.finding import Finding, Silent
from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.core.block import HEADER
from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.advice import best_moment, savings_over
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag

LEAST: Final = 0.01
"""The share of what the best saves from which on something is told."""


class PricedFinding(Struct, frozen=True, kw_only=True, dict=True):
    """A `finding` with the price `tag` of its edits (None: no edit cures it), what these risk, and what they would
    have saved in the recorded calls that followed (`rest`; None: none did). `marks` are the breakpoints that cure it
    in the next request. `proved` is what it would have saved, had it stood from the first call on, up to the one shown
    (None: not known): markers as the lab finds. Its edits are about so many `blocks`, of which `longer` are no longer
    than what stands for them then, and `along` more must go with them."""

    finding: Finding
    horizon: int
    tag: PriceTag | None = None
    risk: Risk | None = None
    loses_text: bool = False
    """Whether words go that the model may need again."""
    rest: EditedCalls | None = None
    marks: tuple[Edit, ...] = ()
    proved: EditedCalls | None = None
    blocks: int = 0
    longer: int = 0
    along: int = 0

    @property
    def stages(self) -> tuple[Edit, ...]:
        """What is staged to cure it."""
        return self.finding.edits or self.marks

    @property
    def why_not(self) -> str:
        """Why nothing can be staged ("": something can)."""
        if self.stages:
            return ""
        takes_none = "the next request has no place for breakpoints: its provider takes none"
        return self.finding.by_hand or (takes_none if self.finding.cache else "no edit of the context cures it")

    @property
    def moment(self) -> ApplyMoment | None:
        """When applying its edits costs least."""
        return best_moment(self.tag) if self.tag is not None else None

    @property
    def saves(self) -> float | None:
        """USD that the next `horizon` calls cost less (None: not known)."""
        if self.tag is not None:
            return savings_over(self.tag, self.horizon)
        return None if self.finding.ahead is None else self.finding.ahead * self.horizon

    @property
    def freed(self) -> int:
        """Tokens that every later call has less."""
        return self.tag.freed if self.tag is not None else 0


class StagedBlocks(NamedTuple):
    """What edits change: how many `blocks` they are about, how many of these are no smaller then (`longer`), and how
    many more must go `along`."""

    blocks: int
    longer: int
    along: int


def staged_blocks(here: PolicyContext, after: Applied, edits: Iterable[Edit]) -> StagedBlocks:
    """What `edits` change of the context `here`; `after` is that under them."""
    context = here.context
    every = dict.fromkeys(target for edit in edits for target in edit.targets)
    there = [at for target in every if (at := context.find(target)) is not None]
    blocks = [at for at in there if context.items[at].block.kind != HEADER]
    longer = 0
    for at in blocks:
        change = after.changes.get(at)
        # Where nothing changes, what would stand for it stands there already.
        if change is None or (change.after is not None and here.count(change.after) >= here.size(at)):
            longer += 1
    return StagedBlocks(len(blocks), longer, after.repair_count - here.applied.repair_count)


def ranked(every: Sequence[PricedFinding]) -> tuple[list[PricedFinding], list[Silent]]:
    """What risks least first, then what saves most, tokens where no price is known; and what is
    left out because it saves nothing, or next to nothing."""
    least = LEAST * max((one.saves or 0.0 for one in every), default=0.0)
    kept, silent = [], []
    for one in every:
        saves = one.saves
        if saves is None and one.freed <= 0:
            why = "it frees nothing" if one.finding.edits else "what its cure saves is not known"
            silent.append(Silent(one.finding.kind, why))
        elif saves is not None and saves <= 0:
            silent.append(Silent(one.finding.kind, "it would cost more than it saves"))
        elif saves is not None and saves < least:
            silent.append(Silent(one.finding.kind, "too small to matter"))
        else:
            kept.append(one)
    return sorted(kept, key=lambda one: (one.risk or 0, -(one.saves or 0.0), -one.freed, one.finding.kind)), silent


class Findings(Struct, frozen=True, kw_only=True):
    """What was found in `thread` up to call `number`, of `calls` in all, what risks least first. `together` is the
    price of all their edits at once (None: there are none); savings overlap, so it is less than their sum. `lacks` says
    what could not be told or is not proposed, and why."""

    thread: str
    number: int
    calls: int
    horizon: int
    found: tuple[PricedFinding, ...] = ()
    together: PriceTag | None = None
    lacks: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    """Kinds of findings that were looked for and are not the case."""

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits of the context, those that save most first; the same edit once. Breakpoints are staged each by
        themselves: what they save is in no price tag of one request."""
        return tuple({edit.id: edit for one in self.found for edit in one.finding.edits}.values())

    @property
    def saves(self) -> float | None:
        """USD that all edits together save over the horizon."""
        return savings_over(self.together, self.horizon) if self.together is not None else None
