"""Violations of a provider's rules: found by `legality`, placed and repaired by `repair`.

The constants name the rules; a rule with a name can be repaired, except `SIZE`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_list


class Violation(NamedTuple):
    """One thing that the provider would refuse: JSON path, description, violated rule.

    `rule` is "" for a rule that has no name and cannot be repaired.
    """

    path: str
    message: str
    rule: str = ""


class PlacedViolation(NamedTuple):
    """A `violation` and the raw position that it is about; -1 if it is about the whole."""

    violation: Violation
    position: int = -1


PAIR: Final = "pair"  # a call has its result, and a result its call
RESULTS_FIRST: Final = "results first"  # results come before other parts of their message
FIRST: Final = "first"  # the user begins
LAST: Final = "last"  # the user ends
EMPTY: Final = "empty"  # messages and their texts are not empty
THINKING: Final = "thinking"  # thinking is signed, the assistant's, and not last
SYSTEM: Final = "system"  # a system message is where the provider takes one
MARKERS: Final = "markers"  # cache breakpoints: number, positions, lifetimes
TOOL: Final = "tool"  # tool names are valid and unique
TEXT: Final = "text"  # texts inside results are not empty
CHARACTERS: Final = "characters"  # no NUL, no half of a surrogate pair
IMAGES: Final = "images"
DOCUMENTS: Final = "documents"
ERROR: Final = "error result"  # a result that is an error holds text alone
REASONING: Final = "reasoning"  # reasoning is followed by its item
ENCRYPTED: Final = "encrypted"
REFERENCE: Final = "tool reference"  # a referenced tool is defined
THINKING_FIRST: Final = "thinking first"  # with thinking enabled, a turn begins with it
SIZE: Final = "size"
TWICE: Final = "twice"  # no item is there twice


def check_roles(body: dict[str, Json], valid_roles: frozenset[str]) -> Iterator[Violation]:
    """Check that there are messages, and that each is an object with a role in `valid_roles`."""
    messages = as_list(body.get("messages"))
    if not messages:
        yield Violation("$.messages", "at least one message is required")
    for n, message in enumerate(messages):
        if not isinstance(message, dict):
            yield Violation(f"$.messages[{n}]", "a message must be an object")
        elif str(message.get("role")) not in valid_roles:
            yield Violation(f"$.messages[{n}].role", f"no such role: {message.get('role')!r}")
