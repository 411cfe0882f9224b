"""Pair tool calls with their results, as every provider requires (facts §1, §4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.wire.input_items import AGENT_ITEM
from ctxtui.wire.translate.turns import ASSISTANT, CALL, RESULT, TEXT, THINKING, TOOL, USER, Losses, Turn, TurnPart

NO_CALL: Final = "tool results without a call"


def pair_calls(turns: Sequence[Turn], losses: Losses) -> list[Turn]:
    """Put the results of each turn's calls directly after the turn.

    Calls and results without counterpart are dropped, and so is thinking at the end of a turn. Neighbouring assistant
    turns are merged: their calls must be together before the results. An empty or reused id is replaced.
    """
    pending = _PendingResults(turns)
    paired: list[Turn] = []
    for turn in turns:
        if turn.side == ASSISTANT:
            if not paired or paired[-1].side != ASSISTANT:
                paired.append(Turn(ASSISTANT))
            paired[-1].parts += pending.keep_answered_calls(turn, losses)
        else:
            paired += pending.release()
            other_parts = [part for part in without_calls(turn.parts, losses) if part.category != RESULT]
            paired += [Turn(turn.role if turn.side == USER else USER, other_parts)] if other_parts else []
    paired += pending.release()
    pending.note_unmatched(losses)
    _drop_trailing_thinking(paired, losses)
    return [turn for turn in paired if turn.parts]


def without_calls(parts: Sequence[TurnPart], losses: Losses) -> list[TurnPart]:
    """Drop tool calls, which only the assistant makes."""
    other_parts = [part for part in parts if part.category != CALL]
    losses.note("tool calls that are not the assistant's", len(parts) - len(other_parts))
    return other_parts


class _PendingResults:
    """The results of a conversation by call id, released as the calls are met."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._waiting: dict[str, list[TurnPart]] = {}
        self._due: list[TurnPart] = []
        self._used: set[str] = set()
        for part in (part for turn in turns for part in turn.parts if part.category == RESULT):
            self._waiting.setdefault(part.id, []).append(part)

    def keep_answered_calls(self, turn: Turn, losses: Losses) -> list[TurnPart]:
        """Drop results and unanswered calls of an assistant's turn; queue the results of the others."""
        parts: list[TurnPart] = []
        for part in turn.parts:
            if part.category == CALL and not self._waiting.get(part.id):
                losses.note("tool calls without an answer")
            elif part.category == CALL:
                id_ = self._unique_id(part.id)
                parts.append(_with_id(part, id_))
                self._due.append(_with_id(self._waiting[part.id].pop(0), id_))
            elif part.category != RESULT:
                parts.append(part)
        return parts

    def release(self) -> list[Turn]:
        """A turn with all queued results, or none."""
        due, self._due = self._due, []
        return [Turn(TOOL, due)] if due else []

    def note_unmatched(self, losses: Losses) -> None:
        losses.note(NO_CALL, sum(len(parts) for parts in self._waiting.values()))

    def _unique_id(self, id_: str) -> str:
        number = len(self._used)
        while not id_ or id_ in self._used:
            number += 1
            id_ = f"call_{number}"
        self._used.add(id_)
        return id_


def _drop_trailing_thinking(turns: Sequence[Turn], losses: Losses) -> None:
    for turn, next_turn in zip_longest(turns, turns[1:]):
        if next_turn is not None and next_turn.parts and next_turn.parts[0].kind == AGENT_ITEM:
            continue
        while turn.side == ASSISTANT and (at := _trailing_thinking(turn.parts)) is not None:
            # No provider accepts thinking before the user's side (facts §1, §4), or empty text.
            losses.note("thinking with nothing after it")
            losses.note("empty text", len(turn.parts) - at - 1)
            del turn.parts[at:]


def _trailing_thinking(parts: Sequence[TurnPart]) -> int | None:
    index = next((n for n in range(len(parts) - 1, -1, -1) if not _is_empty(parts[n])), None)
    return index if index is not None and parts[index].category == THINKING else None


def _is_empty(part: TurnPart) -> bool:
    return part.category == TEXT and not part.reading.text.strip()


def _with_id(part: TurnPart, id_: str) -> TurnPart:
    if part.id == id_:
        return part
    value = part.value
    if isinstance(value, dict):
        value = _with_member_id(value, id_)
    return part._replace(value=value, reading=replace(part.reading, call_id=id_))


def _with_member_id(value: dict[str, Json], id_: str) -> dict[str, Json]:
    """A call or a result as its provider writes it, with another id."""
    for name in ("functionCall", "functionResponse"):
        # Google's id is inside; it refuses a part with a member that it does not know.
        inner = value.get(name)
        if isinstance(inner, dict):
            return {**value, name: {**inner, "id": id_}}
    return {**value, next((k for k in ("tool_use_id", "tool_call_id", "call_id") if k in value), "id"): id_}
