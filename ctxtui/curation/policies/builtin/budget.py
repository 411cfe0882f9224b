"""The smallest reversible set of edits that reaches a target: searched for in all policies, by risk and dependence."""

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
from ctxtui.curation.apply.rewrite import rewritten
from ctxtui.curation.policies.context_spans import numbered, summary_of, tokens_of
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.risk import Risk, risk_of, risk_of_one
from ctxtui.curation.policies.search import WORK, Asking, ProposedStep, Remedy, alone_by, counting_once, search
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit
from ctxtui.curation.policies.tool_results import CLEARED, results
from ctxtui.curation.record_summary import length_for

NAME = "budget"

_APART: Final = frozenset({TRUNCATE, REPLACE, EXTERNALIZE, DEDUPLICATE, COMPACT_JSON, MINIMISE, SUMMARIZE})
"""Kinds of edits that do their part whether or not another one is made."""
_TRIED: Final = 6
"""Sets of edits of one risk that are held against each other."""


_Vain = Callable[[Edit, Risk], bool]
"""Whether a set with this edit, of this risk, is passed over."""


class _Choice(NamedTuple):
    """One edit that could be made: what it frees (tokens), where it breaks the prefix, how many later blocks quote
    what it takes away, and what it risks."""

    edit: Edit
    saves: int
    position: int
    quoted: int
    risk: Risk = Risk.NOTHING


def among(policies: Iterable[Policy]) -> Policy:
    """The policy, which chooses among `policies` other than itself."""
    return Policy(
        NAME,
        "the smallest set of edits that reaches a size",
        partial(_proposed, [policy for policy in policies if policy.name != NAME]),
        {"target": 0, "keep": 2, "cut": 1000},
        {
            "target": "tokens to reach (0: the usable window)",
            "keep": "newest rounds left alone",
            "cut": "characters kept of a result that is cut",
        },
    )


