"""Outcome of a request in a cache: tokens read and written, reasons for not reading more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt, CacheMarker
from ctxtui.core.usage import Usage

NO_MARKER: Final = "no marker"
"""Reasons for not reading more."""
MINIMUM: Final = "below minimum"
EXPIRED: Final = "expired"
NOT_YET: Final = "not yet readable"
LOOKBACK: Final = "lookback"
NEVER: Final = "never written"

_LIVES: Final = {300.0: "write_5m", 3600.0: "write_1h", 1800.0: "write_30m", 43200.0: "write_12h"}
"""Fields of `Usage` for writes, by lifetime in seconds."""


Entry = tuple[float, float, float]
"""A cached prefix: (until, ready, life).

It is readable from ``ready`` on and expires at ``until`` (Unix seconds), ``life`` seconds after each use.
"""


class Reason(NamedTuple):
    """Reason for not reading more, at `position`.

    `by` is the amount lacking: seconds past the lifetime (`EXPIRED`), seconds too early (`NOT_YET`), positions too far
    (`LOOKBACK`), tokens too few (`MINIMUM`).
    """

    kind: str
    position: PrefixEnd | None = None
    by: float = 0.0


class CacheOutcome(NamedTuple):
    """Input of `prompt`, sent `at` (Unix seconds), split into tokens read, written and fresh.

    `read` + `written` + `fresh` = the prompt's total. The cache changes only when the outcome is recorded.
    - `writes`: (lifetime in seconds, tokens).
    - `hit`: the deepest cached position; `read` may still be 0 if the provider does not report such short reads.
    - `entered`: keys that this request puts into the cache, with their lifetimes; `renewed`: keys of the entries whose
      lifetime starts anew.
    - `deepest`: the deepest position of an entry that it puts into the cache (None: no entry at a position).
    - `life`: the lifetime of the longest cached prefix from now on (None: nothing is cached, or it never expires).
    """

    prompt: CachedPrompt
    at: float
    read: int = 0
    writes: tuple[tuple[float, int], ...] = ()
    hit: PrefixEnd | None = None
    entered: tuple[tuple[bytes, float], ...] = ()
    renewed: tuple[bytes, ...] = ()
    life: float | None = None
    reasons: tuple[Reason, ...] = ()
    deepest: PrefixEnd | None = None

    @property
    def total(self) -> int:
        return self.prompt.total

    @property
    def written(self) -> int:
        return sum(tokens for _, tokens in self.writes)

    @property
    def fresh(self) -> int:
        return self.total - self.read - self.written

    @property
    def expires(self) -> float | None:
        """When the longest cached prefix expires if unused (Unix seconds); None as for `life`."""
        return None if self.life is None else self.at + self.life

    def with_min_read(self, floor: int) -> CacheOutcome:
        """Return the outcome with at least `floor` tokens read.

        It accounts for a prefix that other traffic keeps cached.
        """
        left = more = max(0, min(floor, self.total) - self.read)
        writes = []
        for life, tokens in self.writes:
            moved = min(left, tokens)
            left -= moved
            writes.append((life, tokens - moved))
        return self._replace(read=self.read + more, writes=tuple(writes)) if more else self

    def to_usage(self, output: int = 0) -> Usage:
        """Usage as the provider would report it, with `output` answer tokens.

        Writes of a lifetime that `Usage` does not have count as five minutes'.
        """
        written: dict[str, Any] = {}
        for life, tokens in self.writes:
            name = _LIVES.get(life, "write_5m")
            written[name] = written.get(name, 0) + tokens
        usage = Usage(fresh=self.fresh, cache_read=self.read, output=output)
        return replace(usage, **written) if written else usage


def split_writes(read: int, new: Sequence[tuple[CacheMarker, int]]) -> tuple[tuple[float, int], ...]:
    """Split a request's writes by lifetime in seconds, the longest first.

    `read` are the tokens that the request read. `new` are the markers after the hit in prompt order, each with the
    tokens of its prefix. Everything up to the last marker of the longest lifetime is written for that lifetime; from
    there to the last marker of the next shorter lifetime, for that one; and so on.
    """
    if len(new) == 1:
        return ((new[0][0].life, new[0][1] - read),) if new[0][1] > read else ()
    writes: list[tuple[float, int]] = []
    done = read
    while new:
        life = max(mark.life for mark, _ in new)
        last = max(n for n, (mark, _) in enumerate(new) if mark.life == life)
        if new[last][1] > done:
            writes.append((life, new[last][1] - done))
            done = new[last][1]
        new = new[last + 1 :]
    return tuple(writes)
