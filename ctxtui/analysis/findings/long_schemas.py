"""Finding: tool definitions that are longer than necessary."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, finding_from_edits, measure_edits

KIND = "long tool definitions"
MIN_TOKENS = 500
"""Tokens that shortening must free in every call."""


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report tools whose descriptions, or those of their properties, could be cut."""
    edits = inputs.propose("minimise_schemas")
    effect = measure_edits(inputs, edits, MIN_TOKENS)
    if effect is not None:
        yield finding_from_edits(
            edits,
            effect,
            kind=KIND,
            problem="descriptions of {count:tool} beyond 100 characters, and of their properties: {tokens}{so_far}",
            fix="shorten descriptions of {count:tool}, remove those of properties",
            policy="minimise_schemas",
        )
