"""Searches for edits that free tokens: those of each policy at its defaults, and of pairs.

Advice and the policy ``budget`` call `search`. The effect of a pair is estimated from the single effects by block,
and the most promising pairs are run until the work limit is used up. Work is counted in blocks, not in time, so that
the same context always gives the same result.
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
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.risk import Risk, risk_of, risk_of_one
from ctxtui.curation.policies.safe_edits import removes_most, without_quoted

MAX_WORK_BLOCKS: Final = 60_000
"""Work limit in blocks for pairs of policies: with the single policies, two seconds on 10,000 blocks."""
CHANGED_BLOCK_WORK: Final = 3
"""Work of a changed block, in unchanged blocks."""


class Remedy(Struct, frozen=True, kw_only=True, dict=True):
    """The effect of one policy, or of two in this order.

    - `edits`: its edits, with the greatest `risk` of them.
    - `freed`: tokens that they free.
    - `saved`: tokens saved at each changed position.
    - `inserted`: tokens of inserted blocks.
    - `applied`: the context under them; None: not kept.
    """

    steps: tuple[Step, ...]
    edits: tuple[Edit, ...]
    freed: int
    risk: Risk
    saved: Mapping[int, int]
    inserted: int
    applied: Applied | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(step.policy.name for step in self.steps)


def search(policy_context: PolicyContext, policies: Iterable[Policy], work: int = MAX_WORK_BLOCKS) -> Iterator[Remedy]:
    """Yield every policy that frees anything, then pairs as long as `work` lasts.

    Pairs are taken in turns: the most promising one of each risk, then the second of each.
    """
    cached_context = with_count_cache(policy_context)
    try:
        yield from _search(cached_context, policies, work)
    finally:
        cached_context.forget()


def _search(cached_context: PolicyContext, policies: Iterable[Policy], work: int) -> Iterator[Remedy]:
    single_remedies: list[Remedy] = []
    best: dict[Risk, int] = {}
    proposals = filter(None, (LazyProposal(cached_context, policy).get() for policy in policies))
    for remedy in filter(None, (single_remedy(cached_context, proposal) for proposal in proposals)):
        best[remedy.risk] = max(best.get(remedy.risk, 0), remedy.freed)
        single_remedies.append(remedy)
        yield remedy
    promising = sorted(
        ((_estimate_pair(first, second), first, second) for first, second in permutations(single_remedies, 2)),
        key=lambda pair: -pair[0],
    )
    remaining_work = work
    for estimate, first, second in _in_turns_by_risk(promising):
        risk = max(first.risk, second.risk)
        if estimate <= max(best[level] for level in best if level <= risk):
            continue
        remaining_work -= len(cached_context.context) + CHANGED_BLOCK_WORK * (len(first.saved) + len(second.saved))
        if remaining_work < 0:
            return
        pair_remedy = _run_pair(cached_context, first, second)
        if pair_remedy is not None:
            best[pair_remedy.risk] = max(best.get(pair_remedy.risk, 0), pair_remedy.freed)
            yield pair_remedy


def complete(policy_context: PolicyContext, remedy: Remedy) -> Remedy:
    """Run each policy of `remedy` until it adds nothing, as the command line does."""
    begun = remedy.edits if len(remedy.steps) == 1 else ()
    more = run_all(remedy.steps, policy_context.under(begun))
    full_remedy = _make_remedy(with_count_cache(policy_context), remedy.steps, [*begun, *more]) if more else None
    return full_remedy or remedy


def make_safe(policy_context: PolicyContext, remedy: Remedy) -> Remedy | None:
    """Remove edits that remove text quoted later.

    None if the rest frees nothing, or would remove most of the conversation.
    """
    edits = without_quoted(policy_context, remedy.edits)
    safe_remedy = remedy if len(edits) == len(remedy.edits) else _make_remedy(policy_context, remedy.steps, edits)
    if safe_remedy is None or safe_remedy.freed <= 0:
        return None
    after = safe_remedy.applied or policy_context.under(safe_remedy.edits).applied
    return None if removes_most(policy_context.applied, after) else safe_remedy


class CountCache:
    """The function `count`, called only once for equal blocks."""

    def __init__(self, count: Callable[[Block], int]) -> None:
        self._count = count
        self._known: dict[str, int] = {}

    def __call__(self, block: Block) -> int:
        tokens = self._known.get(block.digest)
        if tokens is None:
            tokens = self._known[block.digest] = self._count(block)
        return tokens


def with_count_cache(policy_context: PolicyContext) -> PolicyContext:
    """A copy with a token cache, for trying many edits."""
    if isinstance(policy_context.count, CountCache):
        return policy_context
    count, applied, earlier = CountCache(policy_context.count), policy_context.applied, policy_context.computed_so_far()
    return replace(policy_context, count=count, computed=applied, earlier=earlier, parent=None)


class ProposedStep(NamedTuple):
    """A policy's proposal, before its effect is known."""

    step: Step
    edits: tuple[Edit, ...]
    risk: Risk


