"""Counts the raw features of one block: tokens of its texts, media and tool definitions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ctxtui.core.block import HEADER, NOT_RECORDED, TOOL, UNREADABLE, Block
from ctxtui.core.block_content import BlockContent, Media, read
from ctxtui.core.canonical import Json
from ctxtui.tokens.features import NOTHING, Features
from ctxtui.tokens.image import holds_pdf, media_tokens
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.openai_overhead import Count, tool_tokens

_SYMBOL_RUNS: Final = re.compile(rb"\xe2[\x80-\xaf][\x80-\xbf](?:\xe2[\x80-\xaf][\x80-\xbf])*")
"""Runs of characters between U+2000 and U+2BFF in UTF-8 (see `Features.symbols`).

Searching bytes is four times as fast as searching text.
"""
_THINKING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})


def count_features(block: Block, count: Count, card: ModelCard) -> Features:
    """Count the raw features of `block` for the model of `card`.

    `count` counts a text in the card's encoding. Cards with the same `ModelCard.counting` give a block the same
    features. Blocks that are not recorded or unreadable have none.
    """
    if block.kind in (NOT_RECORDED, UNREADABLE):
        return NOTHING
    if block.kind == TOOL:
        return _count_definition(block, count, card)
    content = read(block)
    text_tokens = count(content.text) if content.text else 0
    letters = len(content.text) / 4
    if block.kind == HEADER:
        return Features(text=text_tokens, messages=1, letters=letters)
    if block.kind in _THINKING:
        return _count_thinking(block.value(), content, text_tokens, card)
    image, pages = _count_media(content.media, card) if content.media else (0.0, 0.0)
    if block.kind.endswith(("_result", "_output", "_response")):
        symbols = _count_symbols(content.text)
        return Features(result=text_tokens, image=image, returns=1, symbols=symbols, letters=letters, pages=pages)
    if content.name:
        return Features(json=count(content.name) + count(content.arguments), calls=1)
    hidden = _characters_beyond_envelope(content.hidden, card)
    return Features(text=text_tokens, hidden=hidden, image=image, letters=letters, pages=pages)


def _count_media(media_items: Sequence[Media], card: ModelCard) -> tuple[float, float]:
    """Tokens of images and of PDF pages.

    A PDF whose bytes are not recorded counts as one page, among the images.
    """
    image = pages = 0.0
    for media in media_items:
        tokens = media_tokens(media, card.image, card.page_tokens)
        if holds_pdf(media):
            pages += tokens
        else:
            image += tokens
    return image, pages


def _count_symbols(text: str) -> int:
    if text.isascii():
        return 0
    data = text.encode("utf-8", "surrogatepass")
    return len(_SYMBOL_RUNS.findall(data)) if b"\xe2" in data else 0


def _characters_beyond_envelope(characters: int, card: ModelCard) -> int:
    return max(0, characters - card.hidden_envelope)


def _count_thinking(value: Json, content: BlockContent, text_tokens: int, card: ModelCard) -> Features:
    signature = value.get("signature") if isinstance(value, Mapping) else None
    hidden_characters = max(content.hidden, len(signature) if isinstance(signature, str) else 0)
    hidden = _characters_beyond_envelope(hidden_characters, card)
    # The visible text may be a summary or missing; the signature's length follows the whole thinking. A signature that
    # was cut or masked is too short, so that the text counts.
    return Features(hidden=hidden) if hidden else Features(thinking=text_tokens)


def _count_definition(block: Block, count: Count, card: ModelCard) -> Features:
    value = block.value()
    if card.tool_rule == "functions" and isinstance(value, Mapping):
        counted = tool_tokens(value, count, card.encoding)
        if counted is not None:
            return Features(tools=counted, definitions=1)
    return Features(tools=count(read(block).text), definitions=1)
