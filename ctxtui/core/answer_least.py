"""Lower bound of the tokens of an answer that broke off.

Its recording has only the usage that was reported at the answer's start.
"""

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
_LETTER: Final = r"[^\W0-9_]"
_SYMBOL: Final = r"[^\w\s\x00-\x7f]"
"""A sign, combining mark or unassigned character beyond ASCII: a letter for some tokenizers, a sign for others."""
_IN_WORD: Final = r"[^\s\x00-&(-@\[-`{-\x7f]"
"""A letter, a symbol or an apostrophe, as one character class: an alternation takes twice as long."""
_PIECE: Final = rf"{_SIGN}?{_SYMBOL}*{_LETTER}{_IN_WORD}*|[0-9]+|(?:{_SIGN}|{_SYMBOL})+[\r\n/]*"
"""A word, a number, or a run of signs.

A word may have one sign before it and apostrophes in it (``"don't``), a run of signs line ends and slashes after it. No
token of the vocabularies that ctxtui ships joins two of them; most are split further. White space counts nothing. The
expression is compiled on the first truncated answer: that takes longer than importing this module.
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
    """Minimum tokens of `block` as part of an answer.

    Counts its pieces of text: no more than any vocabulary that ctxtui ships; other tokenizers are not known to take
    fewer. Text that the recording withholds (signatures, encrypted reasoning) counts as nothing; so do a call's
    arguments under another key than ``input``.
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
