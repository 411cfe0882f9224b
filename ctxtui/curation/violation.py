"""What a provider would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ctxtui.core.canonical import Json


class Violation(NamedTuple):
    """One thing the provider would refuse: where it is (a JSON path), and what is wrong with it."""

    path: str
    message: str


def listed(value: Json) -> list[Json]:
    """`value` where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def roles(body: dict[str, Json], key: str, known: frozenset[str]) -> Iterator[Violation]:
    """Whether there are messages under `key`, and whether each is an object with a role in `known`."""
    messages = listed(body.get(key))
    if not messages:
        yield Violation(f"$.{key}", "at least one message is required")
    for n, message in enumerate(messages):
        if not isinstance(message, dict):
            yield Violation(f"$.{key}[{n}]", "a message must be an object")
        elif message.get("role") not in known:
            yield Violation(f"$.{key}[{n}].role", f"no such role: {message.get('role')!r}")
