from __future__ import annotations

import hashlib
import lzma

import pytest
import tiktoken_ext.openai_public as published

from ctxtui.tokens import vocab
from tests.tokens.conftest import DATA, encoding


@pytest.mark.parametrize("name", sorted(vocab.SHA256))
def test_packaged_vocabulary_is_the_published_one(name: str) -> None:
    raw = vocab.unpack_vocabulary(name, (DATA / "vocab" / f"{name}.tiktoken.xz").read_bytes())
    assert hashlib.sha256(raw).hexdigest() == vocab.SHA256[name]


@pytest.mark.parametrize("name", sorted(vocab.ENCODINGS))
def test_pattern_and_special_tokens_are_tiktokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda *_args, **_kwargs: {})
    theirs = getattr(published, name)()
    spec = vocab.ENCODINGS[name]
    assert spec.pattern == theirs["pat_str"]
    assert spec.special_tokens == theirs["special_tokens"]


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("o200k_base", "hello world", [24912, 2375]),
        ("cl100k_base", "hello world", [15339, 1917]),
        ("o200k_harmony", "hello world", [24912, 2375]),
    ],
)
def test_known_tokens(name: str, text: str, tokens: list[int]) -> None:
    assert encoding(name).encode_ordinary(text) == tokens


def test_sizes() -> None:
    assert encoding("o200k_harmony").n_vocab == 201088
    assert encoding("o200k_base").n_vocab == 200019
    assert encoding("cl100k_base").n_vocab == 100277


def test_damaged_vocabulary_is_refused() -> None:
    good = (DATA / "vocab" / "cl100k_base.tiktoken.xz").read_bytes()
    with pytest.raises(vocab.VocabularyError, match="is not an xz file"):
        vocab.build_encoding("cl100k_base", good[:1000])
    with pytest.raises(vocab.VocabularyError, match="sha256"):
        vocab.build_encoding("cl100k_base", lzma.compress(b"aGVsbG8= 0\n"))
    with pytest.raises(vocab.VocabularyError, match="damaged"):
        vocab.build_encoding("o200k_base", good)
