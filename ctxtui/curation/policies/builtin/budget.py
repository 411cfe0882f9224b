"""The policy ``budget``: finds the smallest set of edits that reaches a target size.

It tries steps of its own, other policies at their defaults, and pairs of them. A *set* of edits is what one trial would
do; a *level* has the sets of one risk.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from ctxtui.core.edit import USER, Edit, make
from ctxtui.core.edit_kinds import (
    COMPACT_JSON,
    DEDUPLICATE,
    EXTERNALIZE,
    MINIMISE,
    REPLACE,
    STRIP,
    SUMMARIZE,
    TRUNCATE,
)
from ctxtui.curation.apply.rewrite import rewrite
from ctxtui.curation.policies.context_spans import cached_summary, count_text, format_range
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk, risk_of, risk_of_one
from ctxtui.curation.policies.search import (
    MAX_WORK_BLOCKS,
    LazyProposal,
    ProposedStep,
    Remedy,
    search,
    single_remedy,
    with_count_cache,
)
from ctxtui.curation.policies.tool_results import CLEARED
from ctxtui.curation.record_summary import length_for

NAME = "budget"

_APART: Final = frozenset({TRUNCATE, REPLACE, EXTERNALIZE, DEDUPLICATE, COMPACT_JSON, MINIMISE, SUMMARIZE})
"""Kinds of edits that work independently of other edits."""
_MAX_COMPARED_SETS: Final = 6


_IsUseless = Callable[[Edit, Risk], bool]
"""Whether to skip a set with this edit, of this risk."""


class _Choice(NamedTuple):
    """A possible edit, with what is needed to compare it.

    - `saves`: tokens that it frees.
    - `position`: the raw position from which the prefix changes.
    - `quoted`: number of literals that first occur in its block and that later blocks quote; of several blocks, the
      most.
    """

    edit: Edit
    saves: int
    position: int
    quoted: int
    risk: Risk = Risk.NOTHING


def make_policy(policies: Iterable[Policy]) -> Policy:
    """Make the policy ``budget``, which tries the edits of `policies`."""
    return Policy(
        NAME,
        "the smallest set of edits that reaches a size",
        partial(_propose, [policy for policy in policies if policy.name != NAME]),
        {"target": 0, "keep": 2, "cut": 1000},
        {
            "target": "tokens to reach (0: the usable window)",
            "keep": "newest rounds of which nothing is lost",
            "cut": "characters kept of a result that is cut",
        },
    )


def _propose(policies: Sequence[Policy], policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Find the edits that bring the context down to `target` tokens (0: the usable window).

    It compares some of the sufficient sets, and takes the one with the least risk; of several, the one that breaks the
    cached prefix latest (all are equal when the cache is cold). In the last `keep` rounds, only edits that lose nothing
    or externalize content are possible. If no set suffices, it frees as much as it can.
    """
    target = settings["target"] or policy_context.usable
    need = policy_context.total - target
    if not target or need <= 0:
        return
    cached_context = with_count_cache(policy_context)
    yield from _find_smallest(policies, cached_context, settings, target)
    cached_context.forget()


def _find_smallest(
    policies: Sequence[Policy], policy_context: PolicyContext, settings: Settings, target: int
) -> Iterator[Edit]:
    limit, reach = _change_limit(policy_context, settings["keep"]), _Reach(policy_context)
    ladder = [_stepwise_edits(policy_context, settings, target)]
    candidates = _candidates(policy_context, policies)
    older = _find_sufficient(policy_context, reach, [_EditSets(ladder), *candidates], limit, limit, target)
    if older is None or older[0] > Risk.OUTSIDE:
        everywhere = _find_sufficient(policy_context, reach, candidates, len(policy_context.context), limit, target)
        older = min(
            (candidate for candidate in (older, everywhere) if candidate is not None),
            key=lambda pair: pair[0],
            default=None,
        )
    if older is not None:
        yield from map(_with_own_author, older[1])
        return
    every = [edits for level in candidates for edits in level.options(max(Risk), _is_never_useless)]
    best = [_with_own_author(candidate) for candidate in _find_largest(policy_context, reach, every, limit)]
    yield from best
    yield from _stepwise_edits(policy_context.under(best), settings, target)


def _with_own_author(edit_: Edit) -> Edit:
    """Copy another policy's edit with this author, so that they are reverted together."""
    return make(edit_.kind, edit_.targets, edit_.params, author=NAME)


def _is_never_useless(edit: Edit, risk: Risk) -> bool:
    return False


