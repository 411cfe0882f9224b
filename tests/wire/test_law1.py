"""Law 1: a body decoded and encoded again is the same bytes, however it was spelled."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import canonical
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.codec.style import detect
from ctxtui.wire.grammar import GRAMMARS
from ctxtui.wire.request import Request
from tests.wire.hostile import BODIES, spelled

DIALECTS = sorted(GRAMMARS)


def again(body: bytes, dialect: str, memo: Memo | None = None) -> bytes:
    """The body through decoding, the tree, the skeleton's JSON, and encoding."""
    request = codec.decode(body, GRAMMARS[dialect], memo)
    tree = Tree()
    items = tuple(tree.items(tree.extend(ROOT, request.items)))
    stored = canonical.loads(canonical.dumps(request.skeleton.parts))
    return codec.encode(Request(items, Skeleton(dialect, stored)), GRAMMARS[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_bytes_come_back(dialect: str, data: st.DataObject) -> None:
    body = data.draw(spelled(dialect))
    try:
        found = again(body, dialect)
    except Malformed as error:
        assert error.place
        return
    assert found == body


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_a_memo_changes_nothing(dialect: str, data: st.DataObject) -> None:
    memo = Memo()
    for body in data.draw(st.lists(spelled(dialect), min_size=2, max_size=3)):
        try:
            plain = codec.decode(body, GRAMMARS[dialect])
        except Malformed:
            continue
        assert codec.decode(body, GRAMMARS[dialect], memo) == plain
        assert codec.decode(body, GRAMMARS[dialect], memo) == plain
        assert again(body, dialect, memo) == body


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_equal_values_are_equal_blocks_in_any_spelling(dialect: str, data: st.DataObject) -> None:
    value: Json = data.draw(BODIES[dialect])
    try:
        one = codec.decode(canonical.dumps(value), GRAMMARS[dialect])
        two = codec.decode(json.dumps(_floats(value), indent=3).encode(), GRAMMARS[dialect])
    except (Malformed, TypeError):
        return
    assert one.items == two.items
    assert one.markers == two.markers


def _floats(value: Json) -> Json:
    if isinstance(value, canonical.Number):
        raise TypeError
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    return [_floats(item) for item in value] if isinstance(value, list) else value


@given(st.binary(max_size=60))
def test_any_bytes_either_come_back_or_are_malformed(junk: bytes) -> None:
    for body in (junk, b'{"messages":[{"role":"user","content":"' + junk + b'"}]}'):
        try:
            found = again(body, "anthropic")
        except Malformed:
            continue
        assert found == body


def test_the_case_of_escapes_is_detected_the_same_in_every_process() -> None:
    """It depended on the order of a set of strings, which differs between processes."""
    spellings = [f'["{first}{second}"]' for first in ("\\u00e9", "\\u001b") for second in ("\\u00E9", "\\u001B")]
    assert [detect(text, 0).upper for text in spellings] == [True] * 4
