"""Finding: old results that are still carried and could be cleared."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits
from ctxtui.analysis.money.savings import KEPT_RESULTS
from ctxtui.curation.policies.policy_context import Settings

KIND = "old results"


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report results before the newest `KEPT_RESULTS`, as ``clear_tool_results`` clears them.

    Nothing is reported if the policy would free fewer tokens than its default ``at_least``.
    """
    settings: Settings = {"trigger": 0, "keep": KEPT_RESULTS}
    edits = inputs.propose("clear_tool_results", settings)
    effect = measure_edits(inputs, edits)
    if effect is not None:
        yield finding_from_edits(
            edits,
            effect,
            kind=KIND,
            problem=f"{{count:result}} older than the newest {KEPT_RESULTS}, still sent: "
            "{tokens} in every call{so_far}",
            fix="clear {count:old tool result}",
            policy="clear_tool_results",
            policy_settings=settings,
        )
