"""Finding: definitions of tools that were never called."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.content.tools import list_called_definitions
from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits
from ctxtui.curation.policies.policy_context import Settings

KIND = "unused tools"
MIN_ROUNDS = 3
"""Rounds before an uncalled tool counts as unused."""


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report tools of the context that no call of the thread has used so far."""
    context = inputs.policy_context.context
    called = list_called_definitions(context.tree, inputs.calls, (context.items[p].block for p in context.tools))
    settings: Settings = {"rounds": MIN_ROUNDS, "keep": sorted(called)}
    edits = inputs.propose("drop_unused_tools", settings)
    effect = measure_edits(inputs, edits)
    if effect is None:
        return
    positions = [p for edit in edits for target in edit.targets if (p := context.find(target)) is not None]
    # The heaviest are named first.
    names = [context.reading(p).name for p in sorted(positions, key=lambda p: -inputs.policy_context.size(p))]
    is_plural = len(names) != 1
    yield finding_from_edits(
        edits,
        effect,
        kind=KIND,
        problem=f"{'tools {names} were' if is_plural else '{names} was'} never called in {{calls}}: "
        f"{{tokens}} in every call{{so_far}}",
        fix="drop {count:unused tool}",
        calls=len(inputs.calls),
        count=len(names),
        names=tuple(f"tool {name}" if not is_plural else name for name in names),
        policy="drop_unused_tools",
        policy_settings=settings,
    )
