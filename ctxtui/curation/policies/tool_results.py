"""Tool results in a context, with their calls and files."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from ctxtui.core.block_content import arguments_value
from ctxtui.core.canonical import Json
from ctxtui.curation.policies.situation import PolicyContext

CLEARED: Final = "[Old tool result content cleared]"
"""Text that replaces a cleared result."""

PATHS: Final = ("file_path", "path", "notebook_path", "filename", "file", "uri", "url")


def results(situation: PolicyContext) -> list[int]:
    """The positions with the text of tool results, in order."""
    return situation.results


def longer_than(situation: PolicyContext, limit: float) -> list[int]:
    """The positions of results with more than `limit` characters."""

    def work(length: int, found: list[int] | None) -> list[int]:
        found = [] if found is None else found
        here = results(situation)
        more = (p for p in here[bisect_left(here, length) :] if len(situation.context.reading(p).text) > limit)
        return [*found, *more]

    return situation.outline(f"results longer than {limit}", work)


def call_of(situation: PolicyContext, position: int) -> int | None:
    """The position of the call that the result at `position` answers; None if unknown."""
    context = situation.context
    partners = context.partners.get(position)
    if partners is None and (message := context.message_at(position)) is not None:
        partners = context.partners.get(message.start)
    return partners[0] if partners else None


def tool_of(situation: PolicyContext, position: int) -> str:
    """The name of the tool with the result at `position`; "" if unknown."""
    call = call_of(situation, position)
    return situation.context.reading(call).name if call is not None else ""


def call_input(situation: PolicyContext, call: int) -> dict[str, Json]:
    """The input of the call at a position; empty if it is no object."""
    value = arguments_value(situation.context.reading(call))
    return value if isinstance(value, dict) else {}


def path_of(situation: PolicyContext, position: int) -> str:
    """The file in the input of the call with the result at `position`; "" if there is none."""
    call = call_of(situation, position)
    if call is None:
        return ""
    call_arguments = call_input(situation, call)
    return next((str(call_arguments[key]) for key in PATHS if isinstance(call_arguments.get(key), str)), "")
