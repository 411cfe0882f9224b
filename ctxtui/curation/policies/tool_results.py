"""Finds tool results in a context, with their calls, tools and files, for policies."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from ctxtui.core.block_content import arguments_value
from ctxtui.core.canonical import Json
from ctxtui.curation.policies.policy_context import PolicyContext

CLEARED: Final = "[Old tool result content cleared]"
"""Text that replaces a cleared result."""

PATHS: Final = ("file_path", "path", "notebook_path", "filename", "file", "uri", "url")
"""Members of a call's input that may hold the path of a file; the first present one counts."""


def longer_than(policy_context: PolicyContext, limit: float) -> list[int]:
    """The positions of results with more than `limit` characters."""

    def work(length: int, long_results: list[int] | None) -> list[int]:
        long_results = [] if long_results is None else long_results
        positions = policy_context.results
        more = (
            p
            for p in positions[bisect_left(positions, length) :]
            if len(policy_context.context.reading(p).text) > limit
        )
        return [*long_results, *more]

    return policy_context.outline(f"results longer than {limit}", work)


def tool_of(policy_context: PolicyContext, position: int) -> str:
    """The name of the tool with the result at `position`; "" if unknown."""
    call = policy_context.context.answered_call(position)
    return policy_context.context.reading(call).name if call is not None else ""


def call_input(policy_context: PolicyContext, call: int) -> dict[str, Json]:
    value = arguments_value(policy_context.context.reading(call))
    return value if isinstance(value, dict) else {}


def path_of(policy_context: PolicyContext, position: int) -> str:
    """The file in the input of the call with the result at `position`; "" if there is none."""
    call = policy_context.context.answered_call(position)
    if call is None:
        return ""
    call_arguments = call_input(policy_context, call)
    return next((str(call_arguments[key]) for key in PATHS if isinstance(call_arguments.get(key), str)), "")
