"""Anthropic's context editing of a request before the model reads it (facts §3).

Old thinking is removed, and old tool results are replaced by `CLEARED`; compaction is not simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.anthropic.fields import refusal_at, tag_refusal
from ctxtui.offline.anthropic.models import Claude
from ctxtui.offline.exchange import Refusal

TOOL_USES: Final = "clear_tool_uses_20250919"
THINKING: Final = "clear_thinking_20251015"
COMPACT: Final = "compact_20260112"
CLEARED: Final = "[cleared to save context]"
"""The provider's own text is not documented."""

_DEFAULT_TRIGGER_TOKENS: Final = 100_000
"""Input tokens above which tool results are cleared without a ``trigger``."""
_DEFAULT_KEPT_RESULTS: Final = 3
_MIN_COMPACTION_TRIGGER: Final = 50_000
"""In tokens."""
_KINDS: Final = (COMPACT, THINKING, TOOL_USES)
_THOUGHTS: Final = ("thinking", "redacted_thinking")

Body = dict[str, Json]


def edit_refusals(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """Refusals of ``context_management``: an unknown edit, a wrong order, too low a trigger."""
    for n, edit in enumerate(as_list(as_dict(body.get("context_management")).get("edits"))):
        kind, path = as_dict(edit).get("type"), ("context_management", "edits", n)
        if kind not in _KINDS:
            yield tag_refusal(kind, _KINDS, path, "context edit")
        elif kind == THINKING and n:
            yield refusal_at(path, f"`{THINKING}` must be the first edit", "context edit order")
        elif kind == COMPACT and _number_in(edit, "trigger", _MIN_COMPACTION_TRIGGER) < _MIN_COMPACTION_TRIGGER:
            message = f"Input should be greater than or equal to {_MIN_COMPACTION_TRIGGER}"
            yield refusal_at((*path, "trigger", "value"), message, "wrong value")


def apply_edits(body: Body, model: Claude, weigh: Callable[[Body], int]) -> tuple[Body, list[Json]]:
    """Apply the edits of `body`; also returns the report ``applied_edits``.

    `weigh` gives a body's tokens. An edit that saves less than its ``clear_at_least`` is not applied.
    """
    applied: list[Json] = []
    for edit in as_list(as_dict(body.get("context_management")).get("edits")):
        kind = as_dict(edit).get("type")
        changed, count, name = body, 0, ""
        if kind == THINKING:
            changed, count, name = *_without_thinking(body, edit, model), "cleared_thinking_turns"
        elif kind == TOOL_USES and _is_triggered(body, edit, weigh):
            changed, count, name = *_without_results(body, edit), "cleared_tool_uses"
        saved = weigh(body) - weigh(changed) if count else 0
        if count and saved >= _number_in(edit, "clear_at_least", 0):
            applied.append({"type": kind, "cleared_input_tokens": saved, name: count})
            body = changed
    return body, applied


def _number_in(edit: Json, key: str, default: int) -> int:
    value = as_dict(as_dict(edit).get(key)).get("value")
    return value if isinstance(value, int) else default


def _is_triggered(body: Body, edit: Json, weigh: Callable[[Body], int]) -> bool:
    limit = _number_in(edit, "trigger", _DEFAULT_TRIGGER_TOKENS)
    if as_dict(as_dict(edit).get("trigger")).get("type") == "tool_uses":
        return sum(1 for _, _, block in _iter_blocks(body) if block.get("type") == "tool_use") > limit
    return weigh(body) > limit


def _without_thinking(body: Body, edit: Json, model: Claude) -> tuple[Body, int]:
    """Remove thinking from all but the last ``keep`` messages that have some.

    Also returns the number of changed messages. Without ``keep``, only the last one keeps its thinking, but all do on a
    model that reads the thinking of earlier turns.
    """
    keep = as_dict(edit).get("keep")
    if keep == "all" or as_dict(keep).get("type") == "all" or (keep is None and not model.strips):
        return body, 0
    turns = sorted({n for n, _, block in _iter_blocks(body) if block.get("type") in _THOUGHTS})
    removed_turns = set(turns[: max(0, len(turns) - _number_in(edit, "keep", 1))])
    return map_blocks(
        body, lambda n, _, block: None if n in removed_turns and block.get("type") in _THOUGHTS else block
    ), len(removed_turns)


def _without_results(body: Body, edit: Json) -> tuple[Body, int]:
    """Replace all but the last ``keep`` results by a placeholder; also returns how many.

    Results of ``exclude_tools`` are kept and do not count. ``clear_tool_inputs`` (true, or names of tools) also empties
    the inputs of the calls.
    """
    names = {
        block.get("id"): block.get("name") for _, _, block in _iter_blocks(body) if block.get("type") == "tool_use"
    }
    spared = as_list(as_dict(edit).get("exclude_tools"))
    result_ids = [
        str(block.get("tool_use_id"))
        for _, _, block in _iter_blocks(body)
        if block.get("type") == "tool_result" and names.get(block.get("tool_use_id")) not in spared
    ]
    cleared_ids = set(result_ids[: max(0, len(result_ids) - _number_in(edit, "keep", _DEFAULT_KEPT_RESULTS))])
    inputs = as_dict(edit).get("clear_tool_inputs")

    def clear(_: int, __: int, block: Body) -> Body:
        if block.get("type") == "tool_result" and block.get("tool_use_id") in cleared_ids:
            return {**block, "content": CLEARED}
        clears_input = inputs is True or block.get("name") in as_list(inputs)
        return {**block, "input": {}} if clears_input and block.get("id") in cleared_ids else block

    return map_blocks(body, clear), len(cleared_ids)


def _iter_blocks(body: Body) -> Iterator[tuple[int, int, Body]]:
    for n, message in enumerate(as_list(body.get("messages"))):
        for m, block in enumerate(as_list(as_dict(message).get("content"))):
            yield n, m, as_dict(block)


def map_blocks(body: Body, change: Callable[[int, int, Body], Body | None]) -> Body:
    """Apply `change` to each block of `body`; None removes the block."""
    messages: list[Json] = []
    for n, message in enumerate(as_list(body.get("messages"))):
        content = message.get("content")
        if isinstance(content, list):
            changed = [change(n, m, block) for m, block in enumerate(content)]
            content = [block for block in changed if block is not None]
        messages.append({**message, "content": content})
    return {**body, "messages": messages}
