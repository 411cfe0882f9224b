"""What is searched of a call's input."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.content.search import text_of_content
from ctxtui.core.block_content import BlockContent, arguments_value

_values = st.text() | st.integers() | st.floats(allow_nan=False) | st.none() | st.lists(st.text(), max_size=2)


@given(st.dictionaries(st.text(), _values, max_size=4))
def test_every_member_is_searched_on_a_line_of_its_own(members: dict[str, object]) -> None:
    got = BlockContent(name="Read", arguments=json.dumps(members, ensure_ascii=False))
    lines = [f"{key}  {one if isinstance(one, str) else _spelled(one)}" for key, one in members.items()]
    assert text_of_content(got, "tool_use") == "\n".join(["Read", *lines])


def _spelled(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_a_member_that_is_named_twice_is_the_last() -> None:
    text = '{"a":"1","b":"2","a":"3"}'
    assert arguments_value(BlockContent(arguments=text)) == {"a": "3", "b": "2"}
