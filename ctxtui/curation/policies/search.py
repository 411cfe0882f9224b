"""The search for what helps a context: every policy at its defaults, and every two of them one after the other.

Each policy is tried once. What two would do together is first worked out from what each does alone, block by block;
then the most promising are tried in earnest, for as long as the work that is allowed lasts: of a context of a few
hundred blocks all that could be best. Work is counted in blocks, not in time, so that the same context always gives the
same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.block import Block
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.policy import Policy, Step, iter_proposals, propose_once, run_all
from ctxtui.curation.policies.risk import Risk, risk_of, risk_of_one
from ctxtui.curation.policies.safe_edits import removes_most, without_quoted
from ctxtui.curation.policies.situation import PolicyContext

WORK: Final = 60_000
"""Blocks that are gone through to try pairs of policies: with each policy alone two seconds on 10,000 blocks."""
CHANGED: Final = 3
"""A block that is changed counts for so many that are only looked at."""


class Remedy(Struct, frozen=True, kw_only=True, dict=True):
    """What one policy or two in this order would do: their `edits`, tokens `freed`, and at what `risk`. `saved` are the
    tokens that each changed position has less, `put_in` those that come instead; `applied` is what the edits make of
    the context (None: not kept)."""

    steps: tuple[Step, ...]
    edits: tuple[Edit, ...]
    freed: int
    risk: Risk
    saved: Mapping[int, int]
    put_in: int
    applied: Applied | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The policies, in their order."""
        return tuple(step.policy.name for step in self.steps)


def search(situation: PolicyContext, policies: Iterable[Policy], work: int = WORK) -> Iterator[Remedy]:
    """Every policy that frees anything, then pairs of them, those of the least risk first, as long as `work` lasts. An
    iterator: who stops asking stops the search."""
    here = counting_once(situation)
    try:
        yield from _found(here, policies, work)
    finally:
        # Each further situation knows this one, and is in its memory.
        here.forget()


def _found(here: PolicyContext, policies: Iterable[Policy], work: int) -> Iterator[Remedy]:
    alone: list[Remedy] = []
    best: dict[Risk, int] = {}
    wished = filter(None, (wish_of(here, policy) for policy in policies))
    for one in filter(None, (alone_by(here, wish) for wish in wished)):
        best[one.risk] = max(best.get(one.risk, 0), one.freed)
        alone.append(one)
        yield one
    promising = sorted(
        ((_together(first, second), first, second) for first, second in permutations(alone, 2)),
        key=lambda pair: -pair[0],
    )
    left = work
    for promised, first, second in _by_risk(promising):
        risk = max(first.risk, second.risk)
        if promised <= max(best[level] for level in best if level <= risk):
            continue
        left -= len(here.context) + CHANGED * (len(first.saved) + len(second.saved))
        if left < 0:
            return
        found = _pair(here, first, second)
        if found is not None:
            best[found.risk] = max(best.get(found.risk, 0), found.freed)
            yield found


def complete(situation: PolicyContext, found: Remedy) -> Remedy:
    """`found` as the command line makes it: each policy is asked until it has nothing to add, then the next."""
    alone = len(found.steps) == 1
    begun = found.edits if alone else ()
    more = run_all(found.steps, situation.under(begun))
    whole = _remedy(counting_once(situation), found.steps, [*begun, *more]) if more else None
    return whole or found


def safe(situation: PolicyContext, found: Remedy) -> Remedy | None:
    """`found` without the edits that take away what is quoted later; None where nothing is left that frees anything, or
    most of the conversation would go."""
    edits = without_quoted(situation, found.edits)
    kept = found if len(edits) == len(found.edits) else _remedy(situation, found.steps, edits)
    if kept is None or kept.freed <= 0:
        return None
    after = kept.applied or situation.under(kept.edits).applied
    return None if removes_most(situation.applied, after) else kept


class CountedOnce:
    """Tokens of new blocks, each counted once however often it is made."""

    def __init__(self, count: Callable[[Block], int]) -> None:
        self._count = count
        self._known: dict[str, int] = {}

    def __call__(self, block: Block) -> int:
        found = self._known.get(block.digest)
        if found is None:
            found = self._known[block.digest] = self._count(block)
        return found


