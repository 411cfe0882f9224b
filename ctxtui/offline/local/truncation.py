"""What a local server does with a prompt that is too long: the oldest messages go, and nobody is told (facts §5)."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import ApiRequest
from ctxtui.offline.json_shape import rows
from ctxtui.offline.usage_ledger import WeighedRequest


def fitted(asked: ApiRequest, window: int, weigh: Callable[[bytes], WeighedRequest]) -> WeighedRequest:
    """The request as it is evaluated in `window` tokens: without the oldest messages, but with every system message
    and the last one, whatever that takes."""
    whole = weigh(asked.raw)
    messages = rows(asked.body.get("messages"))
    if whole.tokens <= window or not messages:
        return whole
    low, high = 1, len(messages) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if weigh(_without(asked, middle)).tokens <= window else (middle + 1, high)
    return weigh(_without(asked, low))


def _without(asked: ApiRequest, first: int) -> bytes:
    """The body without the messages before number `first` that are not the system's."""
    messages: list[Json] = rows(asked.body.get("messages"))
    kept = [one for n, one in enumerate(messages) if n >= first or one.get("role") == "system"]
    return canonical.dumps({**asked.body, "messages": kept})
