"""Blocks of a context by the names that a program outside can say: the first letters of a digest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER
from ctxtui.core.category import CATEGORIES
from ctxtui.core.errors import NotFound, Several
from ctxtui.curation.context import Context
from ctxtui.services.editing.curate import Curation

SHORT: Final = 10
"""Letters of a digest that a block is named by."""
_LEAST: Final = 4


class NamedBlock(NamedTuple):
    """A block of a context: its `name`, category, `label` and `tokens`, and whether edits in force have it `pinned` or
    `changed`."""

    name: str
    category: str
    label: str
    tokens: int
    pinned: bool
    changed: bool


def name_of(context: Context, position: int) -> str:
    """What the block at `position` is called: ``be5b073c2c``, ``be5b073c2c#1`` where it stands there a second time."""
    target = context.target(position)
    return f"{target.digest[:SHORT]}#{target.occurrence}" if target.occurrence else target.digest[:SHORT]


def position_of(context: Context, name: str) -> int:
    """The position of the block called `name`: four or more letters of its digest, ``#1`` behind them for the second
    of the same. Raises `NotFound`, `Several`."""
    digest, _, number = name.strip().lower().partition("#")
    nth = int(number) if number.isdecimal() else 0
    found = [at for at, item in enumerate(context.items) if item.block.digest.startswith(digest)]
    digests = {context.items[at].block.digest for at in found}
    if len(digest) < _LEAST or not digests:
        raise NotFound(f"no block {name!r} in this context", way_out="`ctxtui edits stage NAME --blocks` names them")
    if len(digests) > 1:
        raise Several(f"{name!r} names {len(digests)} blocks", way_out="more letters of the digest")
    exact = next((at for at in found if context.target(at).occurrence == nth), None)
    if exact is None:
        raise NotFound(f"the block {digest} stands here {len(found)} times only: no {name!r}")
    return exact


def blocks_of(found: Curation, labels: Iterable[str]) -> list[NamedBlock]:
    """The blocks of a context under its edits, heaviest first; `labels` has one for each position."""
    context, applied = found.context, found.applied
    return sorted(
        (
            NamedBlock(
                name_of(context, at),
                CATEGORIES[context.tree[context.nodes[at]].category],
                label,
                found.situation.tokens(at),
                at in found.situation.pinned,
                at in applied.changes,
            )
            for at, label in enumerate(labels)
            if context.items[at].block.kind != HEADER
        ),
        key=lambda one: -one.tokens,
    )
