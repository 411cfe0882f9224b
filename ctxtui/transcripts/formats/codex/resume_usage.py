"""Usage in a rollout that is resumed with another context: reports behind the change go, the last answer has the new
size, marked as an estimate.

The client's meter, and whether it compacts before the first prompt, go by the last count in the file (facts §13).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.transcripts.formats.codex.records import EVENT, USAGE, decode
from ctxtui.transcripts.formats.codex.resume_line import RolloutLine
from ctxtui.transcripts.formats.codex.usage import ESTIMATED_BY

_COUNT = "token_count"


class Size(NamedTuple):
    """What the last answer of the new context comes to, in tokens: the `input` of its request, and what stands of the
    `answer` and behind it."""

    input: int
    answer: int


def reported(lines: Sequence[RolloutLine], first: int, size: Size | None) -> list[RolloutLine]:
    """`lines` without reports of usage from the 0-based line `first` on, where the context is another one, and with one
    of `size` behind the last item where that is known."""
    kept = [*lines[:first], *(line for line in lines[first:] if line.type != USAGE and line.kind != _COUNT)]
    if size is None:
        return kept
    # Items that are put in behind the last line stand before the count.
    at = len(kept) if kept[-1].behind else max((n for n, one in enumerate(kept, 1) if one.slots), default=len(kept))
    stamp = kept[at - 1].timestamp
    info = {**_counted(size), "model_context_window": _window(lines), ESTIMATED_BY: "ctxtui"}
    payload = {"type": _COUNT, "info": info, "rate_limits": None}
    made = canonical.dumps({"timestamp": stamp, "type": EVENT, "payload": payload})
    count = RolloutLine(raw=made, type=EVENT, timestamp=stamp, slots=[], bare=False, kind=_COUNT)
    return [*kept[:at], count, *kept[at:]]


def _counted(size: Size) -> dict[str, Json]:
    last = {
        "input_tokens": size.input,
        "cached_input_tokens": 0,
        "output_tokens": size.answer,
        "reasoning_output_tokens": 0,
        "total_tokens": size.input + size.answer,
    }
    # The new session has used nothing yet.
    return {"total_token_usage": dict.fromkeys(last, 0), "last_token_usage": last}


def _window(lines: Sequence[RolloutLine]) -> int | None:
    """The window that the last count or turn told."""
    for line in reversed(lines):
        if line.type != EVENT:
            continue
        for record in decode(line.raw, False):
            payload = record.value()
            info = payload.get("info")
            told = (info if isinstance(info, dict) else payload).get("model_context_window")
            if isinstance(told, int):
                return told
    return None
