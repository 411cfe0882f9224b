"""The smallest reversible set of edits that reaches a target, by price and dependence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import REPLACE, STRIP, SUMMARIZE, TRUNCATE
from ctxtui.curation.apply.rewrite import rewritten
from ctxtui.curation.extractive_summary import facts, told
from ctxtui.curation.policies.context_spans import numbered, tokens_of
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit
from ctxtui.curation.policies.tool_results import CLEARED, results

NAME = "budget"


class _Choice(NamedTuple):
    """One edit that could be made: what it frees (tokens), where it breaks the prefix, how many later blocks quote
    what it takes away."""

    edit: Edit
    saves: int
    position: int
    quoted: int


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Above `target` (0: the usable window), choose edits until the context is below: first by cutting results, then
    by clearing them and stripping images, then by summarising rounds; each step only where the one before is not
    enough. Of the sets that suffice it takes the one that breaks the prefix latest (all are equal when the cache is
    cold), and in it what nobody quotes and what frees most. The last `keep` rounds are left alone."""
    target = settings["target"] or situation.usable
    need = situation.total - target
    if not target or need <= 0:
        return
    offers: tuple[Callable[[PolicyContext, Settings, int], Iterator[_Choice]], ...] = (_cuts, _clears, _summaries)
    made: list[Edit] = []
    for offer in offers:
        here = situation.under(made)
        need = here.total - target
        if need <= 0:
            break
        made += [one.edit for one in _chosen(list(offer(here, settings, _limit(here, settings["keep"]))), need, here)]
    yield from made


def _limit(situation: PolicyContext, keep: int) -> int:
    """The position from which on nothing is changed."""
    rounds = situation.rounds
    if keep == 0:
        return len(situation.context)
    return rounds[-keep].start if len(rounds) >= keep else 0


def _chosen(choices: Sequence[_Choice], need: int, situation: PolicyContext) -> list[_Choice]:
    """The set that breaks the prefix latest and reaches `need`; all of them where none does."""
    if sum(one.saves for one in choices) < need:
        return list(choices)
    pool = list(choices)
    if not situation.cold:
        pool, sum_ = [], 0
        for one in sorted(choices, key=lambda one: -one.position):
            pool.append(one)
            sum_ += one.saves
            if sum_ >= need:
                break
    picked: list[_Choice] = []
    got = 0
    for one in sorted(pool, key=lambda one: (one.quoted > 0, -one.saves, -one.position)):
        if got >= need:
            break
        picked.append(one)
        got += one.saves
    for one in sorted(picked, key=lambda one: one.saves):
        if got - one.saves >= need:
            picked.remove(one)
            got -= one.saves
    return sorted(picked, key=lambda one: one.position)


def _quoted(situation: PolicyContext, position: int) -> int:
    literals = situation.literals
    if literals is None:
        return 0
    here = literals.of(position)
    return sum(literals.is_quoted(one, position) and next(literals.before(one, position), None) is None for one in here)


def _offer(situation: PolicyContext, made: Edit, position: int) -> Iterator[_Choice]:
    after = rewritten(situation.context.items[position].block, made)
    saves = situation.size(position) - (situation.count(after) if after is not None else 0)
    if saves > 0:
        yield _Choice(made, saves, position, _quoted(situation, position))


def _cuts(situation: PolicyContext, settings: Settings, limit: int) -> Iterator[_Choice]:
    given = {"head": settings["cut"] // 2, "tail": settings["cut"] // 2}
    for position in results(situation):
        if position < limit and situation.free(position, NAME):
            yield from _offer(situation, edit(situation, NAME, TRUNCATE, [position], given), position)


def _clears(situation: PolicyContext, settings: Settings, limit: int) -> Iterator[_Choice]:
    mine = situation.touched.get(NAME, frozenset()) - situation.released(NAME)
    for position in results(situation):
        may = position in mine or situation.free(position, NAME)
        if position < limit and position not in situation.pinned and may:
            made = edit(situation, NAME, REPLACE, [position], {"text": CLEARED})
            saves = situation.size(position) - tokens_of(situation, CLEARED)
            if saves > 0:
                yield _Choice(made, saves, position, _quoted(situation, position))
    for position in situation.context.images:
        if position < limit and situation.free(position, NAME):
            yield from _offer(situation, edit(situation, NAME, STRIP, [position], {"what": "images"}), position)


def _summaries(situation: PolicyContext, settings: Settings, limit: int) -> Iterator[_Choice]:
    released = situation.released(NAME)
    for number, one in enumerate(situation.rounds, 1):
        if one.stop > limit:
            break
        if released.intersection(range(*one)):
            continue
        positions = [p for p in situation.blocks(*one) if p not in situation.pinned and situation.size(p)]
        whole = all(other in positions for p in positions for other in situation.context.partners.get(p, ()))
        covered = any(situation.applied.changes[p].edit.kind == SUMMARIZE for p in positions if not situation.stands(p))
        if not positions or not whole or covered:
            continue
        text = told(facts(situation.context, positions), numbered("round", number, number))
        saves = sum(map(situation.size, positions)) - tokens_of(situation, text)
        if saves > 0:
            made = edit(situation, NAME, SUMMARIZE, positions, {"text": text})
            yield _Choice(made, saves, one.start, max(_quoted(situation, p) for p in positions))


POLICY = Policy(
    NAME,
    "the smallest set of edits that reaches a size",
    propose,
    {"target": 0, "keep": 2, "cut": 1000},
    {
        "target": "tokens to reach (0: the usable window)",
        "keep": "newest rounds left alone",
        "cut": "characters kept of a result that is cut",
    },
)
