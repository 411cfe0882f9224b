"""`ctxtui show --json`: one call's context as data that outside programs rely on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ctxtui.core.reading import read
from ctxtui.core.session import Skipped
from ctxtui.core.usage import Usage
from ctxtui.lab.book import Book
from ctxtui.lab.chosen import Chosen
from ctxtui.lab.figures import NOT_RECORDED, BlockFigure, block_figures, figures, growth

UNREAD = "not read"
"""Method of a block that the provider takes out before the model reads: it counts for nothing."""


def as_json(book: Book, chosen: Chosen, skipped: Iterable[Skipped], name: str, source: str) -> dict[str, Any]:
    """The fields of ``show --json``; everything in `book` must be counted.

    The tokens of the blocks and the residual add up to ``context_tokens``, those of the categories to the blocks'.
    """
    got = figures(book, chosen.call)
    rows = [_block(book, figure) for figure in block_figures(book, chosen.call)]
    missing = {NOT_RECORDED: got.not_recorded} if got.not_recorded else {}
    fields = {
        "session": _session(book, name, source),
        "call": chosen.number,
        "context_tokens": got.context_tokens,
        "method": got.method,
        "categories": {**got.categories, **missing},
        "blocks": rows,
        "reported": _usage(got.reported) if got.reported else None,
        "residual": got.residual,
        "growth": [
            {"call": g.call, "context_tokens": g.context_tokens, "reported_input": g.reported_input}
            for g in growth(book, chosen.thread)
        ],
        "skipped": [{"line": s.line, "reason": s.reason} for s in skipped],
    }
    _check(fields)
    return fields


def _session(book: Book, name: str, source: str) -> dict[str, Any]:
    session = book.session
    about = session.about
    return {
        "id": about.id or name,
        "title": about.title or name,
        "source": about.source or source,
        "model": session.model,
        "calls": len(session.calls),
        "threads": len(session.threads),
    }


def _block(book: Book, figure: BlockFigure) -> dict[str, Any]:
    got = read(figure.block)
    tokens = figure.tokens if figure.read else 0
    return {
        "digest": figure.block.digest,
        "span": [0, len(got.text or got.arguments)],
        "category": figure.category,
        "label": _label(book, figure),
        "role": figure.role,
        "tokens": tokens,
        "method": figure.method if figure.read else UNREAD,
        "interval": [figure.lo, figure.hi] if figure.read else [0, 0],
    }


def _label(book: Book, figure: BlockFigure) -> str:
    return book.names.label(book.session.tree[figure.node]) if figure.node else "not recorded"


def _usage(usage: Usage) -> dict[str, int | None]:
    split = usage.has_cache
    return {
        "input": usage.input,
        "cache_read": usage.cache_read if split else None,
        "cache_write": usage.cache_write if split else None,
        "fresh": usage.fresh if split else None,
        "output": usage.output,
    }


def _check(fields: dict[str, Any]) -> None:
    blocks = sum(block["tokens"] for block in fields["blocks"])
    if blocks + fields["residual"] != fields["context_tokens"] or blocks != sum(fields["categories"].values()):
        raise AssertionError(
            f"figures do not add up: blocks {blocks}, categories {sum(fields['categories'].values())}, "
            f"residual {fields['residual']}, context {fields['context_tokens']}"
        )
