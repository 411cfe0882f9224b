"""Finding: thinking of earlier turns that the model reads again with every call."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits
from ctxtui.curation.policies.policy_context import Settings

KIND = "carried thinking"


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report thinking of all turns but the last; nothing for models that no longer read it."""
    settings: Settings = {"at_least": 500}
    edits = inputs.propose("strip_thinking", settings)
    effect = measure_edits(inputs, edits)
    if effect is not None:
        yield finding_from_edits(
            edits,
            effect,
            kind=KIND,
            problem="thinking of earlier turns is read again: {tokens} in every call{so_far}",
            fix="remove thinking of earlier turns",
            policy="strip_thinking",
            policy_settings=settings,
        )
