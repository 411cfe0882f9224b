"""Fates of blocks under edits."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from ctxtui.core.edit import USER


class Fate(Struct, frozen=True, kw_only=True):
    """Fate of one block: `tokens` it has and `after` the edits (None: being counted; 0: it is out), both with
    its message's header where it is the first part; the `mark` of its row by name, whether it is `out`, whether only a
    `repair` took it, and who did it. `stays` are the tokens of that header where it is sent without the block."""

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
        """Tokens that go from the request; negative where more come."""
        return self.tokens - (self.after or 0) - self.stays


class Step(NamedTuple):
    """Effect of edits at a raw position: tokens that are `freed` there (negative: more come), the `category` of what
    stands there then (None: nothing does), in the place of how many raw `blocks` (0: it is put in before that
    position)."""

    position: int
    freed: int
    category: int | None
    blocks: int = 1


class FoundFates(NamedTuple):
    """Fates of the blocks that change, `by_node`, in the order of the changes; the `steps` in prompt
    order. `whole`: none is still being counted."""

    by_node: dict[int, Fate]
    steps: list[Step]
    whole: bool
