"""Finding: a context above the usable part of its window, which was not made smaller in time."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by, weighed
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.situation import Settings

KIND = "late compaction"


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report a context above the usable share of its window."""
    here = given.situation
    if not here.usable or here.total <= here.usable:
        return
    over = [call for call in given.calls if call.usage is not None and call.usage.input > here.usable]
    wanted: Settings = {"target": here.usable}
    edits = given.proposed(budget.NAME, wanted)
    about = weighed(given, edits)
    if about is None:
        return
    yield cured_by(
        edits,
        about,
        kind=KIND,
        says=f"{len(over):,} call{'' if len(over) == 1 else 's'} sent more than is usable of the window; "
        "{tokens} can go{so_far}",
        cure="shrink the context, at the least risk, until it fits",
        calls=len(over),
        policy=budget.NAME,
        given=wanted,
    )
