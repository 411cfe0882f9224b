"""Turns passes of other models inside one answer into calls of their own.

Such passes are those of an advisor or a fallback. The calls have usage only. Without them, their tokens would count at
the wrong model's price.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.call import COPIED_BY, Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Event, ThreadSeen
from ctxtui.tokens.models import plain_id
from ctxtui.wire.usage import other_passes, pass_id

LABEL = "passes of other models"
_SHARED_EXTRA_KEYS = ("service_tier", "inference_geo", COPIED_BY)
"""Keys of `Call.extra` that apply to every pass of an answer."""


def with_passes(events: list[Event]) -> list[Event]:
    """Insert the events of other models' passes after the answers that contain them."""
    return [emitted for event in events for emitted in (event, *_pass_events(event))]


def _pass_events(event: Event) -> Iterator[Event]:
    if not isinstance(event, CallSeen):
        return
    for call in find_passes(event.call):
        yield ThreadSeen(call.thread, LABEL, event.call.thread)
        yield CallSeen(call)


def find_passes(call: Call) -> Iterator[Call]:
    """Yield the passes of other models inside the answer of `call`."""
    for number, other_pass in enumerate(other_passes(call.extra), 1):
        if other_pass.model and plain_id(other_pass.model) != plain_id(call.model):
            yield Call(
                pass_id(call.id, number),
                "passes" if call.thread == MAIN else f"{call.thread} passes",
                provider=call.provider,
                model=other_pass.model,
                started=call.started,
                ended=call.ended,
                fidelity=Fidelity.TOTALS,
                usage=other_pass.usage,
                line=call.line,
                bytes_=call.bytes_,
                extra={"purpose": other_pass.kind}
                | {key: call.extra[key] for key in _SHARED_EXTRA_KEYS if key in call.extra},
            )
