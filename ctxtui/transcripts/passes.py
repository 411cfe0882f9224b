"""Makes a call, with usage only, for each pass of another model inside an answer.

A pass is one of Anthropic's usage ``iterations``, such as an advisor: as a call of its own, it is priced by its own
model. Further passes of the same model are counted elsewhere (docs/money.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.call import COPIED_BY, Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Event, ThreadSeen
from ctxtui.tokens.models import plain_id
from ctxtui.wire.usage import other_passes, pass_id

LABEL = "passes of other models"
"""Label of a thread with such calls."""
_SHARED_EXTRA_KEYS = ("service_tier", "inference_geo", COPIED_BY)
"""Keys of `Call.extra` that apply to every pass of an answer."""


def with_passes(events: list[Event]) -> list[Event]:
    """Insert a call after each call for each pass of another model in its answer.

    The thread of these is ``passes``, or ``THREAD passes`` for those of a further thread.
    """
    return [emitted for event in events for emitted in (event, *_pass_events(event))]


def _pass_events(event: Event) -> Iterator[Event]:
    if not isinstance(event, CallSeen):
        return
    for call in _find_passes(event.call):
        yield ThreadSeen(call.thread, LABEL, event.call.thread)
        yield CallSeen(call)


def _find_passes(call: Call) -> Iterator[Call]:
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
