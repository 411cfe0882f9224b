"""gigatoken's counts are tiktoken's, whatever the text."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxtui.services.counting import tokenizers
from ctxtui.tokens import fast_encoding
from ctxtui.tokens.fast_encoding import FastEncoding
from tests.tokens.conftest import encoding

pytestmark = pytest.mark.slow

NAMES = ["o200k_base", "o200k_harmony", "cl100k_base"]
PIECES = st.one_of(
    st.text(max_size=6),
    st.text("abzAB09 \t\n\r\x85\x0b\u00a0\u2003\u3000/'\"{}[]:,;.=<>\\-_sétñ漢字\u0301٣½ʰǅ😀ſ", max_size=12),
    st.sampled_from(
        ["'s", "'LL", "don't", "\r\n", "   \n", "<|endoftext|>", "a\ud800b", "\ud83d\ude00", "\U000323b0'e"]
    ),
)
NEWER = [0x88F, 0xC5C, 0x1ACF, 0xA7CE, 0x10940, 0x11DB0, 0x16EA0, 0x187F8, 0x1E6C0, 0x2B73A, 0x323B0, 0x33479]


@pytest.fixture(scope="module", params=NAMES)
def both(request: pytest.FixtureRequest) -> tuple[FastEncoding, fast_encoding.Tokenizer]:
    pytest.importorskip("gigatoken")
    found = tokenizers.tokenizer(request.param)
    assert isinstance(found, FastEncoding)
    return found, encoding(request.param)


@given(parts=st.lists(PIECES, max_size=12))
@example(parts=["<|endofprompt|><|start|>"])
@example(parts=["=" * 3000, "\n" * 3000, " " * 3000])
def test_any_text(both: tuple[FastEncoding, fast_encoding.Tokenizer], parts: list[str]) -> None:
    fast, exact = both
    text = "".join(parts)
    assert len(fast.encode_ordinary(text)) == len(exact.encode_ordinary(text))


def _around(char: str) -> str:
    plain = f"a{char}b A{char}B {char}'e !{char}! 1{char}1 {char}{char} "
    return plain + f"\n{char}\n{char}'s'S{char}'ve{char}x{char}/{char}\r\n {char}  {char}ᵃ"


@pytest.mark.parametrize("char", [chr(one) for one in NEWER], ids=ascii)
def test_characters_of_a_newer_unicode(both: tuple[FastEncoding, fast_encoding.Tokenizer], char: str) -> None:
    fast, exact = both
    text = _around(char)
    assert len(fast.encode_ordinary(text)) == len(exact.encode_ordinary(text))


def test_what_the_two_know_differently_is_why_the_guard_is_there() -> None:
    pytest.importorskip("gigatoken")
    fast, exact = tokenizers.tokenizer("o200k_base"), encoding("o200k_base")
    assert isinstance(fast, FastEncoding)
    data = _around("\U000323b0").encode()
    assert len(fast._encoder.encode(data)) != len(exact.encode_ordinary(data.decode()))


@pytest.mark.slow
def test_every_character(both: tuple[FastEncoding, fast_encoding.Tokenizer]) -> None:
    fast, exact = both
    every = [chr(n) for n in range(sys.maxunicode + 1) if unicodedata.category(chr(n)) != "Cs"]
    for start in range(0, len(every), 16):
        text = "\0".join(map(_around, every[start : start + 16]))
        assert len(fast.encode_ordinary(text)) == len(exact.encode_ordinary(text)), hex(ord(every[start]))


def test_it_forgets_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_encoding, "RENEWED", 100)
    built = []

    class Counted:
        def encode(self, data: str | bytes, /) -> str | bytes:
            return data

    def build() -> Counted:
        built.append(1)
        return Counted()

    fast = FastEncoding("any", build, lambda: encoding("o200k_base"))
    for _ in range(25):
        assert len(fast.encode_ordinary("0123456789")) == 10
    assert len(built) == 3


def test_without_gigatoken_tiktoken_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gigatoken", None)
    monkeypatch.setitem(sys.modules, "gigatoken.gigatoken_rs", None)
    found = tokenizers.tokenizer.__wrapped__("o200k_base")
    assert not isinstance(found, FastEncoding)
    assert len(found.encode_ordinary("It's 12 o'clock")) == len(
        encoding("o200k_base").encode_ordinary("It's 12 o'clock")
    )
