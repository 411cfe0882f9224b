"""Finding: a context above the usable part of its window, not made smaller in time."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.policy_context import Settings

KIND = "late compaction"


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report a context above the usable tokens; the policy ``budget`` proposes the edits."""
    policy_context = inputs.policy_context
    if not policy_context.usable or policy_context.total <= policy_context.usable:
        return
    calls_above = [call for call in inputs.calls if call.usage is not None and call.usage.input > policy_context.usable]
    settings: Settings = {"target": policy_context.usable}
    edits = inputs.propose(budget.NAME, settings)
    effect = measure_edits(inputs, edits)
    if effect is None:
        return
    yield finding_from_edits(
        edits,
        effect,
        kind=KIND,
        problem=f"{len(calls_above):,} call{'' if len(calls_above) == 1 else 's'} exceeded the usable window; "
        "{tokens} can be removed{so_far}",
        fix="shrink the context at the lowest risk until it fits",
        calls=len(calls_above),
        policy=budget.NAME,
        policy_settings=settings,
    )
