"""Finding: thinking of earlier turns that the model reads again with every call."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by, weighed
from ctxtui.curation.policies.situation import Settings

KIND = "carried thinking"


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report thinking of all turns but the last; nothing for models that no longer read it."""
    wanted: Settings = {"at_least": 500}
    edits = given.proposed("strip_thinking", wanted)
    about = weighed(given, edits)
    if about is not None:
        yield cured_by(
            edits,
            about,
            kind=KIND,
            says="thinking of earlier turns is read again: {tokens} in every call{so_far}",
            cure="take out thinking of earlier turns",
            policy="strip_thinking",
            given=wanted,
        )