def counting_once(situation: PolicyContext) -> PolicyContext:
    """The same, for one in which much is tried."""
    if isinstance(situation.count, CountedOnce):
        return situation
    count, known, earlier = CountedOnce(situation.count), situation.applied, situation.so_far()
    return replace(situation, count=count, known=known, earlier=earlier, parent=None)


class ProposedStep(NamedTuple):
    """What a policy proposes, before it is known what that would do."""

    step: Step
    edits: tuple[Edit, ...]
    risk: Risk


def wish_of(situation: PolicyContext, policy: Policy) -> ProposedStep | None:
    """What `policy` proposes at its defaults; None where that is nothing."""
    return Asking(situation, policy).wish()


class Asking:
    """A policy that is asked for its wish edit by edit, and no further than until one of them will not do."""

    def __init__(self, situation: PolicyContext, policy: Policy) -> None:
        self._step = Step(policy)
        self._context = situation.context
        self._coming = iter_proposals(self._step, situation)
        self._heard: list[tuple[Edit, Risk]] = []
        self._failed = False

    def wish(self, unfit: Callable[[Edit, Risk], bool] = lambda edit, risk: False) -> ProposedStep | None:
        """What the policy proposes at its defaults; None where that is nothing, or an edit of it is `unfit`."""
        if self._failed or any(unfit(*one) for one in self._heard):
            return None
        try:
            for edit in self._coming:
                self._heard.append((edit, risk_of_one(self._context, edit)))
                if unfit(*self._heard[-1]):
                    return None
        except CtxtuiError:
            # A third party's policy that fails helps nobody here; the list of policies says why.
            self._failed = True
            return None
        if not self._heard:
            return None
        return ProposedStep(self._step, tuple(edit for edit, _ in self._heard), max(risk for _, risk in self._heard))


def alone_by(situation: PolicyContext, wish: ProposedStep) -> Remedy | None:
    """What a policy by itself would do; None where it frees nothing."""
    try:
        found = _remedy(situation, (wish.step,), wish.edits)
    except CtxtuiError:
        return None
    return found if found is not None and found.freed > 0 else None


def _remedy(situation: PolicyContext, steps: tuple[Step, ...], edits: Sequence[Edit]) -> Remedy | None:
    """What `edits` do; None where there are none, or they cannot be applied."""
    if not edits:
        return None
    after = situation.under(edits)
    if after.applied.refused:
        return None
    saved = {}
    for position in after.changed:
        less = situation.size(position) - after.size(position)
        if less:
            saved[position] = less
    put_in = _new(after) - _new(situation)
    risk = risk_of(situation.context, edits)
    return Remedy(
        steps=steps,
        edits=tuple(edits),
        freed=sum(saved.values()) - put_in,
        risk=risk,
        saved=saved,
        put_in=put_in,
        applied=after.applied,
    )


def _new(situation: PolicyContext) -> int:
    return sum(situation.count(item.block) for one in situation.applied.inserts for item in one.items)


def _together(first: Remedy, second: Remedy) -> int:
    """What two would free one after the other: the second leaves alone what the first changed, unless it puts something
    in the place of a run: then it takes what the first left of it."""
    both = second.saved.keys() & first.saved.keys()
    more = second.freed - sum(second.saved[position] for position in both)
    if both and second.put_in:
        # Of a summary of less, less is said.
        whole = second.freed + second.put_in
        overlap = sum(min(first.saved[position], second.saved[position]) for position in both)
        more = round((whole - overlap) * (second.freed / whole)) if whole > 0 else 0
    return first.freed + max(0, more)


def _by_risk(
    promising: Sequence[tuple[int, Remedy, Remedy]],
) -> Iterator[tuple[int, Remedy, Remedy]]:
    """The pairs in turns: the most promising of each risk, the least risk first."""
    levels = [[pair for pair in promising if max(pair[1].risk, pair[2].risk) == risk] for risk in Risk]
    for turn in range(max(map(len, levels), default=0)):
        for level in levels:
            if turn < len(level):
                yield level[turn]


def _pair(situation: PolicyContext, first: Remedy, second: Remedy) -> Remedy | None:
    try:
        more = propose_once(second.steps[0], situation.under(first.edits))
    except CtxtuiError:
        return None
    if not more:
        return None
    return _remedy(situation, (*first.steps, *second.steps), (*first.edits, *more))
