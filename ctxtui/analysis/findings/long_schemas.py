"""Finding: tool definitions that are longer than necessary."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by, weighed

KIND = "long tool definitions"
LEAST = 500
"""Minimum tokens in every call."""


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report tools whose descriptions could be cut."""
    edits = given.proposed("minimise_schemas")
    about = weighed(given, edits, LEAST)
    if about is not None:
        yield cured_by(
            edits,
            about,
            kind=KIND,
            says="descriptions of {count} tools take {tokens} more than their first 100 characters{so_far}",
            cure="shorten descriptions of {count} tools, leave those of properties out",
            policy="minimise_schemas",
        )