class _EditSets:
    """Sets of edits that are known beforehand."""

    def __init__(self, edit_sets: list[list[Edit]]) -> None:
        self._edit_sets = edit_sets

    def proposals(self, most: Risk, useless: _IsUseless) -> list[list[Edit]]:
        """The edit sets; a subclass may omit those that risk more than `most`, and `useless` ones."""
        return self._edit_sets

    def options(self, most: Risk, useless: _IsUseless) -> list[list[Edit]]:
        """The same in order of preference; a subclass may omit sets that free nothing."""
        return self._edit_sets


class _Level(_EditSets):
    """Proposals of single policies at one `risk`, computed only if needed."""

    def __init__(self, tried: _Tried, risk: Risk) -> None:
        super().__init__([])
        self._tried = tried
        self._risk = risk

    def _fitting_proposals(self, most: Risk, useless: _IsUseless) -> list[ProposedStep]:
        def unfit(edit: Edit, risk: Risk) -> bool:
            return risk > self._risk or useless(edit, risk)

        policies = (policy for policy in self._tried.policies if policy.least <= min(self._risk, most))
        proposals = filter(None, (self._tried.proposal(policy, unfit) for policy in policies))
        return [proposal for proposal in proposals if proposal.risk == self._risk]

    def proposals(self, most: Risk, useless: _IsUseless) -> list[list[Edit]]:
        return [[*proposal.edits] for proposal in self._fitting_proposals(most, useless)]

    def options(self, most: Risk, useless: _IsUseless) -> list[list[Edit]]:
        remedies = filter(None, map(self._tried.remedy, self._fitting_proposals(most, useless)))
        return [[*remedy.edits] for remedy in sorted(remedies, key=lambda candidate: -candidate.freed)]


class _Tried:
    """Caches each policy's proposal, and its edits with the tokens that they free (`Remedy`)."""

    def __init__(self, policy_context: PolicyContext, policies: Sequence[Policy]) -> None:
        self.policies = policies
        self._policy_context = policy_context
        self._proposals: dict[str, LazyProposal] = {}
        self._remedies: dict[str, Remedy | None] = {}

    def proposal(self, policy: Policy, unfit: _IsUseless) -> ProposedStep | None:
        if policy.name not in self._proposals:
            self._proposals[policy.name] = LazyProposal(self._policy_context, policy)
        return self._proposals[policy.name].get(unfit)

    def remedy(self, proposal: ProposedStep) -> Remedy | None:
        name = proposal.step.policy.name
        if name not in self._remedies:
            self._remedies[name] = single_remedy(self._policy_context, proposal)
        return self._remedies[name]


def _candidates(policy_context: PolicyContext, policies: Sequence[Policy]) -> list[_EditSets]:
    """Sets of edits by policies, the least risk first."""
    # If policies were applied before, one more policy is enough.
    if any(edit.author != USER for edit in policy_context.log):
        tried = _Tried(policy_context, policies)
        return [_Level(tried, risk) for risk in Risk]
    remedies = sorted(
        search(policy_context, policies, MAX_WORK_BLOCKS), key=lambda remedy: (remedy.risk, -remedy.freed)
    )
    return [_EditSets([[*remedy.edits] for remedy in remedies])]


def _find_sufficient(
    policy_context: PolicyContext, reach: _Reach, levels: Sequence[_EditSets], bound: int, limit: int, target: int
) -> tuple[Risk, list[Edit]] | None:
    """The best of the compared sets that bring the context down to `target`, with its risk. None if none does.

    Nothing is changed from the position `bound` on. From `limit` on, only edits with at most the risk of externalizing
    are allowed.
    """
    best: tuple[Risk, list[Edit]] | None = None
    tried = 0

    def passed_over(edits: list[Edit]) -> bool:
        return not edits or (
            best is not None and (risk_of(policy_context.context, edits) > best[0] or tried >= _MAX_COMPARED_SETS)
        )

    def useless(edit: Edit, risk: Risk) -> bool:
        return best is not None and risk > best[0] and reach.may(edit, bound, limit)

    for level in levels:
        most = best[0] if best is not None else max(Risk)
        if best is not None and tried >= _MAX_COMPARED_SETS:
            break
        proposals = level.proposals(most, useless) if best is not None else []
        if best is not None and all(
            passed_over(_allowed_edits(reach, edit_set, bound, limit)) for edit_set in proposals
        ):
            continue
        for option in level.options(most, useless):
            edits = _allowed_edits(reach, option, bound, limit)
            if passed_over(edits):
                continue
            after = policy_context.under(edits)
            if after.applied.refused or after.total > target:
                continue
            edits = _drop_unneeded(policy_context, after, edits, target)
            risk = risk_of(policy_context.context, edits)
            tried += 1
            if best is None or (risk, *_cost_key(policy_context, edits)) < (
                best[0],
                *_cost_key(policy_context, best[1]),
            ):
                best = risk, edits
    return best


