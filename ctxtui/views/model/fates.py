"""Effects of edits on blocks: `Fate` for a changed block, `Step` for a change of size.

A raw position is the number of a block (from 0) in the context before edits.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from ctxtui.core.edit import USER


class Fate(Struct, frozen=True, kw_only=True):
    """Effect of edits on one block.

    - `tokens`, `after`: tokens that are read before and after the edits (None: being counted), with the message header
      of a first part.
    - `mark`: the name of the row's mark; `kind`, `author`: those of the edit.
    - `out`: the block is removed; `repair`: it is removed or changed only to keep the request valid.
    - `stays`: header tokens that are sent without the block.
    """

    tokens: int
    after: int | None
    mark: str
    out: bool
    repair: bool
    kind: str
    author: str = USER
    stays: int = 0

    @property
    def freed(self) -> int:
        return self.tokens - (self.after or 0) - self.stays


class Step(NamedTuple):
    """Effect of edits at a raw position.

    - `freed`: tokens (negative: added).
    - `category`: that of the new content; None without any.
    - `blocks`: number of raw blocks replaced; 0 for an insertion before the position.
    """

    position: int
    freed: int
    category: int | None
    blocks: int = 1


class FoundFates(NamedTuple):
    """Fates of changed blocks, `by_node` in order of the changes.

    `steps` in prompt order; `whole`: all are counted.
    """

    by_node: dict[int, Fate]
    steps: list[Step]
    whole: bool
