"""Compaction on demand in the Responses API: what was said, as one item that only the provider reads (facts §13.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.conversation import ScriptTask
from ctxtui.offline.json_shape import members, rows
from ctxtui.offline.model.summary import summary
from ctxtui.offline.openai.cipher import close

TRIGGER: Final = "compaction_trigger"


def compacts(body: Mapping[str, Json]) -> bool:
    """Whether the request asks for compaction instead of an answer: its last item says so."""
    items = rows(body.get("input"))
    return bool(items) and members(items[-1]).get("type") == TRIGGER


def compacted(talk: ScriptTask, id_: str) -> dict[str, Json]:
    """The one item that stands for `talk` from here on."""
    return {"id": id_, "type": "compaction", "encrypted_content": close(summary(talk, task=True))}
