"""Lower bound of an answer's tokens, where a recording has only the usage at its start."""

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
"""A punctuation sign of ASCII."""
_BEYOND: Final = (
    "\x80-\x84\x86-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\U0010ffff"
)
"""All characters beyond ASCII except white space, as ranges: one character class is twice as fast as an alternation."""
_PIECE: Final = rf"{_SIGN}?[A-Za-z{_BEYOND}]+|[0-9]+|{_SIGN}+"
"""A word with at most one sign before it, a number, or a run of signs.

No known tokenizer joins two of them; most split them further. White space counts nothing. Every character beyond ASCII
counts as a letter. It is compiled on the first truncated answer: that takes longer than importing a module.
"""


def mark_partial(
    usage: Usage | None, extra: Mapping[str, Json], blocks: Iterable[Block]
) -> tuple[Usage | None, dict[str, Json]]:
    """Mark the usage of a call as partial, because its answer broke off after `blocks`.

    Returns the usage with `output_final` False, and `extra` with the lower bound of the answer's tokens. Without
    `usage`, both are as given.
    """
    if usage is None:
        return None, dict(extra)
    return replace(usage, output_final=False), {**extra, ANSWER_LEAST: sum(map(min_tokens, blocks))}


def min_tokens(block: Block) -> int:
    """Minimum tokens of `block` as part of an answer, for any tokenizer.

    Counts its pieces of text. Text that the recording withholds (signatures, encrypted reasoning) counts as nothing.
    """
    if block.kind == HEADER:
        return 0
    value = block.value()
    content = read_value(block.kind, value)
    call_input = value.get("input") if isinstance(value, dict) else None
    # The recording respells a call's JSON: of it, the model wrote the names and values.
    texts = [content.text, *([content.name, *_text_leaves(call_input)] if content.arguments else ())]
    return sum(len(re.findall(_PIECE, text)) for text in texts)


def _text_leaves(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _text_leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _text_leaves(inner)
    elif value is not None:
        # A number or a bool is at least one piece.
        yield "0"
