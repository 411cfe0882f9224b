"""Finding: the same file or result read several times."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits
from ctxtui.curation.policies.policy_context import Settings
from ctxtui.curation.policies.tool_results import path_of

KIND = "duplicated reads"


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report results that are in the context twice, or outdated by a later read."""
    settings: Settings = {"at_least": 200}
    edits = inputs.propose("dedupe_reads", settings)
    effect = measure_edits(inputs, edits)
    if effect is None:
        return
    paths = inputs.name_blocks(edits, path_of)
    names_text = " ({names})" if paths else ""
    is_single = effect.count == 1
    yield finding_from_edits(
        edits,
        effect,
        kind=KIND,
        problem=f"{{count:result}}{names_text} "
        f"{'occurs' if is_single else 'occur'} again or "
        f"{'is' if is_single else 'are'} outdated: {{tokens}} in every call{{so_far}}",
        fix="replace {count:repeated or outdated result} by a line",
        names=paths,
        policy="dedupe_reads",
        policy_settings=settings,
    )
