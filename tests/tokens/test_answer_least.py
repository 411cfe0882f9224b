"""The least that an answer comes to: never above what a tokenizer counts, and above nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.answer_least import min_tokens
from ctxtui.core.block import Block
from tests.tokens.conftest import encoding


def said(text: str) -> Block:
    return block.make("text", {"type": "text", "text": text})


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("", 0),
        ("  \n\n", 0),
        ("one two three", 3),
        ("f(x_1)", 5),
        ("don't", 2),
        ("1,234.5", 5),
        ("naïve — über", 3),
        ("हिन्दी में", 2),
    ],
)
def test_words_numbers_and_runs_of_signs_are_a_token_each(text: str, least: int) -> None:
    assert min_tokens(said(text)) == least


def test_every_character_beyond_ascii_but_white_space_is_a_letter() -> None:
    beyond = [chr(n) for n in range(0x80, 0x110000) if not 0xD800 <= n < 0xE000]
    blank = [one for one in beyond if one.isspace()]
    assert min_tokens(said(" ".join(one for one in beyond if not one.isspace()))) == len(beyond) - len(blank)
    assert min_tokens(said("".join(blank))) == 0


def test_of_a_call_its_names_and_values_count_and_not_how_the_record_spells_them() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls -l\n", "quiet": True}}
    assert min_tokens(block.make("tool_use", call)) == len(["Bash", "command", "ls", "-l", "quiet", "true"])


def test_what_the_record_withholds_counts_nothing() -> None:
    hidden = {"type": "thinking", "thinking": "", "signature": "x" * 4_000}
    assert min_tokens(block.make("thinking", hidden)) == 0
    assert min_tokens(block.make("thinking", {**hidden, "thinking": "a plan"})) == 2


@given(st.text(max_size=80) | st.from_regex(r"[a-zA-Z_ .,;(){}0-9\n]{0,80}", fullmatch=True))
def test_no_tokenizer_that_we_have_takes_fewer(text: str) -> None:
    least = min_tokens(said(text))
    for name in ("cl100k_base", "o200k_base"):
        assert least <= len(encoding(name).encode_ordinary(text))
