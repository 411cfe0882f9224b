"""The table of oddities, and how most of their scripts begin."""

from __future__ import annotations

from collections.abc import Callable

from tests.cases.claude_code import Script, text, usage

ODDITIES: dict[str, Callable[[], bytes]] = {}


def odd(make: Callable[[], bytes]) -> Callable[[], bytes]:
    ODDITIES[make.__name__] = make
    return make


def hello(script: Script, id: str = "msg_1", read: int = 0, write: int = 1000) -> Script:
    """A question and its answer."""
    script.user("hello")
    script.assistant(text("hi"), id=id, use=usage(read=read, write=write, output=5), stop="end_turn")
    return script