def _allowed_edits(reach: _Reach, edits: Iterable[Edit], bound: int, limit: int) -> list[Edit]:
    return [edit for edit in edits if reach.may(edit, bound, limit)]


class _Reach:
    """Checks whether edits change only positions that they may; caches how far each reaches."""

    def __init__(self, policy_context: PolicyContext) -> None:
        self._policy_context = policy_context
        self._known: dict[str, tuple[int, bool]] = {}

    def may(self, edit: Edit, bound: int, limit: int) -> bool:
        """Whether an edit may be used.

        It changes only positions before `bound`, none at which the user reverted an edit of a policy. An edit that
        risks more than externalizing must also end before `limit`.
        """
        reach = self._known.get(edit.id)
        if reach is None:
            reach = self._known[edit.id] = self._extent_of(edit)
        last, harmless = reach
        return last < bound and (harmless or last < limit)

    def _extent_of(self, edit: Edit) -> tuple[int, bool]:
        """The last position of an edit, and whether its risk is low enough for the newest rounds."""
        context = self._policy_context.context
        positions = {position for target in edit.targets if (position := context.find(target)) is not None}
        if positions & self._policy_context.reverted_by_user:
            return sys.maxsize, False
        return max(positions, default=0), risk_of_one(context, edit) <= Risk.OUTSIDE


def _cost_key(policy_context: PolicyContext, edits: Sequence[Edit]) -> tuple[int, int]:
    """Key for comparing sets of edits. Less is better; the position counts if the cache is warm."""
    places = [p for edit in edits for target in edit.targets if (p := policy_context.context.find(target)) is not None]
    return (0 if policy_context.cold else -min(places, default=0)), len(places)


def _drop_unneeded(policy_context: PolicyContext, after: PolicyContext, edits: list[Edit], target: int) -> list[Edit]:
    """The `edits` that are needed to reach `target`; all if some may depend on others."""
    choices = []
    for edit_ in edits:
        positions = [p for t in edit_.targets if (p := policy_context.context.find(t)) is not None]
        is_independent = edit_.kind in _APART or (edit_.kind == STRIP and edit_.params.get("what") == "images")
        if not is_independent or (edit_.kind != SUMMARIZE and len(positions) != 1):
            return edits
        saves = sum(policy_context.size(p) - after.size(p) for p in positions)
        saves -= count_text(policy_context, str(edit_.params.get("text") or "")) if edit_.kind == SUMMARIZE else 0
        risk = risk_of_one(policy_context.context, edit_)
        choices.append(_Choice(edit_, saves, min(positions, default=0), _max_quotes(policy_context, positions), risk))
    needed_ids = {edit_.edit.id for edit_ in _choose(choices, policy_context.total - target, policy_context)}
    fewer = [edit_ for edit_ in edits if edit_.id in needed_ids]
    return fewer if policy_context.under(fewer).total <= target else edits


def _max_quotes(policy_context: PolicyContext, positions: Sequence[int]) -> int:
    return max((_count_quotes(policy_context, p) for p in positions), default=0)


def _find_largest(
    policy_context: PolicyContext, reach: _Reach, edit_sets: Sequence[list[Edit]], limit: int
) -> list[Edit]:
    """The set of edits that frees most, of some of the sets; empty if none frees anything."""
    best, least = list[Edit](), policy_context.total
    for option in sorted(edit_sets, key=len)[-_MAX_COMPARED_SETS:] + list(edit_sets[:_MAX_COMPARED_SETS]):
        edits = _allowed_edits(reach, option, len(policy_context.context), limit)
        after = policy_context.under(edits)
        if edits and not after.applied.refused and after.total < least:
            best, least = edits, after.total
    return best


def _stepwise_edits(policy_context: PolicyContext, settings: Settings, target: int) -> list[Edit]:
    """Edits of three steps: cut results, clear them and strip images, summarise rounds.

    A step is taken only if the steps before it do not reach `target`.
    """
    offers: tuple[Callable[[PolicyContext, Settings, int], Iterator[_Choice]], ...] = (
        _cut_choices,
        _clear_choices,
        _summary_choices,
    )
    edits: list[Edit] = []
    for offer in offers:
        context_now = policy_context.under(edits)
        need = context_now.total - target
        if need <= 0:
            break
        edits += [
            choice.edit
            for choice in _choose(
                list(offer(context_now, settings, _change_limit(context_now, settings["keep"]))), need, context_now
            )
        ]
    return edits


