"""Blocks taken from a record's bytes as they stand: equal to those that decoding and encoding again gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.core.session import CallSeen, TipMoved
from ctxtui.transcripts.formats.claude_code.message import parse_message
from ctxtui.transcripts.formats.claude_code.records import decode_strictly
from tests.cases.claude_code_script import Script, text, tool_use
from tests.transcripts.driving import read

WORDS = st.text(st.sampled_from('ab é"\\/,:{}[] \n\u2028'), max_size=12)
LONG = st.builds(lambda words, times: words * times, WORDS, st.sampled_from([1, 60, 300]))
PART = st.one_of(
    st.builds(lambda words: {"type": "text", "text": words}, LONG),
    st.builds(lambda words: {"type": "thinking", "thinking": words, "signature": "c2ln"}, LONG),
    st.builds(lambda words: {"tool_use_id": "t", "type": "tool_result", "content": words, "is_error": False}, LONG),
    st.builds(lambda words: {"type": "tool_result", "content": [{"type": "text", "text": words}]}, LONG),
    st.builds(lambda words: {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": words}}, LONG),
)
SPELLINGS: dict[str, dict[str, Any]] = {
    "minified": {"separators": (",", ":"), "ensure_ascii": False},
    "with escapes": {"separators": (",", ":")},
    "with blanks": {"ensure_ascii": False},
    "over lines": {"indent": 1, "ensure_ascii": False},
}


def blocks(content: str) -> list[Block]:
    record = decode_strictly(b'{"type":"user","message":{"role":"user","content":' + content.encode() + b"}}")
    found = parse_message(record, None)
    assert found is not None
    return [part.block for part in found.parts]


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(parts=st.lists(PART, max_size=3), slashes=st.booleans())
def test_parts_are_the_same_however_they_are_spelled(spelling: str, parts: list[Any], slashes: bool) -> None:
    content = json.dumps(parts, **SPELLINGS[spelling])
    assert blocks(content.replace("/", "\\/") if slashes else content) == [block.from_part(part) for part in parts]


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(words=LONG)
def test_a_string_is_a_text(spelling: str, words: str) -> None:
    assert blocks(json.dumps(words, **SPELLINGS[spelling])) == ([block.text(words)] if words else [])


def test_an_answer_of_many_records_is_told_once() -> None:
    script = Script()
    script.user("please")
    calls = script.assistant(
        text("I look"), tool_use("a", "Read", path="x"), tool_use("b", "Read", path="y"), id="msg_1"
    )
    script.result("a", "one", parent=calls[1])
    script.result("b", "two", parent=calls[2])
    script.assistant(text("done"), id="msg_2", stop="end_turn")
    found = read(script.dump())
    assert [one.call.id for one in found.events if isinstance(one, CallSeen)] == ["msg_1", "msg_2"]
    assert found.answer("msg_1") == ["assistant:", "I look", 'tool_use(a) {"path":"x"}', 'tool_use(b) {"path":"y"}']
    assert len([one for one in found.events if isinstance(one, TipMoved)]) == 5
    # Whoever reads on as the file grows sees the answer as far as it is there.
    lines = script.dump().splitlines(keepends=True)
    early = read(b"".join(lines[:2]))
    assert early.answer("msg_1") == ["assistant:", "I look"]
    early.session.fold([*early.reader.feed(b"".join(lines[2:])), *early.reader.settle()])
    assert early.session.calls == found.session.calls and early.session.tree.nodes() == found.session.tree.nodes()
