"""Finding: results that the model never quoted."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.content.dead_results import find_dead_results
from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.policies.tool_results import CLEARED

KIND = "dead results"
MIN_TOKENS = 1_000
"""Tokens that clearing must free in every call."""


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report tool results that are still sent, although the model never quoted them."""
    policy_context = inputs.policy_context
    dead = find_dead_results(
        policy_context.context.tree, inputs.calls, inputs.costs.lifetimes, inputs.costs.running.block_tokens
    )
    results = set(policy_context.results)
    positions = [p for result in dead.dead if (p := inputs.position(result.node)) is not None and p in results]
    edits = inputs.keep_unquoted(inputs.edit_each(positions, REPLACE, {"text": CLEARED}))
    effect = measure_edits(inputs, edits, MIN_TOKENS)
    if effect is None:
        return
    result = effect.count == 1
    yield finding_from_edits(
        edits,
        effect,
        kind=KIND,
        problem=f"{{count:tool result}} {'was' if result else 'were'} never quoted since "
        f"{'it' if result else 'they'} came: {{tokens}} in every call{{so_far}}",
        fix="clear {count:result} that nothing quotes",
    )
