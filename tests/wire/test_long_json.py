"""Long JSON in short steps is the same JSON."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import canonical
from ctxtui.wire.codec import long_json

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
pieces = st.text(st.sampled_from('ab"\\\n\u767b\u00e9\U0001f468\ud83d\udc68'), min_size=1, max_size=40)


@settings(max_examples=1000 if ALL else 20)
@given(pieces, st.integers(0, 3), st.text("x", max_size=9))
def test_long_strings_are_read_as_they_are(piece: str, shift: int, key: str) -> None:
    text = "y" * shift + piece * (140_000 // len(piece))
    value = {key or "k": [text, {"n": 1, "short": piece}], "other": text[:70_000], text[:66_000]: None}
    body = canonical.dumps(value)
    assert long_json.loads(body) == canonical.loads(body)


@given(st.lists(st.integers() | st.text(max_size=5), max_size=50))
def test_short_values_too(value: list[object]) -> None:
    assert long_json.loads(canonical.dumps(value)) == canonical.loads(canonical.dumps(value))


def test_number_literals_are_kept_beside_a_long_string() -> None:
    body = b'{"a":1e3,"b":"' + b"x" * 200_000 + b'"}'
    assert canonical.dumps(long_json.loads(body)) == body


def test_a_string_without_end_is_an_error() -> None:
    with pytest.raises(ValueError):
        long_json.loads(b'{"a":"' + b"x" * 200_000)
