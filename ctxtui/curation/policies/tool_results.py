"""Tools in a context: results and calls by tool, what was read."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from ctxtui.core.block_content import arguments_value
from ctxtui.core.canonical import Json
from ctxtui.curation.policies.situation import PolicyContext

CLEARED: Final = "[Old tool result content cleared]"
"""What stands in the place of a result that was cleared."""

PATHS: Final = ("file_path", "path", "notebook_path", "filename", "file", "uri", "url")


def results(situation: PolicyContext) -> list[int]:
    """The positions that hold the words of tool results, in order."""
    return situation.results


def longer(situation: PolicyContext, limit: float) -> list[int]:
    """Those of more than `limit` characters."""

    def work(length: int, found: list[int] | None) -> list[int]:
        found = [] if found is None else found
        here = results(situation)
        more = (p for p in here[bisect_left(here, length) :] if len(situation.context.reading(p).text) > limit)
        return [*found, *more]

    return situation.outline(f"results longer than {limit}", work)


def call_of(situation: PolicyContext, position: int) -> int | None:
    """The position of the call that the result at `position` answers."""
    context = situation.context
    partners = context.partners.get(position)
    if partners is None and (message := context.message_at(position)) is not None:
        partners = context.partners.get(message.start)
    return partners[0] if partners else None


def tool_of(situation: PolicyContext, position: int) -> str:
    """The name of the tool whose result stands at `position`; "" where it is not known."""
    call = call_of(situation, position)
    return situation.context.reading(call).name if call is not None else ""


def given(situation: PolicyContext, call: int) -> dict[str, Json]:
    """The input of the call at a position; empty where it is no object."""
    value = arguments_value(situation.context.reading(call))
    return value if isinstance(value, dict) else {}


def path_of(situation: PolicyContext, position: int) -> str:
    """The file that the call behind the result at `position` was about; "" where its input names none."""
    call = call_of(situation, position)
    if call is None:
        return ""
    told = given(situation, call)
    return next((str(told[key]) for key in PATHS if isinstance(told.get(key), str)), "")
