"""What the Anthropic Messages API refuses (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.curation.legality import tool_pairs
from ctxtui.curation.legality.tool_pairs import RoleRun, runs_of
from ctxtui.curation.legality.violation import (
    EMPTY,
    FIRST,
    LAST,
    PAIR,
    SYSTEM,
    THINKING,
    THINKING_FIRST,
    Violation,
    listed,
    roles,
)

_ROLES: Final = frozenset({"user", "assistant", "system"})
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})


def violations(body: dict[str, Json]) -> Iterator[Violation]:
    """Everything in `body` that would be answered with an error 400."""
    yield from roles(body, "messages", _ROLES)
    if isinstance(body.get("max_tokens"), bool) or not isinstance(body.get("max_tokens"), int):
        yield Violation("$.max_tokens", "max_tokens is required")
    for n, message in enumerate(listed(body.get("messages"))):
        if isinstance(message, dict):
            yield from _content(message.get("content"), f"$.messages[{n}].content")
    runs = runs_of(body)
    compaction = bool(runs) and any(part.get("type") == "compaction" for _, part in runs[0].parts[:1])
    if runs and runs[0].role != "user" and not compaction:
        yield Violation("$.messages[0].role", "the first message must be the user's", FIRST)
    yield from tool_pairs.anthropic(runs)
    yield from tool_pairs.result_violations(runs)
    yield from _turns(runs)
    yield from _ending(body)
    yield from _systems(body, runs)
    yield from _system_prompt(body.get("system"))
    yield from _thinking_first(body, runs)


def _thinking_first(body: dict[str, Json], runs: Sequence[RoleRun]) -> Iterator[Violation]:
    """With thinking enabled, the first answer after what a person said begins with thinking (facts §1)."""
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    said = [n for n, run in enumerate(runs) if any(part.get("type") != "tool_result" for _, part in run.parts)]
    last = max((n for n in said if runs[n].role == "user"), default=len(runs))
    path, part = next(((p, one) for run in runs[last + 1 :] for p, one in run.parts), ("", {}))
    if part and part.get("type") not in _THINKING:
        kind = part.get("type")
        yield Violation(path, f"with thinking enabled the turn must begin with thinking, not {kind}", THINKING_FIRST)


def prefilled(body: dict[str, Json]) -> Iterator[Violation]:
    """A conversation that ends with the assistant, which models from 4.6 on refuse."""
    messages = listed(body.get("messages"))
    if messages and isinstance(messages[-1], dict) and messages[-1].get("role") == "assistant":
        yield Violation(f"$.messages[{len(messages) - 1}]", "the conversation must end with a user message", LAST)


def _ending(body: dict[str, Json]) -> Iterator[Violation]:
    """A prefilled answer must not end with white space (facts §1, older models)."""
    messages = listed(body.get("messages"))
    last = messages[-1] if messages and isinstance(messages[-1], dict) else {}
    content = last.get("content")
    end = listed(content)[-1] if listed(content) else content
    text = end.get("text") if isinstance(end, dict) else end
    if last.get("role") == "assistant" and isinstance(text, str) and text.strip() and text != text.rstrip():
        path = f"$.messages[{len(messages) - 1}]"
        yield Violation(path, "the last answer must not end with white space", LAST)


def _turns(runs: Sequence[RoleRun]) -> Iterator[Violation]:
    """Thinking: signed, and never the end of a message; compaction: the first thing of all."""
    for n, run in enumerate(runs):
        for m, (path, part) in enumerate(run.parts):
            kind = str(part.get("type"))
            if kind in _THINKING and run.role != "assistant":
                yield Violation(path, "only the assistant thinks", THINKING)
            elif kind == "thinking" and not isinstance(part.get("signature"), str):
                yield Violation(f"{path}.signature", "thinking must be signed", THINKING)
            elif kind == "redacted_thinking" and not (isinstance(part.get("data"), str) and part["data"]):
                yield Violation(f"{path}.data", "redacted thinking must hold its data", THINKING)
            if kind == "compaction" and part.get("content") == "":
                yield Violation(f"{path}.content", "a compaction must not be empty")
            if kind in _THINKING and m == len(run.parts) - 1 and run.role == "assistant" and n < len(runs) - 1:
                yield Violation(path, "the last block of an assistant message must not be thinking", THINKING)


def _systems(body: dict[str, Json], runs: Sequence[RoleRun]) -> Iterator[Violation]:
    """System messages: behind the user, and before the assistant or last."""
    paths = {id(run): path for run, path in zip(runs, _first_paths(body, runs), strict=False)}
    for n, run in enumerate(runs):
        if run.role != "system":
            continue
        path = paths.get(id(run), "$.messages")
        before, after = runs[n - 1] if n else None, runs[n + 1] if n + 1 < len(runs) else None
        if before is None or not (before.role == "user" or _ends_with_server_result(before)):
            yield Violation(path, "a system message must follow a user message", SYSTEM)
        if after is not None and after.role != "assistant":
            yield Violation(path, "a system message must be last or be followed by the assistant", SYSTEM)


def _ends_with_server_result(run: RoleRun) -> bool:
    last = str(run.parts[-1][1].get("type")) if run.parts else ""
    return run.role == "assistant" and last.endswith("_tool_result")


def _first_paths(body: dict[str, Json], runs: Sequence[RoleRun]) -> Iterator[str]:
    role: Json = None
    for n, message in enumerate(listed(body.get("messages"))):
        if isinstance(message, dict) and (n == 0 or message.get("role") != role):
            role = message.get("role")
            yield f"$.messages[{n}]"


def _system_prompt(system: Json) -> Iterator[Violation]:
    for n, part in enumerate(listed(system)):
        if not isinstance(part, dict) or part.get("type") != "text":
            yield Violation(f"$.system[{n}]", "the system prompt is made of texts")
        elif not str(part.get("text") or "").strip():
            yield Violation(f"$.system[{n}].text", "text must not be empty", EMPTY)


def _content(content: Json, path: str) -> Iterator[Violation]:
    if isinstance(content, str):
        if not content.strip():
            yield Violation(path, "text must not be empty", EMPTY)
    elif not isinstance(content, list) or not content:
        yield Violation(path, "content must not be empty", EMPTY)
    for m, part in enumerate(listed(content)):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            yield Violation(f"{path}[{m}]", "a content part must be an object with a type")
        elif part["type"] == "text" and not str(part.get("text") or "").strip():
            yield Violation(f"{path}[{m}].text", "text must not be empty", EMPTY)
        elif part["type"] == "tool_use" and not isinstance(part.get("input"), dict):
            yield Violation(f"{path}[{m}].input", "a call's input must be an object", PAIR)
