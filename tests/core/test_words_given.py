"""A call's input that holds nothing but words is read as the careful way reads it; any other is left to that."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.content.search import words_of_reading
from ctxtui.core.block_content import arguments_value
from ctxtui.core.quick_content import BlockContent, words_given

_values = st.text() | st.integers() | st.floats(allow_nan=False) | st.none() | st.lists(st.text(), max_size=2)


@given(st.dictionaries(st.text(), st.text(), max_size=4), st.booleans())
def test_words_are_read_alike(members: dict[str, str], ascii_: bool) -> None:
    text = json.dumps(members, ensure_ascii=ascii_)
    careful = arguments_value(BlockContent(arguments=text))
    assert careful == members
    assert words_given(text) in (None, members)
    assert list(words_given(text) or members) == list(members)


@given(st.dictionaries(st.text(), _values, max_size=4))
def test_what_is_searched_is_the_same_either_way(members: dict[str, object]) -> None:
    got = BlockContent(name="Read", arguments=json.dumps(members, ensure_ascii=False))
    lines = [f"{key}  {one if isinstance(one, str) else _spelled(one)}" for key, one in members.items()]
    assert words_of_reading(got, "tool_use") == "\n".join(["Read", *lines])


def _spelled(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    "arguments", ["", "x", "[]", '"a"', '{"a":1}', '{"a":{}}', '{"a":"b"', '{"a":"\\ud800"}', '{"a":"\n"}', "null"]
)
def test_any_other_input_is_left_to_the_careful_way(arguments: str) -> None:
    assert words_given(arguments) is None


def test_a_member_that_is_named_twice_is_the_last() -> None:
    text = '{"a":"1","b":"2","a":"3"}'
    assert words_given(text) == arguments_value(BlockContent(arguments=text)) == {"a": "3", "b": "2"}
