"""Calls and their answers brought together, as every provider asks for (facts §1, §4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ctxtui.wire.translate.turns import ASSISTANT, CALL, RESULT, TEXT, THINKING, TOOL, USER, Losses, Turn, TurnPart

NO_CALL: Final = "tool results without a call"


def paired(found: Sequence[Turn], losses: Losses) -> list[Turn]:
    """The turns with every call answered directly behind its turn; what has no counterpart is left out.

    Neighbouring turns of the assistant become one: its calls must stand together in front of their answers. Ids are
    kept; one that is empty or was used before gets a number.
    """
    pairs = _Pairs(found)
    made: list[Turn] = []
    for turn in found:
        if turn.side == ASSISTANT:
            if not made or made[-1].side != ASSISTANT:
                made.append(Turn(ASSISTANT))
            made[-1].parts += pairs.asked(turn, losses)
        else:
            made += pairs.answers()
            rest = [part for part in without_calls(turn.parts, losses) if part.what != RESULT]
            made += [Turn(turn.role if turn.side == USER else USER, rest)] if rest else []
    made += pairs.answers()
    pairs.close(losses)
    _end_with_words(made, losses)
    return [turn for turn in made if turn.parts]


def without_calls(parts: Sequence[TurnPart], losses: Losses) -> list[TurnPart]:
    """`parts` without tool calls, which only the assistant makes."""
    kept = [part for part in parts if part.what != CALL]
    losses.note("tool calls that are not the assistant's", len(parts) - len(kept))
    return kept


class _Pairs:
    """The answers of a conversation by the id of their call, handed out as the calls come."""

    def __init__(self, found: Sequence[Turn]) -> None:
        self._waiting: dict[str, list[TurnPart]] = {}
        self._due: list[TurnPart] = []
        self._used: set[str] = set()
        for part in (part for turn in found for part in turn.parts if part.what == RESULT):
            self._waiting.setdefault(part.id, []).append(part)

    def asked(self, turn: Turn, losses: Losses) -> list[TurnPart]:
        """The parts of an assistant's turn that may stay; the answers to its calls become due."""
        kept: list[TurnPart] = []
        for part in turn.parts:
            if part.what == CALL and not self._waiting.get(part.id):
                losses.note("tool calls without an answer")
            elif part.what == CALL:
                id_ = self._fresh(part.id)
                kept.append(_renamed(part, id_))
                self._due.append(_renamed(self._waiting[part.id].pop(0), id_))
            elif part.what != RESULT:
                kept.append(part)
        return kept

    def answers(self) -> list[Turn]:
        """The turn of all answers that are due; none where none are."""
        due, self._due = self._due, []
        return [Turn(TOOL, due)] if due else []

    def close(self, losses: Losses) -> None:
        """Name the answers that nothing asked for."""
        losses.note(NO_CALL, sum(len(parts) for parts in self._waiting.values()))

    def _fresh(self, id_: str) -> str:
        number = len(self._used)
        while not id_ or id_ in self._used:
            number += 1
            id_ = f"call_{number}"
        self._used.add(id_)
        return id_


def _end_with_words(made: Sequence[Turn], losses: Losses) -> None:
    for turn in made:
        while turn.side == ASSISTANT and (at := _unfollowed(turn.parts)) is not None:
            # No provider takes thinking that nothing follows (facts §1, §4), and none an empty text.
            losses.note("thinking with nothing after it")
            losses.note("empty text", len(turn.parts) - at - 1)
            del turn.parts[at:]


def _unfollowed(parts: Sequence[TurnPart]) -> int | None:
    """The place of thinking that nothing follows, or nothing but empty texts."""
    at = next((n for n in range(len(parts) - 1, -1, -1) if not _is_empty(parts[n])), None)
    return at if at is not None and parts[at].what == THINKING else None


def _is_empty(part: TurnPart) -> bool:
    return part.what == TEXT and not part.reading.text.strip()


def _renamed(part: TurnPart, id_: str) -> TurnPart:
    if part.id == id_:
        return part
    value = part.value
    if isinstance(value, dict):
        key = next((k for k in ("tool_use_id", "tool_call_id", "call_id") if k in value), "id")
        value = {**value, key: id_}
    return part._replace(value=value, reading=replace(part.reading, call_id=id_))
