"""One miss of the prompt cache, and the displayed names of causes.

It imports little, as a screen needs it for its first frame.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

NOT_IN_RECORD: Final = "not in the record"
TTL, CONTENT, SYSTEM, TOOLS, MODEL = "TTL", "content changed", "system changed", "tools changed", "model changed"
COMPACTION, RESTART, STRIPPED, UNKNOWN = "compaction", "client restarted", "thinking stripped", NOT_IN_RECORD
PARAMETER, BEHIND, EDITS = "parameter changed", "cache fell behind", "edits applied"
"""Displayed names of causes; those about markers are `cache.explain`'s."""


class DifferingBlock(Struct, frozen=True):
    """One of the two blocks in which a call differs from the previous one.

    `words` are shortened.
    """

    category: str
    label: str
    words: str


class CacheMiss(Struct, frozen=True, kw_only=True):
    """One miss of the prompt cache.

    - `number`: the call's number in `thread`, from 1; `base`: that of the last call before it with a report.
    - `at`, `between`: the starts of these two (Unix seconds); `pause`: seconds since the previous call began. None: not
      recorded.
    - `tokens`: tokens that were written again or paid in full; `paid`: their cost at this call; `usd`: the extra cost
      over reading them (None: no price is known).
    - `read`: tokens that were read.
    - `shared`: tokens of the common prefix of both requests, as counted.
    - `sizes`: the inputs of both calls.
    - `cause`: a displayed name; `what`: details of it; `by`: for `TTL` the seconds since expiry, else 0; `life`: as in
      `cached_input.CachedInput`.
    - `tested`: there is a forecast, and it counts as a miss by `audit.AuditedRead.missed`; `foreseen`: it predicted the
      miss.
    - `evidence`: describes the miss from the recording.
    - `block`: position (from 1) of the first block that differs, among `blocks`; `old`, `new`: that block in both
      requests.
    - `writer`: the tool that the previous answer called on a file named in the block; "" for none.
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
    old: DifferingBlock | None = None
    new: DifferingBlock | None = None
    writer: str = ""

    @property
    def partial(self) -> bool:
        return self.read > 0
