"""Finding: old results that are still carried and could be cleared."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by, weighed
from ctxtui.analysis.money.savings import KEPT
from ctxtui.curation.policies.situation import Settings

KIND = "old results"


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report all results but the newest."""
    wanted: Settings = {"trigger": 0, "keep": KEPT}
    edits = given.proposed("clear_tool_results", wanted)
    about = weighed(given, edits)
    if about is not None:
        yield cured_by(
            edits,
            about,
            kind=KIND,
            says=f"{{count}} results older than the newest {KEPT} are carried on: {{tokens}} in every call{{so_far}}",
            cure="clear {count} old tool results",
            policy="clear_tool_results",
            given=wanted,
        )
