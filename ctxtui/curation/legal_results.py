"""What Anthropic's tool results may hold (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxtui.core.canonical import Json
from ctxtui.curation.legal_runs import Run
from ctxtui.curation.violation import ERROR, TEXT, Violation, listed


def anthropic(runs: Sequence[Run]) -> Iterator[Violation]:
    """Empty texts inside a result, and an error that holds more than text."""
    for path, part in (found for run in runs for found in run.parts):
        if part.get("type") == "tool_result":
            inside = [one for one in listed(part.get("content")) if isinstance(one, dict)]
            yield from _texts(path, inside)
            if part.get("is_error") is True:
                yield from _error(path, inside)


def _texts(path: str, inside: Sequence[dict[str, Json]]) -> Iterator[Violation]:
    if any(one.get("type") == "text" and not str(one.get("text") or "").strip() for one in inside):
        yield Violation(f"{path}.content", "text must not be empty inside a result", TEXT)


def _error(path: str, inside: Sequence[dict[str, Json]]) -> Iterator[Violation]:
    others = {str(one.get("type")) for one in inside} - {"text"}
    if others:
        yield Violation(f"{path}.content", f"a result that is an error holds text alone, not {sorted(others)}", ERROR)
