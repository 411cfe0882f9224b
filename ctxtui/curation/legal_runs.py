"""Neighbouring messages of one role, which Anthropic's API merges (facts §1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxtui.core.canonical import Json
from ctxtui.curation.violation import listed


@dataclass(slots=True)
class Run:
    """Neighbouring messages of one role: their parts with their JSON paths."""

    role: Json
    parts: list[tuple[str, dict[str, Json]]] = field(default_factory=list)

    def ids(self, kind: str, key: str) -> set[Json]:
        """What the parts of `kind` hold under `key`, as strings."""
        return {str(part.get(key)) for _, part in self.parts if part.get("type") == kind}


def runs_of(body: dict[str, Json]) -> list[Run]:
    """The runs of an Anthropic `body`, in order."""
    runs: list[Run] = []
    for n, message in enumerate(listed(body.get("messages"))):
        if not isinstance(message, dict):
            continue
        if not runs or runs[-1].role != message.get("role"):
            runs.append(Run(message.get("role")))
        content = message.get("content")
        parts = [{"type": "text"}] if isinstance(content, str) else listed(content)
        runs[-1].parts += [(f"$.messages[{n}].content[{m}]", p) for m, p in enumerate(parts) if isinstance(p, dict)]
    return runs
