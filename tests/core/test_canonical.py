"""Canonical JSON: equal values have equal bytes, literals survive, hostile text does not break it (law 1)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import canonical

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_the_canonical_bytes_do_not_depend_on_the_spelling(value: object) -> None:
    spellings = [
        json.dumps(value),
        json.dumps(value, indent=2),
        json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    ]
    found = {canonical.dumps(canonical.loads(s)) for s in spellings}
    assert len(found) == 1


@given(VALUES)
def test_canonical_bytes_read_back_to_the_same_bytes_and_value(value: object) -> None:
    body = canonical.dumps(value)
    assert canonical.dumps(canonical.loads(body)) == body
    assert json.loads(body.decode("utf-8")) == value


@pytest.mark.parametrize(
    "literal", ["1e3", "1.10", "-0", "1E+2", "0.30000000000000004", "123456789012345678901234567890"]
)
def test_number_literals_are_kept(literal: str) -> None:
    text = f'{{"b":{literal},"a":[{literal}]}}'
    assert canonical.dumps(canonical.loads(text)) == text.encode()


def test_key_order_is_kept_and_whitespace_is_not() -> None:
    assert canonical.dumps(canonical.loads('{ "b" : 1,\n "a" : [ ] }')) == b'{"b":1,"a":[]}'


def test_a_lone_surrogate_stays_an_escape_in_valid_utf8() -> None:
    body = canonical.dumps(canonical.loads(r'"x\ud800\u00e9"'))
    assert body == b'"x\\ud800\xc3\xa9"'
    body.decode("utf-8")


def test_a_spelled_number_beside_a_surrogate() -> None:
    assert canonical.dumps(canonical.loads(r'{"\udc00":1e5}')) == b'{"\\udc00":1e5}'


def test_what_is_no_json_value_is_refused() -> None:
    with pytest.raises(TypeError, match="object is not a JSON value"):
        canonical.dumps(object())


@pytest.mark.parametrize(("levels", "is_deep"), [(0, False), (199, False), (200, True), (900, True)])
def test_what_is_nested_too_deeply_to_be_walked(levels: int, is_deep: bool) -> None:
    for begin, end in ("[]", ('{"a":', "}")):
        assert canonical.is_deep(canonical.loads(begin * levels + "1" + end * levels)) is is_deep
