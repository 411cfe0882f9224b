"""Checks a request body against the rules of the Anthropic Messages API (facts §1).

`legality.check` calls `violations`, and `check_prefill` for models without prefill. A *run* is a sequence of adjacent
messages of one role: the API reads them as one message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_list
from ctxtui.curation.legality.violation import (
    EMPTY,
    ERROR,
    FIRST,
    LAST,
    PAIR,
    RESULTS_FIRST,
    SYSTEM,
    TEXT,
    THINKING,
    THINKING_FIRST,
    Violation,
    check_roles,
)

_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
"""Calls that the provider runs. Their results end in ``_tool_result``."""


def _check_pairs(runs: Sequence[RoleRun]) -> Iterator[Violation]:
    """Check calls and results: pairing, order, roles, unique ids."""
    call_ids: set[str] = set()
    nothing = RoleRun("")
    for before, run, next_run in zip([nothing, *runs], runs, [*runs[1:], nothing], strict=False):
        answered = next_run.ids("tool_result", "tool_use_id") if next_run.role == "user" else set()
        asked_ids = before.ids("tool_use", "id") if before.role == "assistant" else set()
        has_other, answered_ids = False, set[str]()
        yield from _check_server_calls(run, next_run, call_ids)
        for path, part in run.parts:
            if part.get("type") == "tool_use":
                yield from _check_call(run, path, str(part.get("id") or ""), answered, call_ids)
            elif part.get("type") == "tool_result":
                yield from _check_answer(run, path, str(part.get("tool_use_id")), asked_ids, answered_ids, has_other)
            has_other = has_other or part.get("type") != "tool_result"


def _check_call(run: RoleRun, path: str, id_: str, answered: set[Json], call_ids: set[str]) -> Iterator[Violation]:
    if run.role != "assistant":
        yield Violation(path, "only the assistant calls tools", PAIR)
    elif id_ not in answered:
        yield Violation(path, f"call {id_!r} has no result in the message after it", PAIR)
    if not id_ or id_ in call_ids:
        yield Violation(f"{path}.id", "ids of calls must be unique", PAIR)
    call_ids.add(id_)


def _check_answer(
    run: RoleRun, path: str, id_: str, asked_ids: set[Json], answered_ids: set[str], has_other: bool
) -> Iterator[Violation]:
    if run.role != "user":
        yield Violation(path, "tool results belong in user messages", PAIR)
    elif id_ not in asked_ids:
        yield Violation(path, f"no call {id_!r} in the message before", PAIR)
    elif id_ in answered_ids:
        yield Violation(path, f"call {id_!r} has a result already", PAIR)
    elif has_other:
        yield Violation(path, "tool results must come first in their message", RESULTS_FIRST)
    answered_ids.add(id_)


def _check_server_calls(run: RoleRun, next_run: RoleRun, call_ids: set[str]) -> Iterator[Violation]:
    """Check calls of the provider's own tools (web search and others), and of MCP servers.

    A ``server_tool_use`` needs its result later in the same run. It may lack the result (the provider paused) if the
    next run is missing, is not the user's, or has only tool results.
    """
    open_: dict[str, str] = {}
    for path, part in run.parts:
        kind = str(part.get("type"))
        is_call, is_result = kind in _SERVER_CALLS, kind.endswith("_tool_result")
        if (is_call or is_result) and run.role != "assistant":
            yield Violation(path, f"{kind} belongs in assistant messages", PAIR)
        elif is_call:
            id_ = str(part.get("id"))
            if id_ in call_ids:
                yield Violation(f"{path}.id", "ids of calls must be unique", PAIR)
            call_ids.add(id_)
            if kind == "server_tool_use":
                open_[id_] = path
        elif is_result and kind != "mcp_tool_result":
            id_ = str(part.get("tool_use_id"))
            if open_.pop(id_, None) is None:
                yield Violation(path, f"no call {id_!r} before it in its message", PAIR)
    kinds = {str(part.get("type")) for _, part in next_run.parts}
    if next_run.role == "user" and kinds != {"tool_result"}:
        for id_, path in open_.items():
            yield Violation(path, f"the provider's call {id_!r} has no result in its message", PAIR)


def _result_violations(runs: Sequence[RoleRun]) -> Iterator[Violation]:
    """Find empty texts inside results, and errors that hold more than text."""
    for path, part in (pair for run in runs for pair in run.parts):
        if part.get("type") == "tool_result":
            parts = [item for item in as_list(part.get("content")) if isinstance(item, dict)]
            yield from _check_texts(path, parts)
            if part.get("is_error") is True:
                yield from _check_error_result(path, parts)


def _check_texts(path: str, parts: Sequence[dict[str, Json]]) -> Iterator[Violation]:
    if any(part.get("type") == "text" and not str(part.get("text") or "").strip() for part in parts):
        yield Violation(f"{path}.content", "text must not be empty inside a result", TEXT)


def _check_error_result(path: str, parts: Sequence[dict[str, Json]]) -> Iterator[Violation]:
    other_types = {str(part.get("type")) for part in parts} - {"text"}
    if other_types:
        yield Violation(
            f"{path}.content", f"a result that is an error holds text alone, not {sorted(other_types)}", ERROR
        )


class RoleRun(Struct):
    """Adjacent messages of one role, as one list of parts with their JSON paths.

    `path` is that of the first message.
    """

    role: Json
    path: str = ""
    parts: list[tuple[str, dict[str, Json]]] = field(default_factory=list)

    def ids(self, kind: str, key: str) -> set[Json]:
        return {str(part.get(key)) for _, part in self.parts if part.get("type") == kind}


def role_runs(body: dict[str, Json]) -> list[RoleRun]:
    """Group the messages of a request body into runs."""
    runs: list[RoleRun] = []
    for n, message in enumerate(as_list(body.get("messages"))):
        if not isinstance(message, dict):
            continue
        if not runs or runs[-1].role != message.get("role"):
            runs.append(RoleRun(message.get("role"), f"$.messages[{n}]"))
        content = message.get("content")
        # A string is one text.
        parts = [{"type": "text"}] if isinstance(content, str) else as_list(content)
        runs[-1].parts += [(f"$.messages[{n}].content[{m}]", p) for m, p in enumerate(parts) if isinstance(p, dict)]
    return runs


_ROLES: Final = frozenset({"user", "assistant", "system"})
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})


def violations(body: dict[str, Json]) -> Iterator[Violation]:
    """Find the rules that a request body breaks."""
    yield from check_roles(body, _ROLES)
    if isinstance(body.get("max_tokens"), bool) or not isinstance(body.get("max_tokens"), int):
        yield Violation("$.max_tokens", "max_tokens is required")
    for n, message in enumerate(as_list(body.get("messages"))):
        if isinstance(message, dict):
            yield from _check_content(message.get("content"), f"$.messages[{n}].content")
    runs = role_runs(body)
    compaction = bool(runs) and any(part.get("type") == "compaction" for _, part in runs[0].parts[:1])
    if runs and runs[0].role != "user" and not compaction:
        yield Violation("$.messages[0].role", "the first message must be the user's", FIRST)
    yield from _check_pairs(runs)
    yield from _result_violations(runs)
    yield from _check_thinking_blocks(runs)
    yield from _check_ending(body)
    yield from _check_systems(runs)
    yield from _check_system_prompt(body.get("system"))
    yield from _check_thinking_first(body, runs)


def _check_thinking_first(body: dict[str, Json], runs: Sequence[RoleRun]) -> Iterator[Violation]:
    """If thinking is enabled, require it first after the user's last message (facts §1).

    A message with only tool results does not count.
    """
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    with_text = [n for n, run in enumerate(runs) if any(part.get("type") != "tool_result" for _, part in run.parts)]
    last = max((n for n in with_text if runs[n].role == "user"), default=len(runs))
    path, part = next(((p, part) for run in runs[last + 1 :] for p, part in run.parts), ("", {}))
    if part and part.get("type") not in _THINKING:
        kind = part.get("type")
        yield Violation(path, f"with thinking enabled the turn must begin with thinking, not {kind}", THINKING_FIRST)


def check_prefill(body: dict[str, Json]) -> Iterator[Violation]:
    """Find a conversation that ends with the assistant, which models from 4.6 on refuse.

    They accept a paused turn, which ends with a call or result of a server tool or MCP.
    """
    messages, runs = as_list(body.get("messages")), role_runs(body)
    if not runs or runs[-1].role != "assistant":
        return
    kind = _last_kind(runs[-1])
    if kind not in _SERVER_CALLS and not kind.endswith("_tool_result"):
        yield Violation(f"$.messages[{len(messages) - 1}]", "the conversation must end with a user message", LAST)


def _check_ending(body: dict[str, Json]) -> Iterator[Violation]:
    """Check that a prefilled answer does not end with white space (facts §1)."""
    messages = as_list(body.get("messages"))
    last = messages[-1] if messages and isinstance(messages[-1], dict) else {}
    content = last.get("content")
    end = as_list(content)[-1] if as_list(content) else content
    text = end.get("text") if isinstance(end, dict) else end
    if last.get("role") == "assistant" and isinstance(text, str) and text.strip() and text != text.rstrip():
        path = f"$.messages[{len(messages) - 1}]"
        yield Violation(path, "the last answer must not end with white space", LAST)


def _check_thinking_blocks(runs: Sequence[RoleRun]) -> Iterator[Violation]:
    for n, run in enumerate(runs):
        for m, (path, part) in enumerate(run.parts):
            kind = str(part.get("type"))
            if kind in _THINKING and run.role != "assistant":
                yield Violation(path, "thinking belongs in assistant messages", THINKING)
            elif kind == "thinking" and not isinstance(part.get("signature"), str):
                yield Violation(f"{path}.signature", "thinking must be signed", THINKING)
            elif kind == "redacted_thinking" and not (isinstance(part.get("data"), str) and part["data"]):
                yield Violation(f"{path}.data", "redacted thinking must hold its data", THINKING)
            if kind == "compaction" and part.get("content") == "":
                yield Violation(f"{path}.content", "a compaction must not be empty")
            if kind in _THINKING and m == len(run.parts) - 1 and run.role == "assistant" and n < len(runs) - 1:
                yield Violation(path, "the last block of an assistant message must not be thinking", THINKING)


def _check_systems(runs: Sequence[RoleRun]) -> Iterator[Violation]:
    for n, run in enumerate(runs):
        if run.role != "system":
            continue
        before, after = runs[n - 1] if n else None, runs[n + 1] if n + 1 < len(runs) else None
        if before is None or not (before.role == "user" or _ends_with_server_result(before)):
            yield Violation(run.path, "a system message must follow a user message", SYSTEM)
        if after is not None and after.role != "assistant":
            yield Violation(run.path, "a system message must be last or be followed by the assistant", SYSTEM)


def _ends_with_server_result(run: RoleRun) -> bool:
    return run.role == "assistant" and _last_kind(run).endswith("_tool_result")


def _last_kind(run: RoleRun) -> str:
    return str(run.parts[-1][1].get("type")) if run.parts else ""


def _check_system_prompt(system: Json) -> Iterator[Violation]:
    for n, part in enumerate(as_list(system)):
        if not isinstance(part, dict) or part.get("type") != "text":
            yield Violation(f"$.system[{n}]", "the system prompt is made of texts")
        elif not str(part.get("text") or "").strip():
            yield Violation(f"$.system[{n}].text", "text must not be empty", EMPTY)


def _check_content(content: Json, path: str) -> Iterator[Violation]:
    if isinstance(content, str):
        if not content.strip():
            yield Violation(path, "text must not be empty", EMPTY)
    elif not isinstance(content, list) or not content:
        yield Violation(path, "content must not be empty", EMPTY)
    for m, part in enumerate(as_list(content)):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            yield Violation(f"{path}[{m}]", "a content part must be an object with a type")
        elif part["type"] == "text" and not str(part.get("text") or "").strip():
            yield Violation(f"{path}[{m}].text", "text must not be empty", EMPTY)
        elif part["type"] == "tool_use" and not isinstance(part.get("input"), dict):
            yield Violation(f"{path}[{m}].input", "a call's input must be an object", PAIR)
