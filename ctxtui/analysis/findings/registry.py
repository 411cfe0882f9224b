"""Registry of the kinds of findings: a new one is a module here and a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.analysis.findings import (
    cache_lifetime,
    cache_markers,
    carried_thinking,
    changing_prefix,
    dead_results,
    duplicated_reads,
    huge_results,
    late_compaction,
    long_schemas,
    old_results,
    repeated_calls,
    risks,
    stale_images,
    unused_tools,
)
from ctxtui.analysis.findings.finding import Finding, FindingInputs, FindingKind, NoFinding, NothingToStage

KINDS: Final[tuple[FindingKind, ...]] = (
    *risks.KINDS,
    repeated_calls,
    unused_tools,
    long_schemas,
    duplicated_reads,
    dead_results,
    stale_images,
    huge_results,
    old_results,
    carried_thinking,
    late_compaction,
    changing_prefix,
    cache_lifetime,
    cache_markers,
)
"""Every kind, in the order of the search."""


def find_all(inputs: FindingInputs) -> Iterator[Finding | NoFinding]:
    """Yield all findings, and for each kind without one the reason."""
    for kind in KINDS:
        any_found = False
        try:
            for finding in kind.find(inputs):
                any_found = True
                yield finding
        except NothingToStage as why:
            yield NoFinding(kind.KIND, str(why))
        else:
            if not any_found:
                yield NoFinding(kind.KIND)
