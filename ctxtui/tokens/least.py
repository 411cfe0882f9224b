"""The least that an answer's blocks come to in any model's tokens, for recordings that hold a message's report only as
it stood when the message began."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import read_value
from ctxtui.core.canonical import Json

_PIECE: Final = re.compile(r"(?:[^\w\s]|_)?[^\W\d_]+|\d+|(?:[^\w\s]|_)+")
"""A word with at most one sign before it, a number, or a run of signs: no tokenizer of a provider we know joins two of
them, most split them further. White space counts nothing."""


def least_tokens(block: Block) -> int:
    """Tokens that `block` comes to at least as part of an answer, whoever counts them: its pieces of text. What stands
    for text that the recording withholds (signatures, encrypted reasoning) counts nothing."""
    if block.kind == HEADER:
        return 0
    value = block.value()
    got = read_value(block.kind, value)
    given = value.get("input") if isinstance(value, dict) else None
    # The JSON of a call is spelled for the record: what the model wrote of it are its names and values.
    texts = [got.text, *([got.name, *_leaves(given)] if got.arguments else ())]
    return sum(len(_PIECE.findall(text)) for text in texts)


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield "0"
