"""What a tool is about to do and has not done: what the user is shown is what will be done."""

from __future__ import annotations

from msgspec import Struct

from ctxtui.core.canonical import Json


class PlannedWrite(Struct, frozen=True, kw_only=True):
    """What a call would write. `path` is the real place below the workspace, symlinks and ``..`` followed, `given` is
    how the model spelled it. `before` is what stands there (None: no such file), `after` the whole file as it will be.
    `guard` says why it is asked for each time ("": it is not). `told` is what the model reads when it is done."""

    path: str
    given: str
    before: bytes | None
    after: bytes
    guard: str = ""
    told: str = ""


class PlannedCall(Struct, frozen=True):
    """What a call would run outside of the workspace's rules: `what` is run, `told` says how and with what reach, and
    `given` is the input that it gets. `guard` says why it is asked for each time ("": it is not)."""

    what: str
    told: str
    given: Json
    guard: str = ""


Planned = PlannedWrite | PlannedCall
