from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import Encoding

from ctxtui.tokens import encode
from ctxtui.tokens.encode import count_text, split_pieces
from tests.sampling import few
from tests.tokens.conftest import encoding

NAMES = ["o200k_base", "cl100k_base"]
# Letters, digits, blanks, breaks, marks, apostrophes, wide and combining characters: what the split patterns look at.
ALPHABET = "abzAB09 \t\n\r/'\"{}[]:,;.=<>\\-_sétñ漢字\u0301\u00a0\u2003٣😀"


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(ALPHABET, max_size=400), size=st.integers(40, 120))
def test_a_safe_cut_changes_no_count(name: str, text: str, size: int) -> None:
    parts = list(split_pieces(text, size))
    assert "".join(parts) == text
    assert all(0 < len(part) <= size for part in parts)
    ends = [sum(map(len, parts[: i + 1])) for i in range(len(parts) - 1)]
    if all(encode._SAFE_CUT.match(text, end) for end in ends):
        counter = encoding(name)
        assert sum(len(counter.encode_ordinary(part)) for part in parts) == len(counter.encode_ordinary(text))


@pytest.mark.parametrize(
    ("text", "safe"),
    [("a b", True), ("a  b", True), ("a\nb", True), ("a1b", True), ("a,b", True), ("aab", False), ("a'b", False)],
)
def test_where_it_is_safe_to_cut(text: str, safe: bool) -> None:
    at = 2 if "\n" in text else 1
    assert bool(encode._SAFE_CUT.match(text, at)) is safe


def test_long_prose_counts_as_in_one_go(o200k: Encoding) -> None:
    text = "It's 12 o'clock, said the fox;\n\n  def jump(): return 'over'  # /\n" * 9000
    assert len(text) > 2 * encode.PIECE_CHARACTERS
    assert count_text(o200k, text) == len(o200k.encode_ordinary(text))


@pytest.mark.parametrize("char", few([" ", "\t", "\n", "\u00a0", "a", "="]))
def test_a_run_of_more_than_a_million_characters(o200k: Encoding, char: str) -> None:
    # In one go, a run of more than 1,000,000 white-space characters panics in tiktoken.
    long = count_text(o200k, char * 1_200_000)
    assert 0 < long < 1_200_000
    assert long == pytest.approx(12 * count_text(o200k, char * 100_000), rel=0.01)


def test_special_tokens_in_text_are_ordinary_text(o200k: Encoding) -> None:
    assert count_text(o200k, "<|endoftext|>") > 1


def test_lone_surrogates(o200k: Encoding) -> None:
    assert count_text(o200k, "a\ud800b") == count_text(o200k, "a\ufffdb")
    assert count_text(o200k, "\ud83d\ude00") == count_text(o200k, "😀")


def test_empty(o200k: Encoding) -> None:
    assert count_text(o200k, "") == 0


class PanicException(BaseException):
    """As pyo3 names it."""


class Failing:
    name = "failing"

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def encode_ordinary(self, text: str) -> list[int]:
        raise self.error


def test_a_panic_becomes_an_ordinary_error() -> None:
    with pytest.raises(encode.TokenizerFailure, match="failing failed on a text of 3 characters"):
        count_text(Failing(PanicException("stack overflow")), "abc")  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        count_text(Failing(KeyboardInterrupt()), "abc")  # type: ignore[arg-type]
