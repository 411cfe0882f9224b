"""Build tokenizers (encodings) from the bytes of packaged vocabularies, without network."""

from __future__ import annotations

import hashlib
import lzma
from binascii import a2b_base64
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tiktoken import Encoding


class VocabularyError(ValueError):
    """The vocabulary bytes are not those of the encoding."""


class EncodingSpec(NamedTuple):
    """Data of a tokenizer; the file of its vocabulary is ``<vocabulary>.tiktoken.xz``."""

    vocabulary: str
    pattern: str
    special_tokens: dict[str, int]


# Source of patterns and special tokens: tiktoken 0.14, tiktoken_ext/openai_public.py; facts §6.
_O200K_PATTERN: Final = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"""
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"""
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)
_CL100K_PATTERN: Final = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
    r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
_O200K_SPECIALS: Final = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_HARMONY_NAMED: Final = {
    "<|startoftext|>": 199998,
    "<|endoftext|>": 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
}
_HARMONY_RESERVED: Final = set(range(200000, 201088)) - set(_HARMONY_NAMED.values())
_HARMONY_SPECIALS: Final = _O200K_SPECIALS | _HARMONY_NAMED | {f"<|reserved_{i}|>": i for i in _HARMONY_RESERVED}
_CL100K_SPECIALS: Final = {
    "<|endoftext|>": 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}

ENCODINGS: Final = {
    "o200k_base": EncodingSpec("o200k_base", _O200K_PATTERN, _O200K_SPECIALS),
    "o200k_harmony": EncodingSpec("o200k_base", _O200K_PATTERN, _HARMONY_SPECIALS),
    "cl100k_base": EncodingSpec("cl100k_base", _CL100K_PATTERN, _CL100K_SPECIALS),
}

SHA256: Final = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""SHA-256 of each uncompressed vocabulary, as tiktoken expects it (facts §6)."""

_WORDS_PER_SLICE: Final = 8192


def check_vocabulary(vocabulary: str, raw: bytes) -> None:
    """Raise `VocabularyError` unless `raw` (uncompressed) is the vocabulary of that name."""
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SHA256[vocabulary]:
        raise VocabularyError(
            f"vocabulary {vocabulary} is damaged: sha256 {digest}, expected {SHA256[vocabulary]}; reinstall ctxtui"
        )


def unpack_vocabulary(vocabulary: str, raw_xz: bytes) -> bytes:
    """Decompress and check a vocabulary. Raises `VocabularyError` for wrong bytes."""
    try:
        raw = lzma.decompress(raw_xz)
    except (lzma.LZMAError, EOFError) as error:
        raise VocabularyError(f"vocabulary {vocabulary} is not an xz file: {error}; reinstall ctxtui") from error
    check_vocabulary(vocabulary, raw)
    return raw


def parse_ranks(raw: bytes) -> dict[bytes, int]:
    """Map token bytes to ranks; a line of `raw` is a base64 token, a space and a decimal rank."""
    words = raw.split()
    ranks: dict[bytes, int] = {}
    # In slices: one call over all 200,000 lines would hold the GIL, and so the screen, for 80 ms.
    for start in range(0, len(words), _WORDS_PER_SLICE):
        part = words[start : start + _WORDS_PER_SLICE]
        ranks.update(zip(map(a2b_base64, part[::2]), map(int, part[1::2]), strict=True))
    return ranks


def build_encoding(name: str, raw_xz: bytes) -> Encoding:
    """Build the encoding `name` of `ENCODINGS` from its compressed vocabulary.

    Takes about 0.3 s of CPU; for 0.13 s of them tiktoken's constructor holds the GIL, in any thread. Raises `KeyError`
    for an unknown name, `VocabularyError` for wrong bytes.
    """
    # Imported here: tiktoken must not be loaded before the first frame is painted.
    from tiktoken import Encoding

    spec = ENCODINGS[name]
    ranks = parse_ranks(unpack_vocabulary(spec.vocabulary, raw_xz))
    return Encoding(name, pat_str=spec.pattern, mergeable_ranks=ranks, special_tokens=spec.special_tokens)
