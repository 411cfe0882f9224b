"""Tokens as this provider counts them: the house's features times the weights of the model's card."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from ctxtui.core.block import Block
from ctxtui.offline.data import card, encoding
from ctxtui.tokens.block_features import features_of
from ctxtui.tokens.encode import TokenizerFailure, count_text
from ctxtui.tokens.weights import prior, tokens


@cache
def block_counter(model: str) -> Callable[[Block], int]:
    """The function that gives the whole tokens of a block as `model` reads it; each block is counted once."""
    facts = card(model)
    weights = prior(facts)
    known: dict[str, int] = {}

    def count(block: Block) -> int:
        found = known.get(block.digest)
        if found is None:
            found = known[block.digest] = max(0, round(tokens(features_of(block, text_counter(model), facts), weights)))
        return found

    return count


def text_counter(model: str) -> Callable[[str], int]:
    """The function that gives the tokens of a text in the model's encoding."""
    name = card(model).encoding

    def count(text: str) -> int:
        try:
            return count_text(encoding(name), text)
        except TokenizerFailure:
            return -(-len(text.encode("utf-8", "replace")) // 4)

    return count


def output_tokens(model: str, blocks: Iterable[Block]) -> int:
    """Tokens of an answer's blocks; at least one, for even silence costs a token."""
    return max(1, sum(map(block_counter(model), blocks)))
