"""Checks Chat Completions and Responses bodies against OpenAI's rules (facts §4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_list
from ctxtui.curation.legality.violation import EMPTY, IMAGES, PAIR, REASONING, TWICE, Violation, check_roles

_CHAT_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_ROLES: Final = frozenset({"system", "developer", "user", "assistant"})
_CALLS: Final = {
    f"{name}_output": name
    for name in ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call")
}
_OUTPUTS: Final = frozenset(_CALLS)


def chat_violations(body: dict[str, Json]) -> Iterator[Violation]:
    """Find the rules that a Chat Completions body breaks."""
    yield from check_roles(body, _CHAT_ROLES)
    open_: list[str] = []
    for n, message in enumerate(as_list(body.get("messages"))):
        if not isinstance(message, dict):
            continue
        path = f"$.messages[{n}]"
        yield from _check_images(message, path)
        if message.get("role") == "tool":
            id_ = str(message.get("tool_call_id"))
            if id_ in open_:
                open_.remove(id_)
            else:
                yield Violation(path, f"no call {id_!r} before this answer", PAIR)
            continue
        if open_:
            yield Violation(path, f"calls without answer before this message: {', '.join(open_)}", PAIR)
        calls = as_list(message.get("tool_calls"))
        open_ = [str(call.get("id")) for call in calls if isinstance(call, dict)]
        if message.get("tool_calls") == []:
            yield Violation(f"{path}.tool_calls", "must not be empty")
        if message.get("content") in (None, []) and not calls and not message.get("function_call"):
            yield Violation(f"{path}.content", "content is required", EMPTY)
    if open_:
        yield Violation("$.messages", f"calls without answer at the end: {', '.join(open_)}", PAIR)


def _check_images(message: dict[str, Json], path: str) -> Iterator[Violation]:
    for m, part in enumerate(as_list(message.get("content"))):
        if isinstance(part, dict) and part.get("type") == "image_url" and message.get("role") != "user":
            yield Violation(f"{path}.content[{m}]", "only the user's messages hold images", IMAGES)


def responses_violations(body: dict[str, Json]) -> Iterator[Violation]:
    """Find the rules that a Responses body breaks."""
    items = body.get("input")
    if isinstance(items, str) and items:
        return
    if not isinstance(items, list) or not items:
        yield Violation("$.input", "at least one item is required")
    # The provider keeps the earlier items, calls included.
    is_complete = not (body.get("previous_response_id") or body.get("conversation"))
    calls: dict[tuple[str, str], str] = {}
    input_items = as_list(items)
    yield from _check_repeated_ids(input_items)
    for n, item in enumerate(input_items):
        path = f"$.input[{n}]"
        if not isinstance(item, dict):
            yield Violation(path, "an item must be an object")
            continue
        kind, id_ = str(item.get("type", "message")), str(item.get("call_id") or item.get("id"))
        follower = input_items[n + 1] if n + 1 < len(input_items) else None
        if (
            kind == "reasoning"
            and is_complete
            and (not isinstance(follower, dict) or str(follower.get("type")) in _OUTPUTS)
        ):
            yield Violation(path, "reasoning without the item that followed it", REASONING)
        if kind == "compaction_trigger" and follower is not None:
            yield Violation(path, "a compaction trigger must be the last item")
        if kind == "message":
            yield from _check_message(item, path)
        elif kind in _CALLS.values():
            calls[kind, id_] = path
        elif kind in _CALLS and calls.pop((_CALLS[kind], id_), None) is None and is_complete:
            yield Violation(path, f"no call {id_!r} before this output", PAIR)
    for (_, id_), path in calls.items():
        yield Violation(path, f"call {id_!r} has no output", PAIR)


def _check_repeated_ids(items: Sequence[Json]) -> Iterator[Violation]:
    ids: set[str] = set()
    for n, item in enumerate(items):
        id_ = item.get("id") if isinstance(item, dict) else None
        if isinstance(id_, str):
            if id_ in ids:
                yield Violation(f"$.input[{n}]", f"the item {id_!r} is in the request already", TWICE)
            ids.add(id_)


def _check_message(item: dict[str, Json], path: str) -> Iterator[Violation]:
    if str(item.get("role")) not in _ROLES:
        yield Violation(f"{path}.role", f"no such role: {item.get('role')!r}")
    if not item.get("content"):
        yield Violation(f"{path}.content", "content is required", EMPTY)
