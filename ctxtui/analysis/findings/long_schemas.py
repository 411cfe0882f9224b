"""Finding: tool definitions that are longer than necessary."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits

KIND = "long tool definitions"
MIN_TOKENS = 500
"""Tokens that shortening all definitions must free in every call."""


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report tool definitions that the policy `minimise_schemas` shortens.

    One finding for all; raises `NothingToStage` if they lose fewer than `MIN_TOKENS` together.
    """
    edits = inputs.propose("minimise_schemas")
    effect = measure_edits(inputs, edits, MIN_TOKENS)
    if effect is not None:
        yield finding_from_edits(
            edits,
            effect,
            kind=KIND,
            problem="{count:tool} with long descriptions or described properties: {tokens}{so_far}",
            fix="cut the descriptions of {count:tool}, remove the texts of properties",
            policy="minimise_schemas",
        )
