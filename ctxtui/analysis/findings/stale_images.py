"""Finding: images that the model saw long ago."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits

KIND = "stale images"


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report images of all messages but the newest that has any."""
    edits = inputs.propose("strip_images")
    effect = measure_edits(inputs, edits)
    if effect is not None:
        is_single = effect.count == 1
        yield finding_from_edits(
            edits,
            effect,
            kind=KIND,
            problem=f"{{count:image}} of earlier messages "
            f"{'is' if is_single else 'are'} still sent: {{tokens}} in every call{{so_far}}",
            fix="remove {count:image} that the model has seen",
            policy="strip_images",
        )
