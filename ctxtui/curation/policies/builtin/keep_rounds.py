"""The last n rounds stay whole; older ones become facts: files, tests, errors, commits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP, SUMMARIZE, TRUNCATE
from ctxtui.curation.policies.context_spans import free_runs, numbered, tokens_of
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit
from ctxtui.curation.policies.tool_results import results
from ctxtui.curation.record_summary import facts
from ctxtui.curation.step_facts import step_ranges, told_in_steps

NAME = "keep_rounds"


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Once there are `slack` rounds more than `n`, put facts in the place of the older ones. Where that is not enough
    for `limit` tokens (0: the usable window), the facts go, then the results that are left are cut, then all but the
    last round goes."""
    made = []
    # One by one: who sees from the first what is risked need not hear all.
    for one in _facts(situation, settings["n"], settings["slack"]):
        made.append(one)
        yield one
    limit = settings["limit"] or situation.usable
    after = situation.under(made)
    further: tuple[Callable[[PolicyContext], Iterator[Edit]], ...] = (
        lambda now: _without(now, max(1, settings["n"])),
        lambda now: _cuts(now, settings["cut"]),
        lambda now: _without(now, 1),
    )
    for step in further:
        if not limit or after.total <= limit:
            return
        edits = list(step(after))
        yield from edits
        after = after.under(edits)


def _facts(situation: PolicyContext, n: int, slack: int) -> Iterator[Edit]:
    old = situation.open_rounds
    if len(old) <= n + slack:
        return
    gone = old[: len(old) - n] if n else old
    for run in free_runs(situation, NAME, gone[0].start, gone[-1].stop):
        words = _told(situation, run)
        if sum(map(situation.size, run)) > tokens_of(situation, words):
            yield edit(situation, NAME, SUMMARIZE, run, {"text": words})


def _told(situation: PolicyContext, run: Sequence[int]) -> str:
    """What the rounds in a run of blocks did, by steps: a step is a round, counted from the first."""
    held = set(run)
    # Rounds follow each other: of a context of thousands, only those that the run touches are gone through.
    start = bisect_right(situation.rounds, run[0], key=lambda one: one.stop)
    stop = bisect_left(situation.rounds, run[-1] + 1, key=lambda one: one.start)
    touched = enumerate(situation.rounds[start:stop], start + 1)
    inside = ((number, [p for p in situation.blocks(*one) if p in held]) for number, one in touched)
    rounds = [(number, positions) for number, positions in inside if positions]
    between = held.difference(*(positions for _, positions in rounds))
    asked = facts(situation.context, sorted(between)).asked
    what = numbered("round", rounds[0][0], rounds[-1][0]) if rounds else ""
    return told_in_steps(step_ranges(situation.context, rounds), what, asked)


def _cuts(situation: PolicyContext, limit: int) -> Iterator[Edit]:
    for position in results(situation):
        if situation.free(position, NAME) and len(situation.context.reading(position).text) > limit:
            yield edit(situation, NAME, TRUNCATE, [position], {"head": limit // 2, "tail": limit // 2})


def _without(situation: PolicyContext, n: int) -> Iterator[Edit]:
    """Drop what is left of the rounds before the last `n`, their facts too."""
    asked = situation.asked.positions.get((NAME, DROP), frozenset())
    kept = situation.pinned | situation.released(NAME) | asked
    changes = situation.applied.changes
    for one in situation.rounds[:-n]:
        positions = [
            p
            for p in situation.blocks(*one)
            if p not in kept and (situation.size(p) or (p in changes and changes[p].edit.kind == SUMMARIZE))
        ]
        if positions:
            yield edit(situation, NAME, DROP, positions)


POLICY = Policy(
    NAME,
    "keep the last n rounds, older ones as facts",
    propose,
    {"n": 3, "slack": 2, "limit": 0, "cut": 1000},
    {
        "n": "rounds kept whole",
        "slack": "rounds more before it acts",
        "limit": "tokens to stay below (0: the usable window)",
        "cut": "characters kept of a result when facts alone do not do",
    },
    least=Risk.PARTS,
)
