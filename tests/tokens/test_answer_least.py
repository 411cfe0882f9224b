"""The least that an answer comes to: never above what our tokenizers count, and above nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.answer_least import min_tokens
from ctxtui.core.block import Block
from ctxtui.tokens.vocab import ENCODINGS
from tests.tokens.conftest import encoding

VOCABULARIES = sorted(ENCODINGS)


def said(text: str) -> Block:
    return block.make("text", {"type": "text", "text": text})


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("", 0),
        ("  \n\n", 0),
        ("one two three", 3),
        ("f(x_1)", 5),
        ("don't, it's \"I'm", 4),
        ("};\n\n//x «a», “[b]”", 7),
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


@pytest.mark.parametrize("name", VOCABULARIES)
def test_no_token_of_a_vocabulary_counts_as_two(name: str) -> None:
    vocabulary = encoding(name)
    texts = [token.decode("utf-8", "ignore") for token in vocabulary.token_byte_values()]
    counts = {text: least for text in texts if (least := min_tokens(said(text))) > 1}
    assert len(texts) > 100_000
    # The token "I'" is only a part of "I'm" and the like: alone, the text is two tokens.
    assert [text for text, least in counts.items() if least > len(vocabulary.encode_ordinary(text))] == []


@given(
    st.text(max_size=80)
    | st.from_regex(r"[a-zA-Z_ .,;(){}0-9\n]{0,80}", fullmatch=True)
    | st.text(alphabet="asTll'/\n ,;_1’”«éÄि\u0301。²", max_size=40)
)
def test_no_tokenizer_that_we_have_takes_fewer(text: str) -> None:
    least = min_tokens(said(text))
    for name in VOCABULARIES:
        assert least <= len(encoding(name).encode_ordinary(text))
