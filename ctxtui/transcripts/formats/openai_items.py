"""Stored items of a conversation or response, as listed by OpenAI's API.

The output items of each response make one API call.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ctxtui.core.block import Item
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.core.session import Described, Event
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import as_dicts
from ctxtui.transcripts.kit.readers import json_reader
from ctxtui.wire.grammar import split_item

NAME: Final = "openai items"
_KINDS: Final = frozenset({"message", "reasoning", "function_call", "function_call_output", "custom_tool_call"})
_SERVICE_KEYS: Final = ("created_by", "status", "logprobs")
"""Keys that the service sets and that are not sent back."""


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_values(head)), None)
    stored_items = as_dicts(as_dict(first).get("data"))
    if not isinstance(first, dict) or first.get("object") != "list" or not stored_items:
        return 0.0
    # Items without the id of their response are read as a plain body.
    items_with_response = [item for item in stored_items if "created_by" in item]
    return 0.95 if any(as_str(item.get("type")) in _KINDS for item in items_with_response) else 0.0


def read_session(value: Json, tree: Tree) -> Iterator[Event]:
    dialogue = Dialogue(tree)
    yield Described(source=NAME)
    stored = _sort_items(as_dicts(as_dict(value).get("data")))
    for response, group in groupby(stored, lambda item: as_str(item.get("created_by")) if _is_output(item) else None):
        items = [part for item in group for part in _parse_item(item)]
        if response is None:
            dialogue.add(items)
        else:
            call = Call(response if response.startswith("resp_") else "", "", provider="openai")
            yield dialogue.add_call(items, call)
    yield dialogue.tip_event()
    yield Described(title=dialogue.title)


def _sort_items(items: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Put items in chronological order; the API may list the newest first."""
    call_ids: set[str] = set()
    for item in items:
        kind, id_ = as_str(item.get("type")), as_str(item.get("call_id"))
        if kind.endswith("_output") and id_ not in call_ids:
            return items[::-1]
        call_ids.add(id_)
    first, last = (_is_output(items[n]) for n in (0, -1)) if items else (False, False)
    return items[::-1] if first and not last else items


def _is_output(item: dict[str, Json]) -> bool:
    kind, role = as_str(item.get("type")), as_str(item.get("role"))
    return role == "assistant" or (kind != "message" and not kind.endswith(("_output", "_response")))


def _parse_item(item: dict[str, Json]) -> list[Item]:
    sent: dict[str, Json] = {key: part for key, part in item.items() if key not in _SERVICE_KEYS}
    if isinstance(sent.get("content"), list):
        sent["content"] = [_drop_service_keys(part) for part in as_list(sent["content"])]
    return [part.item for part in split_item(sent, "$")]


def _drop_service_keys(part: Json) -> Json:
    return {k: v for k, v in part.items() if k not in _SERVICE_KEYS} if isinstance(part, dict) else part


reader = json_reader(read_session)
