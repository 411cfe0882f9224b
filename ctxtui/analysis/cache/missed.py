"""One miss of the prompt cache, as it is shown, and what its causes are called: light, for the first frame needs it."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

NOT_IN_RECORD: Final = "not in the record"
TTL, CONTENT, SYSTEM, TOOLS, MODEL = "TTL", "content changed", "system changed", "tools changed", "model changed"
COMPACTION, RESTART, STRIPPED, UNKNOWN = "compaction", "client restarted", "thinking stripped", NOT_IN_RECORD
PARAMETER, BEHIND, EDITS = "parameter changed", "cache fell behind", "edits applied"
"""Causes, as they are shown; those about markers are `cache.explain`'s."""


class PartingBlock(Struct, frozen=True):
    """One of the two blocks that part a call from the one before: its category, label and words (shortened)."""

    category: str
    label: str
    words: str


class Missed(Struct, frozen=True, kw_only=True):
    """One miss. `number` (from 1) of `thread` at `at` (Unix seconds), which `base` was the call before.

    `tokens` were written again or paid in full: `paid` is what they cost at this call, `usd` what that is more than
    reading them (None: no price is known). `read` tokens were read, `partial`: not nothing; `shared` are the tokens
    that both requests begin with, as reported for them; `sizes` are the inputs of both calls. `cause` is one of this
    module's, `by` how many seconds too late it came, `pause` the seconds since the call before (None: not recorded),
    `life` the lifetime that counted, `what` more about the cause. `tested`: the simulator was asked whether it would be
    hit or miss (see `audit.CacheAudited.missed`); `foreseen`: it said miss. `block` is the place (from 1) of the first
    block that differs among `blocks`, `old` and `new` that block in both requests, `writer` the tool call of this
    session that changed it, "" for none.
    """

    thread: str
    number: int
    base: int
    at: float | None
    between: float | None
    tokens: int
    usd: float | None
    read: int
    shared: int
    sizes: tuple[int, int]
    cause: str
    what: str
    by: float
    life: float
    foreseen: bool
    evidence: str
    tested: bool = True
    paid: float | None = None
    pause: float | None = None
    block: int = 0
    blocks: int = 0
    old: PartingBlock | None = None
    new: PartingBlock | None = None
    writer: str = ""

    @property
    def partial(self) -> bool:
        """Whether what stands in front of the change was still read."""
        return self.read > 0
