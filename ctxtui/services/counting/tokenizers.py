"""The tokenizer of each encoding: gigatoken where it is installed, tiktoken where not; both give the same counts."""

from __future__ import annotations

import tempfile
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ctxtui.services.config.package_data import vocabulary
from ctxtui.tokens.fast_encoding import Encoder, FastEncoding, Tokenizer
from ctxtui.tokens.vocab import ENCODINGS, build_encoding, unpack_vocabulary

if TYPE_CHECKING:
    from tiktoken import Encoding

_SPLITS: Final = {"o200k_base": "o200k", "cl100k_base": "gpt4"}
"""What gigatoken calls the way in which the texts of a vocabulary are cut into words."""


@cache
def tokenizer(name: str) -> Tokenizer:
    """The quickest tokenizer for the encoding `name`; the first use takes about 0.4 s."""
    try:
        return FastEncoding(name, partial(_gigatoken, ENCODINGS[name].vocabulary), partial(tiktoken_for, name))
    except (ImportError, OSError):
        # No wheel for this machine, or no room for a temporary file.
        return tiktoken_for(name)


@cache
def tiktoken_for(name: str) -> Encoding:
    """tiktoken's tokenizer for the encoding `name`."""
    return build_encoding(name, vocabulary(ENCODINGS[name].vocabulary))


def _gigatoken(name: str) -> Encoder:
    # Its tokens come as an array: loaded here, not with the first text.
    import numpy  # noqa: F401
    from gigatoken.gigatoken_rs import BPETokenizer

    raw = unpack_vocabulary(name, vocabulary(name))
    with tempfile.TemporaryDirectory(prefix="ctxtui-") as folder:
        path = Path(folder, f"{name}.tiktoken")
        path.write_bytes(raw)
        # No special tokens: their spelling in a text is ordinary text.
        made: Encoder = BPETokenizer.from_tiktoken(str(path), _SPLITS[name], {})
        return made
