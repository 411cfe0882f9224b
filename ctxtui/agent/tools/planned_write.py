"""A write that is worked out and not done: what the user is shown is what will be written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWrite:
    """What a call would write. `path` is the real place below the workspace, symlinks and ``..`` followed, `given` is
    how the model spelled it. `before` is what stands there (None: no such file), `after` the whole file as it will be.
    `guard` says why it is asked for each time ("": it is not). `told` is what the model reads when it is done."""

    path: str
    given: str
    before: bytes | None
    after: bytes
    guard: str = ""
    told: str = ""
