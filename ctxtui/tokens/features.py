"""Raw features of one block: what is counted before any weight is applied (design §2). Linear, so sums of features are
features of sums."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import add, sub
from typing import TYPE_CHECKING, Final, NamedTuple

from ctxtui.core.block import HEADER, NOT_RECORDED, TOOL, UNREADABLE, Block
from ctxtui.core.block_content import BlockContent, read, read_value
from ctxtui.core.canonical import Json
from ctxtui.tokens.image import media_tokens
from ctxtui.tokens.openai_overhead import tool_tokens

if TYPE_CHECKING:
    from ctxtui.tokens.models import ModelCard

Count = Callable[[str], int]


class Features(NamedTuple):
    """Raw counts of one block, or of many added up.

    Tokens of the card's encoding: `text` in prose, `result` in tool results, `json` in call inputs with the tool's
    name, `tools` in tool definitions, `thinking` in visible thinking. `hidden` is characters of signature or cipher
    beyond the empty envelope, where they say more than the visible thinking. `image` is tokens by the card's image
    rule. Numbers of parts: `calls` tool calls, `returns` tool results, `definitions` tools, `messages` message heads.
    `symbols` is runs of characters between U+2000 and U+2BFF (arrows, boxes, check marks) in tool results: o200k spends
    at least a token on each, Claude less.
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


NOTHING: Final = Features()

# U+2000 to U+2BFF as UTF-8: four times as quick to find as in a text.
_SYMBOLS: Final = re.compile(rb"\xe2[\x80-\xaf][\x80-\xbf](?:\xe2[\x80-\xaf][\x80-\xbf])*")
_THINKING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})


def plus(a: Features, b: Features) -> Features:
    """The sum of two feature vectors."""
    return Features._make(map(add, a, b))


def minus(a: Features, b: Features) -> Features:
    """The difference of two feature vectors."""
    return Features._make(map(sub, a, b))


def features_of(block: Block, count: Count, card: ModelCard) -> Features:
    """The raw features of `block` as the model of `card` is counted.

    `count` gives the tokens of a text in the card's encoding; blocks of one digest give the same features for every
    card with the same `ModelCard.counting`. What is not recorded or unreadable has none: its tokens are inferred, or
    in the residual.
    """
    if block.kind in (NOT_RECORDED, UNREADABLE):
        return NOTHING
    if block.kind == TOOL:
        return _definition(block, count, card)
    value = block.value()
    got = read_value(block.kind, value)
    words = count(got.text) if got.text else 0
    if block.kind == HEADER:
        return Features(text=words, messages=1)
    if block.kind in _THINKING:
        return _thinking(value, got, words, card)
    image = float(sum(media_tokens(one, card) for one in got.media))
    if got.arguments:
        return Features(text=words, json=count(got.name) + count(got.arguments), image=image, calls=1)
    if block.kind.endswith(("_result", "_output")):
        return Features(result=words, image=image, returns=1, symbols=_symbols(got.text))
    return Features(text=words, hidden=_beyond(got.hidden, card), image=image)


def _symbols(text: str) -> int:
    if text.isascii():
        return 0
    data = text.encode("utf-8", "surrogatepass")
    return len(_SYMBOLS.findall(data)) if b"\xe2" in data else 0


def _beyond(characters: int, card: ModelCard) -> int:
    return max(0, characters - card.hidden_envelope)


def _thinking(value: Json, got: BlockContent, words: int, card: ModelCard) -> Features:
    signature = value.get("signature") if isinstance(value, Mapping) else None
    cipher = max(got.hidden, len(signature) if isinstance(signature, str) else 0)
    hidden = _beyond(cipher, card)
    # A signature wraps the whole thinking, the visible text may be a summary of it or gone; so it is preferred, except
    # where it was cut or masked.
    return Features(hidden=hidden) if hidden else Features(thinking=words)


def _definition(block: Block, count: Count, card: ModelCard) -> Features:
    value = block.value()
    if card.tool_rule == "functions" and isinstance(value, Mapping):
        counted = tool_tokens(value, count, card.encoding)
        if counted is not None:
            return Features(tools=counted, definitions=1)
    return Features(tools=count(read(block).text), definitions=1)
