"""Names for blocks of a context that external programs can use: prefixes of their digests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER
from ctxtui.core.category import CATEGORIES
from ctxtui.core.errors import NotFound, Several
from ctxtui.curation.context import Context
from ctxtui.services.editing.curate import Curation

NAME_LENGTH: Final = 10
MIN_NAME_LENGTH: Final = 4
MAX_DIGITS: Final = 9


class NamedBlock(NamedTuple):
    """A block that edits can target, with its `name`.

    `tokens` is its size without the edits. `pinned`: an edit in force pins it or its call or result; `changed`: an edit
    or its repair changes or removes it.
    """

    name: str
    category: str
    label: str
    tokens: int
    pinned: bool
    changed: bool


def block_name(context: Context, position: int) -> str:
    """The name of the block at `position`: ``be5b073c2c``; the second occurrence has ``#1``."""
    target = context.target(position)
    return f"{target.digest[:NAME_LENGTH]}#{target.occurrence}" if target.occurrence else target.digest[:NAME_LENGTH]


def find_block(context: Context, name: str) -> int:
    """The position of the block called `name`.

    A name is the first four or more hex digits of its digest, with ``#1`` for the second occurrence. Raises `NotFound`,
    or `Several` if it is ambiguous.
    """
    digest, mark, number = name.strip().lower().partition("#")
    is_number = number.isdecimal() and len(number) <= MAX_DIGITS
    nth = int(number) if is_number else 0
    positions = [position for position, item in enumerate(context.items) if item.block.digest.startswith(digest)]
    digests = {context.items[position].block.digest for position in positions}
    if len(digest) < MIN_NAME_LENGTH:
        raise NotFound(f"{name!r} is too short for a block", way_out=f"give {MIN_NAME_LENGTH} or more hex digits")
    if not digests or (mark and not is_number):
        raise NotFound(f"no block {name!r} in this context", way_out="`ctxtui edits stage NAME --blocks` names them")
    if len(digests) > 1:
        raise Several(f"{name!r} names {len(digests)} blocks", way_out="give more hex digits of the digest")
    exact = next((position for position in positions if context.target(position).occurrence == nth), None)
    if exact is None:
        raise NotFound(f"no block {name!r}: it occurs {len(positions)} time{'' if len(positions) == 1 else 's'} here")
    return exact


def list_blocks(curation: Curation, labels: Iterable[str]) -> list[NamedBlock]:
    """A context's blocks before its edits, without headers, heaviest first.

    `labels` has one for each position.
    """
    context, applied = curation.context, curation.applied
    return sorted(
        (
            NamedBlock(
                block_name(context, position),
                CATEGORIES[context.tree[context.nodes[position]].category],
                label,
                curation.policy_context.tokens(position),
                position in curation.policy_context.pinned,
                position in applied.changes,
            )
            for position, label in enumerate(labels)
            if context.items[position].block.kind != HEADER
        ),
        key=lambda block: -block.tokens,
    )
