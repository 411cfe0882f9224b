"""Results that the model never quoted."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.content.dead_results import dead_weight
from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by, weighed
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.policies.tool_results import CLEARED, results

KIND = "dead results"
LEAST = 1_000
"""Tokens in every call from which on it is worth a word."""


def find(given: FindingInputs) -> Iterator[Finding]:
    """Results of the context that nothing quoted since they came."""
    here = given.situation
    dead = dead_weight(here.context.tree, given.calls, given.costs.stays, given.costs.running.own)
    known = set(results(here))
    at = [p for one in dead.dead if (p := given.position(one.node)) is not None and p in known]
    free = [p for p in at if here.is_unchanged(p) and p not in here.pinned and p not in here.reverted_by_user]
    edits = given.unquoted([make(REPLACE, here.context.targets([p]), {"text": CLEARED}) for p in sorted(free)])
    about = weighed(given, edits, LEAST)
    if about is None:
        return
    one = about.count == 1
    yield cured_by(
        edits,
        about,
        kind=KIND,
        says=f"{{count}} tool result{'' if one else 's'} {'was' if one else 'were'} never quoted since "
        f"{'it' if one else 'they'} came: {{tokens}} in every call{{so_far}}",
        cure=f"clear {{count}} result{'' if one else 's'} that nothing quotes",
    )