class LazyProposal:
    """Runs a policy edit by edit, only until one of the edits is unfit."""

    def __init__(self, policy_context: PolicyContext, policy: Policy) -> None:
        self._step = Step(policy)
        self._context = policy_context.context
        self._remaining = iter_proposals(self._step, policy_context)
        self._received: list[tuple[Edit, Risk]] = []
        self._failed = False

    def get(self, unfit: Callable[[Edit, Risk], bool] = lambda edit, risk: False) -> ProposedStep | None:
        """The proposal at the policy's defaults; None if it is empty or an edit of it is `unfit`."""
        if self._failed or any(unfit(*news) for news in self._received):
            return None
        try:
            for edit in self._remaining:
                self._received.append((edit, risk_of_one(self._context, edit)))
                if unfit(*self._received[-1]):
                    return None
        except CtxtuiError:
            # A failing third-party policy is skipped; the list of policies shows the error.
            self._failed = True
            return None
        if not self._received:
            return None
        edits, risks = zip(*self._received, strict=True)
        return ProposedStep(self._step, edits, max(risks))


def single_remedy(policy_context: PolicyContext, proposal: ProposedStep) -> Remedy | None:
    """The effect of a policy alone; None if it frees nothing."""
    try:
        remedy = _make_remedy(policy_context, (proposal.step,), proposal.edits)
    except CtxtuiError:
        return None
    return remedy if remedy is not None and remedy.freed > 0 else None


def _make_remedy(policy_context: PolicyContext, steps: tuple[Step, ...], edits: Sequence[Edit]) -> Remedy | None:
    if not edits:
        return None
    after = policy_context.under(edits)
    if after.applied.refused:
        return None
    saved = {}
    for position in after.changed:
        saved_tokens = policy_context.size(position) - after.size(position)
        if saved_tokens:
            saved[position] = saved_tokens
    inserted = _inserted_tokens(after) - _inserted_tokens(policy_context)
    risk = risk_of(policy_context.context, edits)
    return Remedy(
        steps=steps,
        edits=tuple(edits),
        freed=sum(saved.values()) - inserted,
        risk=risk,
        saved=saved,
        inserted=inserted,
        applied=after.applied,
    )


def _inserted_tokens(policy_context: PolicyContext) -> int:
    return sum(policy_context.count(item.block) for insert in policy_context.applied.inserts for item in insert.items)


def _estimate_pair(first: Remedy, second: Remedy) -> int:
    """Estimate the tokens that two remedies free in sequence.

    The second leaves alone what the first changed, unless it replaces a run: then it replaces the rest of it.
    """
    both = second.saved.keys() & first.saved.keys()
    more = second.freed - sum(second.saved[position] for position in both)
    if both and second.inserted:
        # A summary of less text is shorter.
        removed_by_second = second.freed + second.inserted
        overlap = sum(min(first.saved[position], second.saved[position]) for position in both)
        more = round((removed_by_second - overlap) * (second.freed / removed_by_second)) if removed_by_second > 0 else 0
    return first.freed + max(0, more)


def _in_turns_by_risk(
    promising: Sequence[tuple[int, Remedy, Remedy]],
) -> Iterator[tuple[int, Remedy, Remedy]]:
    levels = [[pair for pair in promising if max(pair[1].risk, pair[2].risk) == risk] for risk in Risk]
    for turn in range(max(map(len, levels), default=0)):
        for level in levels:
            if turn < len(level):
                yield level[turn]


def _run_pair(policy_context: PolicyContext, first: Remedy, second: Remedy) -> Remedy | None:
    try:
        more = propose_once(second.steps[0], policy_context.under(first.edits))
    except CtxtuiError:
        return None
    if not more:
        return None
    return _make_remedy(policy_context, (*first.steps, *second.steps), (*first.edits, *more))
