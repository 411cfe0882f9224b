"""Finding: tool results that are very large."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits
from ctxtui.curation.policies.policy_context import Settings
from ctxtui.curation.policies.tool_results import tool_of

KIND = "huge results"
KEPT_NEWEST = 3
"""Number of newest results that are left whole."""


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report results that the policy ``externalize_large`` would move out of the context."""
    settings: Settings = {"keep_last": KEPT_NEWEST}
    edits = inputs.propose("externalize_large", settings)
    effect = measure_edits(inputs, edits)
    if effect is None:
        return
    tools = inputs.name_blocks(edits, tool_of)
    names_text = " (of {names})" if tools else ""
    is_single = effect.count == 1
    yield finding_from_edits(
        edits,
        effect,
        kind=KIND,
        problem=f"{{count:block}}{names_text} {'is' if is_single else 'are'} very large: "
        "{tokens} in every call{so_far}",
        fix="externalize {count:very large block}",
        names=tools,
        policy="externalize_large",
        policy_settings=settings,
    )
