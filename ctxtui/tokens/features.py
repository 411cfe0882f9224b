"""Raw features of blocks: counts, before any weight turns them into tokens of a model."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add, sub
from typing import Final, NamedTuple


class Features(NamedTuple):
    """Raw counts of one block, or of many added up.

    Tokens of the encoding in the model's card:
    - `text`: in prose; `result`: in tool results; `json`: in call inputs with the tool's name.
    - `tools`: in tool definitions; `thinking`: in visible thinking.

    Other sizes:
    - `hidden`: characters of a signature or cipher beyond `ModelCard.hidden_envelope`; those of thinking count in place
      of its text, which may be a summary.
    - `image`: tokens by the card's image rule; also a page for each PDF whose bytes are not recorded.
    - `pages`: tokens of the pages of other PDFs.
    - `symbols`: runs of characters between U+2000 and U+2BFF (arrows, boxes, check marks) in tool results: o200k spends
      at least a token on each, Claude less.
    - `reported`: tokens that a report gives for a block, in place of its own counts.
    - `letters`: a quarter of the number of characters in prose and results. Its ratio to the model's real tokens
      differs between tokenizers.

    Numbers of parts:
    - `calls`: tool calls; `returns`: tool results; `definitions`: tools; `messages`: headers of messages.
    """

    text: float = 0.0
    result: float = 0.0
    json: float = 0.0
    tools: float = 0.0
    thinking: float = 0.0
    hidden: float = 0.0
    image: float = 0.0
    calls: float = 0.0
    returns: float = 0.0
    definitions: float = 0.0
    messages: float = 0.0
    symbols: float = 0.0
    reported: float = 0.0
    letters: float = 0.0
    pages: float = 0.0


NOTHING: Final = Features()
_new: Final = tuple.__new__
"""Takes half as long as `Features._make`, which also checks the length."""


def plus(a: Features, b: Features) -> Features:
    if b is NOTHING:
        return a
    return _new(Features, map(add, a, b))


def minus(a: Features, b: Features) -> Features:
    if b is NOTHING:
        return a
    return _new(Features, map(sub, a, b))


def sum_features(vectors: Sequence[Features]) -> Features:
    return _new(Features, map(sum, zip(*vectors, strict=True))) if vectors else NOTHING
