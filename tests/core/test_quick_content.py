"""Blocks that are read without making values of their JSON say what they say when they are read the long way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import canonical
from ctxtui.core.block import Block
from ctxtui.core.block_content import BlockContent, read, read_value
from ctxtui.core.quick_content import QUICK

words = st.sampled_from(["", "a", "text", 'é\n\t"\\/', "\u2028", "\x00", "\ud83d", "😀", "x" * 40])
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | words
    | st.sampled_from(["1e3", "-0", "1.10"]).map(canonical.Number),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
part = st.fixed_dictionaries({"type": st.just("text"), "text": words}, optional={"citations": plain}) | plain
member: dict[str, st.SearchStrategy[Any]] = {
    "text": words | plain,
    "refusal": words,
    "thinking": words | plain,
    "signature": words,
    "data": words,
    "encrypted_content": words,
    "id": words | plain,
    "call_id": words,
    "tool_use_id": words | plain,
    "name": words | plain,
    "input": plain | st.dictionaries(words, plain, max_size=3),
    "function": plain,
    "content": words | st.lists(part, max_size=3) | plain,
    "output": words,
    "is_error": st.booleans() | plain,
    "summary": plain,
}
usual: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "text": {"text": words},
    "thinking": {"thinking": words, "signature": words},
    "tool_use": {"id": words, "name": words, "input": st.dictionaries(words, plain, max_size=3)},
    "tool_result": {"tool_use_id": words, "content": words | st.lists(part, max_size=3)},
}


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    kind = draw(st.sampled_from(sorted(QUICK)))
    rest = {key: how for key, how in member.items() if key not in usual[kind]}
    value: dict[str, Any] = draw(
        st.fixed_dictionaries(usual[kind], optional=rest) | st.fixed_dictionaries({}, optional=member)
    )
    body = canonical.dumps({"type": kind, **value})
    return Block(canonical.digest(body), kind, body)


@given(blocks())
def test_both_ways_say_the_same(block: Block) -> None:
    assert read(block) == read_value(block.kind, block.value())


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("text", {"text": "hello"}, BlockContent(text="hello")),
        ("thinking", {"thinking": "well", "signature": "abc"}, BlockContent(text="well")),
        (
            "tool_use",
            {"id": "t1", "name": "Read", "input": {"n": canonical.Number("1e3"), "path": "a b"}},
            BlockContent(name="Read", call_id="t1", arguments='{"n":1e3,"path":"a b"}'),
        ),
        (
            "tool_result",
            {"tool_use_id": "t1", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            BlockContent(text="a\nb", call_id="t1"),
        ),
        (
            "tool_result",
            {"tool_use_id": "t1", "content": "no", "is_error": True},
            BlockContent(text="no", call_id="t1", is_error=True),
        ),
    ],
)
def test_what_a_session_is_full_of_is_read_the_quick_way(kind: str, value: dict[str, Any], said: BlockContent) -> None:
    body = canonical.dumps({"type": kind, **value})
    assert QUICK[kind](body) is not None
    assert read(Block("", kind, body)) == said
