"""The prompt that a local server makes of a conversation, and what it does where that is too long: the oldest messages
go, and nobody is told (facts §5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ctxtui.core import canonical
from ctxtui.core.canonical import Json, text_of
from ctxtui.offline.exchange import ApiRequest
from ctxtui.offline.json_shape import members, rows
from ctxtui.offline.usage_ledger import WeighedRequest


def rendered(body: Mapping[str, Json]) -> str:
    """Every message of `body` between marks, tools in front, the answer's mark at the end: a template of our own."""
    tools = f"<|tools|>\n{text_of(body['tools'])}<|end|>\n" if rows(body.get("tools")) else ""
    told = "".join(f"<|{one.get('role')}|>\n{_said(one)}<|end|>\n" for one in map(members, rows(body.get("messages"))))
    return f"{tools}{told}<|assistant|>\n"


def _said(message: Mapping[str, Json]) -> str:
    content = message.get("content")
    texts = [str(members(part).get("text", "")) for part in content] if isinstance(content, list) else [content or ""]
    calls = [f"\n<|call|>{text_of(members(call).get('function'))}" for call in rows(message.get("tool_calls"))]
    return "".join([*texts, *calls])


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
