"""What recordings say of their result, under whatever name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.session import Outcome

NAMES: Final = (
    "exit_status", "submission", "resolved", "reward", "score", "scores", "success", "passed", "status", "verdict",
    "grade", "evaluation",
)  # fmt: skip
"""Members that tell a result wherever they stand in a benchmark's record."""


def outcomes(record: dict[str, Json], label: str = "", names: tuple[str, ...] = NAMES) -> Iterator[Outcome]:
    """The results in `record`, each named after its member; `label` tells one of several runs in a file apart."""
    for name in names:
        value = record.get(name)
        if value is not None:
            yield Outcome(f"{label}: {name}" if label else name, words(value))


def words(value: Json) -> str:
    """A result's value verbatim."""
    return value if isinstance(value, str) else canonical.text_of(value)
