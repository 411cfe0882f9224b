"""Sketches: long texts are looked through in steps, and the lines found are the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.content import duplicates

PIECES = ("a", "words of a line", " ", "  ", ".", "; ", "},", "\t", "1→", "12\t", "\n", "\r", "\u2028")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=200).map("".join)


@given(TEXTS, st.integers(1, 40))
def test_a_text_looked_through_in_steps_has_the_same_lines(text: str, step: int) -> None:
    whole = duplicates.plain_lines(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_STEP_CHARACTERS", step)
        assert duplicates.plain_lines(text) == whole


def test_no_step_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = []

    class Watched:
        def finditer(self, text: str, begin: int, end: int) -> object:
            longest.append(end - begin)
            return re.compile(r"(?<=[.;,{}>])\s*").finditer(text, begin, end)

    monkeypatch.setattr(duplicates, "_ENDS", Watched())
    sketch = duplicates.make_sketch("a sentence that goes on, " * 20_000)
    assert sketch is None or sketch.hashes
    assert len(longest) >= 7 and max(longest) == duplicates._STEP_CHARACTERS
