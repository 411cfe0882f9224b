"""The tokenizer of each encoding: tiktoken's, from the vocabularies that come with ctxtui."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ctxtui.services.config.package_data import vocabulary
from ctxtui.tokens.vocab import ENCODINGS, build_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding


@cache
def tokenizer(name: str) -> Encoding:
    """The tokenizer for the encoding `name`; the first use takes about 0.4 s."""
    return build_encoding(name, vocabulary(ENCODINGS[name].vocabulary))
