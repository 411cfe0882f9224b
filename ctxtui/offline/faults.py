"""Simulated faults of a provider, for tests of clients.

A provider can be overloaded, answer slowly or break connections.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig

STATUSES: Final = {
    "429": "This request would exceed your organization's rate limit. Please try again later.",
    "500": "Internal server error",
    "529": "Overloaded",
}
"""Refusals named by their status, with the provider's text."""

STREAM_ERROR: Final = "stream-error"
SLOW: Final = "slow"
DISCONNECT: Final = "disconnect"
GARBAGE: Final = "garbage"
BREAKS: Final = (STREAM_ERROR, DISCONNECT, GARBAGE)
"""Faults in the middle of an answer."""
KINDS: Final = (*STATUSES, STREAM_ERROR, SLOW, DISCONNECT, GARBAGE)

_MAX_VALUES: Final = {"share": 1, "times": 1_000_000, "after": 1_000_000, "seconds": 3600}
MAX_ARMED: Final = 1000


class Fault(Struct, frozen=True):
    """One simulated fault.

    - `kind`: one of `KINDS`.
    - `share`: probability per request (0 to 1).
    - `times`: number of times in all; None: unlimited.
    - `after`: number of stream chunks before it (stream-error, disconnect, garbage).
    - `seconds`: delay before the answer (slow), or the value of ``retry-after`` (429).
    """

    kind: str
    share: float = 1.0
    times: int | None = None
    after: int = 3
    seconds: float = 1.0


def parse(spelled: Json) -> Fault:
    """Parse a fault that is written as a text or as an object. Raises `BadConfig`.

    The text is ``429`` or, with options, ``429;times=2;seconds=5;share=0.1``; the object has the options and ``kind``
    as members.
    """
    if isinstance(spelled, str):
        kind, *options = [part.strip() for part in spelled.split(";")]
        spelled = {"kind": kind, **dict(option.partition("=")[::2] for option in options)}
    options_by_name = dict(spelled) if isinstance(spelled, dict) else {}
    kind = str(options_by_name.pop("kind", ""))
    if kind not in KINDS:
        raise BadConfig(f"no fault {kind!r}", way_out=f"there are {', '.join(KINDS)}")
    try:
        numbers = {name: _parse_number(name, value) for name, value in options_by_name.items()}
        return replace(Fault(kind), **numbers)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadConfig(f"fault {kind}: {error}", way_out="its options are share, times, after, seconds") from None


def _parse_number(name: str, value: Json) -> float | int:
    if name not in _MAX_VALUES:
        raise ValueError(f"no option {name!r}")
    number = float(value) if name in ("share", "seconds") else int(value)
    if not 0 <= number <= _MAX_VALUES[name]:
        raise ValueError(f"{name} must be between 0 and {_MAX_VALUES[name]:,}")
    return number


class Faults:
    """The armed faults. A request gets the first one that applies.

    Equal seeds give the same random faults, None gives others each time.
    """

    def __init__(self, faults: Iterable[Fault] = (), seed: int | None = 0) -> None:
        self._random = Random(seed)
        self.arm(faults)

    def arm(self, faults: Iterable[Fault], seed: int | None = None) -> None:
        """Replace all faults, and restart the random numbers if `seed` is given."""
        if seed is not None:
            self._random = Random(seed)
        self.armed = [fault for fault in faults if fault.times != 0]

    def take_fault(self) -> Fault | None:
        """The fault of the next request, if any; it counts as having occurred."""
        for n, fault in enumerate(self.armed):
            if fault.share < 1 and self._random.random() >= fault.share:
                continue
            if fault.times is not None:
                self.armed[n : n + 1] = [replace(fault, times=fault.times - 1)] if fault.times > 1 else []
            return fault
        return None
