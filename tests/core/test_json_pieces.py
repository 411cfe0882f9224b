"""JSON that is written in pieces is what is written at once."""

from __future__ import annotations

import json
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import canonical, json_pieces

TEXT = st.text(st.characters(codec=None), max_size=12)
VALUES = st.recursive(
    TEXT | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)


@given(VALUES, st.booleans(), st.sampled_from([(",", ":"), (", ", ": ")]), st.integers(1, 5))
def test_pieces_are_the_whole(value: object, escaped: bool, separators: tuple[str, str], piece: int) -> None:
    encode = json.JSONEncoder(ensure_ascii=escaped, separators=separators).encode
    with patch.object(json_pieces, "PIECE", piece):
        assert json_pieces.written(value, encode, *separators) == encode(value)


def test_a_long_text_has_the_bytes_that_it_had_with_any_number_beside_it() -> None:
    text = 'say "hi"\n\u2028\ud83d \U0001f600' * (json_pieces.PIECE // 8)
    body = canonical.dumps({"type": "text", "text": text})
    assert (
        body
        == b'{"type":"text","text":'
        + canonical.dumps(text[: len(text) // 2])[:-1]
        + canonical.dumps(text[len(text) // 2 :])[1:]
        + b"}"
    )
    assert canonical.loads(body) == {"type": "text", "text": text}
    spelled = {"n": canonical.Number("1e3"), "text": text, "more": [{"text": text}]}
    assert canonical.loads(canonical.dumps(spelled)) == spelled
