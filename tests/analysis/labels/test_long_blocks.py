"""Long blocks are looked through in pieces, and short ones whole, with the same result."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.labels import labelling


@given(st.binary(max_size=30), st.binary(min_size=1, max_size=6), st.integers(1, 8), st.integers(0, 30))
def test_what_is_in_a_long_block_is_found_in_its_pieces(body: bytes, needle: bytes, piece: int, at: int) -> None:
    with patch.object(labelling, "_PIECE_BYTES", piece):
        assert labelling._contains(body, needle) == (needle in body)
        assert labelling._contains(body[:at] + needle + body[at:], needle)