def _change_limit(policy_context: PolicyContext, keep: int) -> int:
    """The position at which the last `keep` rounds begin; 0 if there are fewer."""
    rounds = policy_context.rounds
    if keep == 0:
        return len(policy_context.context)
    return rounds[-keep].start if len(rounds) >= keep else 0


def _choose(choices: Sequence[_Choice], need: int, policy_context: PolicyContext) -> list[_Choice]:
    """Choose what frees `need` tokens, near the end unless the cache is cold. All if they free less."""
    if sum(choice.saves for choice in choices) < need:
        return list(choices)
    pool = list(choices)
    if not policy_context.cold:
        pool, sum_ = [], 0
        for choice in sorted(choices, key=lambda candidate: -candidate.position):
            pool.append(choice)
            sum_ += choice.saves
            if sum_ >= need:
                break
    picked: list[_Choice] = []
    freed = 0
    for choice in sorted(
        pool, key=lambda candidate: (candidate.risk, candidate.quoted > 0, -candidate.saves, -candidate.position)
    ):
        if freed >= need:
            break
        picked.append(choice)
        freed += choice.saves
    for choice in sorted(picked, key=lambda candidate: candidate.saves):
        if freed - choice.saves >= need:
            picked.remove(choice)
            freed -= choice.saves
    return sorted(picked, key=lambda candidate: candidate.position)


def _count_quotes(policy_context: PolicyContext, position: int) -> int:
    literals = policy_context.literals
    if literals is None:
        return 0
    literals_here = literals.literals_at(position)
    positions_by_literal = map(literals.positions, literals_here)
    return sum(places[0] == position and places[-1] > position for places in positions_by_literal if places)


def _make_choice(policy_context: PolicyContext, edit_: Edit, position: int) -> Iterator[_Choice]:
    after = rewrite(policy_context.context.items[position].block, edit_)
    saves = policy_context.size(position) - (policy_context.count(after) if after is not None else 0)
    if saves > 0:
        yield _Choice(edit_, saves, position, _count_quotes(policy_context, position))


def _cut_choices(policy_context: PolicyContext, settings: Settings, limit: int) -> Iterator[_Choice]:
    cut_settings = {"head": settings["cut"] // 2, "tail": settings["cut"] // 2}
    for position in policy_context.results:
        if position < limit and policy_context.may_change(position, NAME):
            yield from _make_choice(
                policy_context, make_edit(policy_context, NAME, TRUNCATE, [position], cut_settings), position
            )


def _clear_choices(policy_context: PolicyContext, settings: Settings, limit: int) -> Iterator[_Choice]:
    mine = policy_context.touched.get(NAME, frozenset()) - policy_context.released(NAME)
    for position in policy_context.results:
        may = position in mine or policy_context.may_change(position, NAME)
        if position < limit and position not in policy_context.pinned and may:
            edit_ = make_edit(policy_context, NAME, REPLACE, [position], {"text": CLEARED})
            saves = policy_context.size(position) - count_text(policy_context, CLEARED)
            if saves > 0:
                yield _Choice(edit_, saves, position, _count_quotes(policy_context, position))
    for position in policy_context.context.images:
        if position < limit and policy_context.may_change(position, NAME):
            yield from _make_choice(
                policy_context, make_edit(policy_context, NAME, STRIP, [position], {"what": "images"}), position
            )


def _summary_choices(policy_context: PolicyContext, settings: Settings, limit: int) -> Iterator[_Choice]:
    released = policy_context.released(NAME)
    for number, round_ in enumerate(policy_context.rounds, 1):
        if round_.stop > limit:
            break
        if released.intersection(range(*round_)):
            continue
        positions = [
            p for p in policy_context.blocks(*round_) if p not in policy_context.pinned and policy_context.size(p)
        ]
        has_all_partners = all(
            partner in positions for p in positions for partner in policy_context.context.partners.get(p, ())
        )
        covered = any(
            policy_context.applied.changes[p].edit.kind == SUMMARIZE
            for p in positions
            if not policy_context.is_unchanged(p)
        )
        if not positions or not has_all_partners or covered:
            continue
        size = sum(map(policy_context.size, positions))
        text = cached_summary(policy_context, positions, format_range("round", number, number), length_for(size))
        saves = size - count_text(policy_context, text)
        if text and saves > 0:
            edit_ = make_edit(policy_context, NAME, SUMMARIZE, positions, {"text": text})
            yield _Choice(edit_, saves, round_.start, max(_count_quotes(policy_context, p) for p in positions))
