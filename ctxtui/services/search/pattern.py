"""Search patterns: text or regular expressions, smart case, a time limit per block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

from ctxtui.core.errors import BadPattern

TIMEOUT: Final = 2.0
"""Seconds for one block: an expression that takes longer backtracks excessively."""

_LINE_TIMEOUT: Final = 0.005
"""For one line that is being drawn."""
_ESCAPED: Final = re.compile(r"\\.")
_RUN: Final = re.compile("[A-Za-z0-9_]+")
"""Letters and digits, which JSON writes as they are."""
_OTHER_CASES: Final = {"i": "(?:i|\u0130|\\\\u0130)", "k": "(?:k|\u212a|\\\\u212a)", "s": "(?:s|\u017f|\\\\u017f)"}
"""Letters that have another case beyond ASCII, as regular expressions for their spellings in JSON."""
_BRANCHING: Final = re.compile(r"[|(\[{\\]")
"""Signs of a regular expression with alternatives or classes: perhaps no text is in all its hits."""
_JOINT: Final = re.compile(r"[.^$]|.?[*?]|\+")
"""Parts of a regular expression between which the text is literal."""


class Pattern:
    """A search pattern: plain `text` or, with `regex`, a regular expression.

    Capital letters make it case-sensitive. Raises `BadPattern`, as `spans` does if the expression takes more than
    `TIMEOUT` seconds for one text.
    """

    def __init__(self, text: str, *, regex: bool = False) -> None:
        self.text = text
        self.regex = regex
        self.exact = any(char.isupper() for char in (_ESCAPED.sub("", text) if regex else text))
        self._engine, self._compiled = _compile(text, regex, self.exact)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the non-empty hits in `text`, from left to right."""
        try:
            for match in self._compiled.finditer(text, timeout=TIMEOUT, concurrent=True):
                if match.end() > match.start():
                    yield match.span()
        except TimeoutError:
            raise BadPattern(
                f"the expression takes too long: {self.text}",
                way_out="avoid a repetition inside a repetition, such as (a+)+",
            ) from None

    def line_spans(self, text: str) -> list[tuple[int, int]]:
        """The hits in one line that is being drawn; none if that takes longer than a key press may."""
        try:
            matches = self._compiled.finditer(text, timeout=_LINE_TIMEOUT)
            return [match.span() for match in matches if match.end() > match.start()]
        except TimeoutError:
            return []

    @cached_property
    def literals(self) -> list[str]:
        """Strings that every hit contains, apart from case; empty for most expressions."""
        if not self.regex:
            return [self.text]
        return [] if _BRANCHING.search(self.text) else [part for part in _JOINT.split(self.text) if part]

    @cached_property
    def may_match(self) -> Callable[[bytes], bool]:
        """A function that tells from its bytes whether JSON may contain a hit.

        Only letters and digits are compared: JSON is written without escapes for them.
        """
        runs = [run for literal in self.literals for run in _RUN.findall(literal)]
        if not runs:
            return lambda body: True
        longest = max(runs, key=len)
        if self.exact:
            return lambda body: longest.encode() in body
        spellings = "".join(_OTHER_CASES.get(letter.lower(), letter) for letter in longest).encode()
        search = self._engine.compile(spellings, self._engine.IGNORECASE).search
        return lambda body: search(body, concurrent=True) is not None


def _compile(text: str, regex: bool, exact: bool) -> tuple[Any, Any]:
    # Imported here: most runs search nothing.
    import regex as engine  # type: ignore[import-untyped]

    flags = engine.MULTILINE | (engine.V0 if exact else engine.V0 | engine.IGNORECASE)
    try:
        return engine, engine.compile(text if regex else engine.escape(text, special_only=True), flags)
    except engine.error as error:
        place = f"character {error.pos + 1}" if error.pos is not None else ""
        raise BadPattern(f"not a regular expression: {error.msg}", place=place) from error
