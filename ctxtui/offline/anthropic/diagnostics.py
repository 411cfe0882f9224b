"""Anthropic's cache diagnostics: where a request first parts from the one that it names (facts §3)."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.thinking import bare, blocks
from ctxtui.offline.json_shape import members, rows

_KEPT: Final = 1000
_BYTES_PER_TOKEN: Final = 4
_OTHERS: Final = ("tool_choice", "thinking", "output_config", "context_management")
"""Parameters that reach the prompt beside its text."""


class _Part(NamedTuple):
    digest: bytes
    size: int


class _Print(NamedTuple):
    """What is remembered of a request: digests and sizes in bytes, no content."""

    model: str
    tools: _Part
    system: _Part
    messages: tuple[_Part, ...]
    others: bytes


class Diagnoses:
    """The requests of the last answers, by message id."""

    def __init__(self) -> None:
        self._known: dict[str, _Print] = {}

    def remember(self, id_: str, body: Mapping[str, Json]) -> None:
        """An answer with `id_` was given to `body`."""
        self._known[id_] = _print(body)
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]

    def of(self, body: Mapping[str, Json]) -> Json:
        """The ``diagnostics`` of an answer to `body`: null where nothing parts, or where no earlier one is named."""
        named = members(body.get("diagnostics")).get("previous_message_id")
        if named is None:
            return None
        before = self._known.get(str(named))
        if before is None:
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        reason = _reason(before, _print(body))
        return None if reason is None else {"cache_miss_reason": reason}


def _reason(before: _Print, now: _Print) -> dict[str, Json] | None:
    """The earliest divergence in prompt order, with the part of the earlier request that it costs, in tokens guessed
    from bytes."""
    messages = sum(part.size for part in before.messages)
    if before.model != now.model:
        return _missed("model_changed", before.tools.size + before.system.size + messages)
    if before.tools.digest != now.tools.digest:
        return _missed("tools_changed", before.tools.size + before.system.size + messages)
    if before.system.digest != now.system.digest:
        return _missed("system_changed", before.system.size + messages)
    if before.others != now.others:
        return {"type": "unavailable"}
    pairs = zip(before.messages, now.messages, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a.digest != b.digest), len(now.messages))
    if same < len(before.messages):
        return _missed("messages_changed", sum(part.size for part in before.messages[same:]))
    return None


def _missed(kind: str, size: int) -> dict[str, Json]:
    return {"type": kind, "cache_missed_input_tokens": size // _BYTES_PER_TOKEN}


def _print(body: Mapping[str, Json]) -> _Print:
    return _Print(
        f"{body.get('model')} {body.get('speed') or 'standard'}",
        _part([bare(tool) for tool in rows(body.get("tools"))]),
        _part([bare(text) for text in blocks(body.get("system"))]),
        tuple(_part([one.get("role"), *map(bare, blocks(one.get("content")))]) for one in rows(body.get("messages"))),
        _part([body.get(key) for key in _OTHERS]).digest,
    )


def _part(value: Json) -> _Part:
    data = canonical.dumps(value)
    return _Part(blake2b(data, digest_size=12).digest(), len(data))
