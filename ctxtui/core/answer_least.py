"""The least that an answer's blocks come to in any model's tokens, for recordings that hold a message's report only as
it stood when the message began."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import read_value
from ctxtui.core.call import ANSWER_LEAST
from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage

_SIGN: Final = r"[!-/:-@\[-`{-~]"
_BEYOND: Final = (
    "\x80-\x84\x86-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\U0010ffff"
)
"""Everything beyond ASCII but white space, as ranges: one class is half as slow as a choice of two."""
_PIECE: Final = rf"{_SIGN}?[A-Za-z{_BEYOND}]+|[0-9]+|{_SIGN}+"
"""A word with at most one sign before it, a number, or a run of signs: no tokenizer that we know joins two of them,
most split them further. White space counts nothing; all beyond ASCII is taken for letters. Compiled when a
first answer broke off: it takes longer than a module."""


def in_part(
    usage: Usage | None, extra: Mapping[str, Json], blocks: Iterable[Block]
) -> tuple[Usage | None, dict[str, Json]]:
    """The report and what else is known of a call whose answer, of which `blocks` came, broke off: the report was made
    before its end."""
    if usage is None:
        return None, dict(extra)
    return replace(usage, output_final=False), {**extra, ANSWER_LEAST: sum(map(least_tokens, blocks))}


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
    return sum(len(re.findall(_PIECE, text)) for text in texts)


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
