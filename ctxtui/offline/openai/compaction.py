"""Compaction on demand in the Responses API: what was said, as one item that only the provider reads (facts §13.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.conversation import Task
from ctxtui.offline.json_shape import members, rows
from ctxtui.offline.model.tool_choice import cut
from ctxtui.offline.openai.cipher import close

TRIGGER: Final = "compaction_trigger"
_MOST: Final = 200
"""Lines of a summary."""
_TOLD: Final = ("developer", "system")
"""What clients say again after a compaction."""


def compacts(body: Mapping[str, Json]) -> bool:
    """Whether the request asks for compaction instead of an answer: its last item says so."""
    items = rows(body.get("input"))
    return bool(items) and members(items[-1]).get("type") == TRIGGER


def compacted(talk: Task, id_: str) -> dict[str, Json]:
    """The one item that stands for `talk` from here on."""
    return {"id": id_, "type": "compaction", "encrypted_content": close(summary(talk))}


def summary(talk: Task) -> str:
    """The first lines of all that was said and returned, the newest ones where that is too much."""
    told = [*talk.earlier, ("user", talk.task), *((heard.name, heard.text) for heard in talk.heard)]
    lines = [f"{source}: {cut(line)}" for source, text in told if source not in _TOLD for line in _lines(text)]
    return "\n".join(lines[-_MOST:])


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()][:3]
