"""The heaviest blocks and the repeats of `ctxtui show`, as data and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ctxtui.analysis.content.diff import Side
from ctxtui.cli.list_asked import Asked
from ctxtui.cli.paint import rule, width
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import ROOT
from ctxtui.views.lists import duplicates as repeat_view
from ctxtui.views.lists import heaviest_blocks as weight_view
from ctxtui.views.lists.diff_rows import said
from ctxtui.views.text.span import Span

_MOST: Final = 40
"""Blocks that are printed; JSON has all."""


def heaviest(asked: Asked) -> list[dict[str, Any]]:
    """The member ``heaviest``: every block that is read, the one that carried most first."""
    return [
        {
            **_block(asked, one.node),
            "tokens": one.tokens,
            "calls": one.calls,
            "carry": one.carry,
            "since_call": one.since or None,
            "cacheable": one.stability or None,
            "held": [one.held, one.further],
        }
        for one in asked.weighed
    ]


def _block(asked: Asked, node: int) -> dict[str, Any]:
    here = asked.book.session.tree[node]
    return {
        "digest": here.block.digest,
        "at": here.depth,
        "category": CATEGORIES[here.category],
        "label": asked.book.names.label(here),
    }


def heaviest_lines(asked: Asked) -> Iterator[list[Span]]:
    """The heaviest blocks for people."""
    rows = [weight_view.Weighed(one, asked.book.session.tree[one.node].category, None) for one in asked.weighed]
    yield rule("heaviest by carry", "".join(span.text for span in weight_view.total(rows)))
    yield weight_view.heads(width() - 1, "carry")
    side = Side(asked.book, asked.chosen)
    for row in rows[:_MOST]:
        yield weight_view.draw(row, said(side, row.weight.node), width() - 1, here=False)


def repeats(asked: Asked) -> dict[str, Any]:
    """The member ``repeats``: what could go, and why."""
    found = asked.repeats
    return {
        "tokens": sum(asked.own(one.node) for one in found),
        "blocks": [
            {
                **_block(asked, one.node),
                "tokens": asked.own(one.node),
                "why": one.kind,
                "share": round(one.share, 3),
                "other": _block(asked, one.other) if one.other != ROOT else None,
                "path": one.path or None,
            }
            for one in found
        ],
    }


def repeat_lines(asked: Asked) -> Iterator[list[Span]]:
    """The repeats for people."""
    tree, side = asked.book.session.tree, Side(asked.book, asked.chosen)
    rows = repeat_view.ordered(
        [
            repeat_view.Repeated(
                one, asked.own(one.node), tree[one.node].category, tree[one.other].turn, tree[one.other].depth
            )
            for one in asked.repeats
        ]
    )
    yield rule("repeats", "".join(span.text for span in repeat_view.total(rows)))
    if not rows:
        yield [Span(" Nothing in this context stands there twice.", "dim")]
    for row in rows:
        yield repeat_view.draw(row, said(side, row.repeat.node), width() - 1, here=False)
