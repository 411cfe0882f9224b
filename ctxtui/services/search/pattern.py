"""What is looked for: a text or a regular expression, with smart case; never longer than a moment per block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

from ctxtui.core.errors import BadPattern

PATIENCE: Final = 2.0
"""Seconds for one block: an expression that takes longer goes through it again and again."""

_GLANCE: Final = 0.005
_ESCAPED: Final = re.compile(r"\\.")
_RUN: Final = re.compile("[A-Za-z0-9_]+")
_BRANCHING: Final = re.compile(r"[|(\[{\\]")
_JOINT: Final = re.compile(r"[.^$]|.?[*?]|\+")


class Pattern:
    """`text` as it is, or with `regex` as a regular expression. Capital letters in it make case matter.

    Raises `BadPattern`; so do its methods where the expression takes more than `PATIENCE` seconds for one text. The
    interpreter's lock is not held while a text is searched.
    """

    def __init__(self, text: str, *, regex: bool = False) -> None:
        self.text = text
        self.regex = regex
        self.exact = any(char.isupper() for char in (_ESCAPED.sub("", text) if regex else text))
        self._engine, self._compiled = _compiled(text, regex, self.exact)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The hits in `text`, from left to right; empty ones are none."""
        try:
            for found in self._compiled.finditer(text, timeout=PATIENCE, concurrent=True):
                if found.end() > found.start():
                    yield found.span()
        except TimeoutError:
            raise BadPattern(
                f"the expression takes too long: {self.text}", way_out="repetitions inside repetitions do"
            ) from None

    def glance(self, text: str) -> list[tuple[int, int]]:
        """As `spans`, for one line that is drawn: none where that takes longer than a key press may."""
        try:
            found = self._compiled.finditer(text, timeout=_GLANCE)
            return [one.span() for one in found if one.end() > one.start()]
        except TimeoutError:
            return []

    @cached_property
    def literals(self) -> list[str]:
        """Texts that every hit holds; of an expression that branches none is known."""
        if not self.regex:
            return [self.text]
        return [] if _BRANCHING.search(self.text) else [part for part in _JOINT.split(self.text) if part]

    @cached_property
    def may_hold(self) -> Callable[[bytes], bool]:
        """Whether JSON may have a hit among its strings, told by its bytes: JSON spells letters and digits in one way
        (the others by ``\\u`` and four digits in more than one)."""
        runs = [run for literal in self.literals for run in _RUN.findall(literal)]
        if not runs:
            return lambda body: True
        longest = max(runs, key=len).encode()
        if self.exact:
            return lambda body: longest in body
        search = self._engine.compile(longest, self._engine.IGNORECASE).search
        return lambda body: search(body, concurrent=True) is not None


def _compiled(text: str, regex: bool, exact: bool) -> tuple[Any, Any]:
    # Imported here: most runs search nothing.
    import regex as engine  # type: ignore[import-untyped]

    flags = engine.MULTILINE | (engine.V0 if exact else engine.V0 | engine.IGNORECASE)
    try:
        return engine, engine.compile(text if regex else engine.escape(text, special_only=True), flags)
    except engine.error as error:
        place = f"character {error.pos + 1}" if error.pos is not None else ""
        raise BadPattern(f"no regular expression: {error.msg}", place=place) from error
