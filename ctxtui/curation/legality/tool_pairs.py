"""Calls and their results in Anthropic's messages, of which neighbours with one role count as one (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.curation.legality.violation import ERROR, PAIR, RESULTS_FIRST, TEXT, Violation, listed

_ELSEWHERE: Final = frozenset({"tool_result", "mcp_tool_result"})
"""Results whose calls are not the provider's own tools."""


def anthropic(runs: Sequence[RoleRun]) -> Iterator[Violation]:
    """Every call answered in the next message, every answer first in its message and asked for in the one before."""
    seen: set[str] = set()
    nothing = RoleRun("")
    for before, run, after in zip([nothing, *runs], runs, [*runs[1:], nothing], strict=False):
        answered = after.ids("tool_result", "tool_use_id") if after.role == "user" else set()
        asked = before.ids("tool_use", "id") if before.role == "assistant" else set()
        other, told = False, set[str]()
        yield from _served(run, after)
        for path, part in run.parts:
            if part.get("type") == "tool_use":
                yield from _call(run, path, str(part.get("id") or ""), answered, seen)
            elif part.get("type") == "tool_result":
                yield from _answer(run, path, str(part.get("tool_use_id")), asked, told, other)
            other = other or part.get("type") != "tool_result"


def _call(run: RoleRun, path: str, id_: str, answered: set[Json], seen: set[str]) -> Iterator[Violation]:
    if run.role != "assistant":
        yield Violation(path, "only the assistant calls tools", PAIR)
    elif id_ not in answered:
        yield Violation(path, f"call {id_!r} has no result in the message after it", PAIR)
    if not id_ or id_ in seen:
        yield Violation(f"{path}.id", "ids of calls must be unique", PAIR)
    seen.add(id_)


def _answer(run: RoleRun, path: str, id_: str, asked: set[Json], told: set[str], other: bool) -> Iterator[Violation]:
    if run.role != "user":
        yield Violation(path, "tool results belong into user messages", PAIR)
    elif id_ not in asked:
        yield Violation(path, f"no call {id_!r} in the message before", PAIR)
    elif id_ in told:
        yield Violation(path, f"call {id_!r} has a result already", PAIR)
    elif other:
        yield Violation(path, "tool results must stand first in their message", RESULTS_FIRST)
    told.add(id_)


def _served(run: RoleRun, after: RoleRun) -> Iterator[Violation]:
    """The provider's own calls: answered behind them in the same message, or, where it paused, still open with
    nothing but results behind."""
    open_: dict[str, str] = {}
    for path, part in run.parts:
        kind = str(part.get("type"))
        if kind == "server_tool_use":
            open_[str(part.get("id"))] = path
        elif kind.endswith("_tool_result") and kind not in _ELSEWHERE:
            id_ = str(part.get("tool_use_id"))
            if open_.pop(id_, None) is None:
                yield Violation(path, f"no call {id_!r} before it in its message", PAIR)
    kinds = {str(part.get("type")) for _, part in after.parts}
    if after.role == "user" and kinds != {"tool_result"}:
        for id_, path in open_.items():
            yield Violation(path, f"the provider's call {id_!r} has no result in its message", PAIR)


def result_violations(runs: Sequence[RoleRun]) -> Iterator[Violation]:
    """Empty texts inside a result, and an error that holds more than text."""
    for path, part in (found for run in runs for found in run.parts):
        if part.get("type") == "tool_result":
            inside = [one for one in listed(part.get("content")) if isinstance(one, dict)]
            yield from _texts(path, inside)
            if part.get("is_error") is True:
                yield from _error(path, inside)


def _texts(path: str, inside: Sequence[dict[str, Json]]) -> Iterator[Violation]:
    if any(one.get("type") == "text" and not str(one.get("text") or "").strip() for one in inside):
        yield Violation(f"{path}.content", "text must not be empty inside a result", TEXT)


def _error(path: str, inside: Sequence[dict[str, Json]]) -> Iterator[Violation]:
    others = {str(one.get("type")) for one in inside} - {"text"}
    if others:
        yield Violation(f"{path}.content", f"a result that is an error holds text alone, not {sorted(others)}", ERROR)


class RoleRun(Struct):
    """Neighbouring messages of one role: their parts with their JSON paths."""

    role: Json
    parts: list[tuple[str, dict[str, Json]]] = field(default_factory=list)

    def ids(self, kind: str, key: str) -> set[Json]:
        """What the parts of `kind` hold under `key`, as strings."""
        return {str(part.get(key)) for _, part in self.parts if part.get("type") == kind}


def runs_of(body: dict[str, Json]) -> list[RoleRun]:
    """The runs of an Anthropic `body`, in order."""
    runs: list[RoleRun] = []
    for n, message in enumerate(listed(body.get("messages"))):
        if not isinstance(message, dict):
            continue
        if not runs or runs[-1].role != message.get("role"):
            runs.append(RoleRun(message.get("role")))
        content = message.get("content")
        parts = [{"type": "text"}] if isinstance(content, str) else listed(content)
        runs[-1].parts += [(f"$.messages[{n}].content[{m}]", p) for m, p in enumerate(parts) if isinstance(p, dict)]
    return runs
