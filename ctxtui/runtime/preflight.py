"""Before a long run: where the context is heading, what that costs, and what a compaction would eat."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import Chosen
from ctxtui.analysis.figures import block_figures
from ctxtui.analysis.growth.projection import Limit, Outlook, compacts_at, limit, outlook
from ctxtui.analysis.short_names import first_words
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import Call
from ctxtui.core.category import CATEGORIES
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import PriceTable, price_call

_STAYS = frozenset({"system", "tools", "not_recorded"})
"""Categories that a client's compaction leaves: they are no part of the conversation."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Something a person said that a compaction would put into other words: the `turn` it opened, tokens, first words,
    and the block's digest."""

    turn: int
    tokens: int
    words: str
    digest: str


@dataclass(frozen=True, slots=True)
class Preflight:
    """What `ctxtui preflight` tells. `limits` are the usable share of the window and the client's own compaction, as
    far as they are known; `eaten` the tokens by category that a compaction would replace, `asked` what people said
    in them."""

    outlook: Outlook
    window: int
    usable: Limit | None
    compaction: Limit | None
    eaten: dict[str, int]
    asked: tuple[Asked, ...]


def preflight(book: Book, chosen: Chosen, turns: int, usable_share: float, prices: PriceTable) -> Preflight:
    """The next `turns` turns of the thread of `chosen`; everything in `book` must be counted."""
    call, thread = chosen.call, chosen.thread
    window = book.session.about.window or book.card(call.model).window or 0

    def usd(usage: Usage) -> float | None:
        cost = price_call(_like(call, usage), prices)
        return None if cost is None else cost.usd

    seen = outlook(book, thread, turns, window, usd)
    at = compacts_at(book, thread, window)
    eaten, asked = _eaten(book, call)
    return Preflight(
        seen,
        window,
        limit(round(window * usable_share), "setting", seen.context, seen.growth) if window else None,
        limit(*at, seen.context, seen.growth) if at else None,
        eaten,
        asked,
    )


def _like(call: Call, usage: Usage) -> Call:
    return replace(call, usage=usage, stop_reason="")


def _eaten(book: Book, call: Call) -> tuple[dict[str, int], tuple[Asked, ...]]:
    tree = book.session.tree
    eaten: dict[str, int] = {}
    asked = []
    for figure in block_figures(book, call):
        if figure.category in _STAYS or not figure.read or figure.block.kind == HEADER:
            continue
        eaten[figure.category] = eaten.get(figure.category, 0) + figure.tokens
        node = tree[figure.node]
        if figure.category == "user" and node.place.mark == "":
            asked.append(Asked(node.turn, figure.tokens, first_words(read(figure.block).text), figure.block.digest))
    order = {name: n for n, name in enumerate(CATEGORIES)}
    return dict(sorted(eaten.items(), key=lambda one: order.get(one[0], len(order)))), tuple(asked)