def _proposed(policies: Sequence[Policy], situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Above `target` (0: the usable window), find the edits that bring the context below: of all policies at their
    defaults, every two of them, and of three steps of its own (cutting results, then clearing them and stripping
    images, then summarising rounds). Of what suffices it takes what risks least, of that what breaks the prefix latest
    (all are equal when the cache is cold), and leaves out what is not needed. The last `keep` rounds are left alone,
    but for what loses nothing or puts content outside, where nothing as harmless suffices without them. Where nothing
    at all suffices it frees what it can."""
    target = settings["target"] or situation.usable
    need = situation.total - target
    if not target or need <= 0:
        return
    here = counting_once(situation)
    yield from _smallest(policies, here, settings, target)
    here.forget()


def _smallest(policies: Sequence[Policy], situation: PolicyContext, settings: Settings, target: int) -> Iterator[Edit]:
    limit, reach = _limit(situation, settings["keep"]), _Reach(situation)
    ladder = [_ladder(situation, settings, target)]
    found = _found(situation, policies)
    older = _enough(situation, reach, [_Given(ladder), *found], limit, limit, target)
    if older is None or older[0] > Risk.OUTSIDE:
        everywhere = _enough(situation, reach, found, len(situation.context), limit, target)
        older = min((one for one in (older, everywhere) if one is not None), key=lambda one: one[0], default=None)
    if older is not None:
        yield from map(_own, older[1])
        return
    every = [edits for level in found for edits in level.options(max(Risk), _never)]
    best = [_own(one) for one in _most(situation, reach, every, limit)]
    yield from best
    yield from _ladder(situation.under(best), settings, target)


def _own(one: Edit) -> Edit:
    """What another policy would make, as this one's: so it is taken back as one, and stays so."""
    return make(one.kind, one.targets, one.params, author=NAME)


def _never(edit: Edit, risk: Risk) -> bool:
    return False


class _Given:
    """Sets of edits to choose among, in this order."""

    def __init__(self, given: list[list[Edit]]) -> None:
        self._given = given

    def wished(self, most: Risk, vain: _Vain) -> list[list[Edit]]:
        """All of them; they may lack those of which each edit risks more than `most`, or one is in `vain`."""
        return self._given

    def options(self, most: Risk, vain: _Vain) -> list[list[Edit]]:
        """Of the same what frees anything, what frees most first."""
        return self._given


class _Level(_Given):
    """What single policies wish at one `risk`: they are asked, and what it frees is worked out, where it matters."""

    def __init__(self, tried: _Tried, risk: Risk) -> None:
        super().__init__([])
        self._tried = tried
        self._risk = risk

    def _wishes(self, most: Risk, vain: _Vain) -> list[ProposedStep]:
        def unfit(edit: Edit, risk: Risk) -> bool:
            return risk > self._risk or vain(edit, risk)

        asked = (policy for policy in self._tried.policies if policy.least <= min(self._risk, most))
        found = filter(None, (self._tried.wish(policy, unfit) for policy in asked))
        return [wish for wish in found if wish.risk == self._risk]

    def wished(self, most: Risk, vain: _Vain) -> list[list[Edit]]:
        """As above."""
        return [[*wish.edits] for wish in self._wishes(most, vain)]

    def options(self, most: Risk, vain: _Vain) -> list[list[Edit]]:
        """As above."""
        found = filter(None, map(self._tried.remedy, self._wishes(most, vain)))
        return [[*one.edits] for one in sorted(found, key=lambda one: -one.freed)]


class _Tried:
    """What single policies wish and what that does, each once."""

    def __init__(self, situation: PolicyContext, policies: Sequence[Policy]) -> None:
        self.policies = policies
        self._situation = situation
        self._asked: dict[str, Asking] = {}
        self._remedies: dict[str, Remedy | None] = {}

    def wish(self, policy: Policy, unfit: _Vain) -> ProposedStep | None:
        """What `policy` wishes; None where one of its edits is `unfit`."""
        if policy.name not in self._asked:
            self._asked[policy.name] = Asking(self._situation, policy)
        return self._asked[policy.name].wish(unfit)

    def remedy(self, wish: ProposedStep) -> Remedy | None:
        """What a policy's wish does."""
        name = wish.step.policy.name
        if name not in self._remedies:
            self._remedies[name] = alone_by(self._situation, wish)
        return self._remedies[name]


def _found(situation: PolicyContext, policies: Sequence[Policy]) -> list[_Given]:
    """What policies do, the least risk first: every two of them where nothing was searched for before."""
    # What is there already was searched for: one policy more is enough then.
    if any(one.author != USER for one in situation.log):
        tried = _Tried(situation, policies)
        return [_Level(tried, risk) for risk in Risk]
    found = sorted(search(situation, policies, WORK), key=lambda one: (one.risk, -one.freed))
    return [_Given([[*one.edits] for one in found])]


def _enough(
    situation: PolicyContext, reach: _Reach, levels: Sequence[_Given], bound: int, limit: int, target: int
) -> tuple[Risk, list[Edit]] | None:
    """The edits of one set that bring the context below `target` at the least risk; None where none does. From the
    position `bound` on nothing is changed, from `limit` on only what risks no more than to stand outside."""
    best: tuple[Risk, list[Edit]] | None = None
    tried = 0

    def passed_over(edits: list[Edit]) -> bool:
        return not edits or (best is not None and (risk_of(situation.context, edits) > best[0] or tried >= _TRIED))

    def vain(edit: Edit, risk: Risk) -> bool:
        return best is not None and risk > best[0] and reach.may(edit, bound, limit)

    for level in levels:
        most = best[0] if best is not None else max(Risk)
        if best is not None and tried >= _TRIED:
            break
        wished = level.wished(most, vain) if best is not None else []
        if best is not None and all(passed_over(_allowed(reach, one, bound, limit)) for one in wished):
            continue
        for option in level.options(most, vain):
            edits = _allowed(reach, option, bound, limit)
            if passed_over(edits):
                continue
            after = situation.under(edits)
            if after.applied.refused or after.total > target:
                continue
            edits = _needed(situation, after, edits, target)
            risk = risk_of(situation.context, edits)
            tried += 1
            if best is None or (risk, *_cost(situation, edits)) < (best[0], *_cost(situation, best[1])):
                best = risk, edits
    return best


def _allowed(reach: _Reach, edits: Iterable[Edit], bound: int, limit: int) -> list[Edit]:
    return [edit for edit in edits if reach.may(edit, bound, limit)]


class _Reach:
    """How far back edits of one situation reach and what they risk, each worked out once: the same ones are looked at
    for every set that holds them."""

    def __init__(self, situation: PolicyContext) -> None:
        self._situation = situation
        self._known: dict[str, tuple[int, bool]] = {}

    def may(self, edit: Edit, bound: int, limit: int) -> bool:
        """Whether an edit stays away from the newest rounds, and from what a user took back."""
        found = self._known.get(edit.id)
        if found is None:
            found = self._known[edit.id] = self._of(edit)
        last, harmless = found
        return last < bound and (harmless or last < limit)

    def _of(self, edit: Edit) -> tuple[int, bool]:
        """The last position that it is about (one that no bound allows where a user took it back), and whether it
        risks so little that the newest rounds may have it too."""
        context = self._situation.context
        positions = {position for target in edit.targets if (position := context.find(target)) is not None}
        if positions & self._situation.taken_back:
            return sys.maxsize, False
        return max(positions, default=0), risk_of_one(context, edit) <= Risk.OUTSIDE


def _cost(situation: PolicyContext, edits: Sequence[Edit]) -> tuple[int, int]:
    """How early the prefix breaks, negative, and how much is changed: less is better."""
    places = [p for edit in edits for target in edit.targets if (p := situation.context.find(target)) is not None]
    return (0 if situation.cold else -min(places, default=0)), len(places)


def _needed(situation: PolicyContext, after: PolicyContext, edits: list[Edit], target: int) -> list[Edit]:
    """Those of `edits` that are needed to reach `target`; all where one cannot go without another."""
    choices = []
    for one in edits:
        positions = [p for t in one.targets if (p := situation.context.find(t)) is not None]
        alone = one.kind in _APART or (one.kind == STRIP and one.params.get("what") == "images")
        if not alone or (one.kind != SUMMARIZE and len(positions) != 1):
            return edits
        saves = sum(situation.size(p) - after.size(p) for p in positions)
        saves -= tokens_of(situation, str(one.params.get("text") or "")) if one.kind == SUMMARIZE else 0
        risk = risk_of_one(situation.context, one)
        choices.append(_Choice(one, saves, min(positions, default=0), _quoted_at(situation, positions), risk))
    kept = {one.edit.id for one in _chosen(choices, situation.total - target, situation)}
    fewer = [one for one in edits if one.id in kept]
    return fewer if situation.under(fewer).total <= target else edits


def _quoted_at(situation: PolicyContext, positions: Sequence[int]) -> int:
    return max((_quoted(situation, p) for p in positions), default=0)


def _most(situation: PolicyContext, reach: _Reach, found: Sequence[list[Edit]], limit: int) -> list[Edit]:
    """What frees most of all, outside the newest rounds; nothing where nothing frees anything."""
    best, least = list[Edit](), situation.total
    for option in sorted(found, key=len)[-_TRIED:] + list(found[:_TRIED]):
        edits = _allowed(reach, option, len(situation.context), limit)
        after = situation.under(edits)
        if edits and not after.applied.refused and after.total < least:
            best, least = edits, after.total
    return best


def _ladder(situation: PolicyContext, settings: Settings, target: int) -> list[Edit]:
    """The edits of the three steps; each only where the one before is not enough."""
    offers: tuple[Callable[[PolicyContext, Settings, int], Iterator[_Choice]], ...] = (_cuts, _clears, _summaries)
    made: list[Edit] = []
    for offer in offers:
        here = situation.under(made)
        need = here.total - target
        if need <= 0:
            break
        made += [one.edit for one in _chosen(list(offer(here, settings, _limit(here, settings["keep"]))), need, here)]
    return made


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
    for one in sorted(pool, key=lambda one: (one.risk, one.quoted > 0, -one.saves, -one.position)):
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
    stands = map(literals.places, here)
    return sum(places[0] == position and places[-1] > position for places in stands if places)


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
        size = sum(map(situation.size, positions))
        text = summary_of(situation, positions, numbered("round", number, number), length_for(size))
        saves = size - tokens_of(situation, text)
        if text and saves > 0:
            made = edit(situation, NAME, SUMMARIZE, positions, {"text": text})
            yield _Choice(made, saves, one.start, max(_quoted(situation, p) for p in positions))
