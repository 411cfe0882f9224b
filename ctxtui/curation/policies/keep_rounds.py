"""The last n rounds stay whole; older ones become facts: files, tests, errors, commits."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP, TRUNCATE
from ctxtui.curation.policies.context_spans import numbered, summarised
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit
from ctxtui.curation.policies.tool_results import results

NAME = "keep_rounds"


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Once there are `slack` rounds more than `n`, put facts in the place of the older ones. Where that is not enough
    for `limit` tokens (0: the usable window), the results that are left are cut, then all but the last round goes."""
    made = list(_facts(situation, settings["n"], settings["slack"]))
    yield from made
    limit = settings["limit"] or situation.usable
    after = situation.under(made)
    if not limit or after.total <= limit:
        return
    cuts = list(_cuts(after, settings["cut"]))
    yield from cuts
    after = after.under(cuts)
    if after.total > limit:
        yield from _only_recent(after)


def _facts(situation: PolicyContext, n: int, slack: int) -> Iterator[Edit]:
    rounds = situation.rounds
    old = [one for one in rounds if any(map(situation.stands, situation.blocks(*one)))]
    if len(old) <= n + slack:
        return
    gone = old[: len(old) - n] if n else old
    first, last = rounds.index(gone[0]) + 1, rounds.index(gone[-1]) + 1
    yield from summarised(situation, NAME, gone[0].start, gone[-1].stop, numbered("round", first, last))


def _cuts(situation: PolicyContext, limit: int) -> Iterator[Edit]:
    for position in results(situation):
        if situation.free(position, NAME) and len(situation.context.reading(position).text) > limit:
            yield edit(situation, NAME, TRUNCATE, [position], {"head": limit // 2, "tail": limit // 2})


def _only_recent(situation: PolicyContext) -> Iterator[Edit]:
    asked = {situation.context.find(t) for e in situation.log if (e.author, e.kind) == (NAME, DROP) for t in e.targets}
    kept = situation.pinned | situation.released(NAME) | asked
    for one in situation.rounds[:-1]:
        positions = [p for p in situation.blocks(*one) if situation.size(p) and p not in kept]
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
)
