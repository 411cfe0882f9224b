"""Message threads: conversations kept by the server, so that requests contain only new messages (facts §3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.fields import field_refusals, format_choices
from ctxtui.offline.exchange import ApiRequest, Refusal
from ctxtui.offline.json_shape import fields, members, rows

BETA: Final = "message-threads-"
LIFETIME_S: Final = 300.0
"""Seconds after its last use until a thread expires."""
_MOST_BYTES: Final = 128 * 1024 * 1024
_TYPES: Final = {
    "create": fields("type! string"),
    "continue": fields("type! string, previous_message_id! string"),
}
_KEPT: Final[tuple[str, ...]] = ("system", "tools")
"""Members that a thread keeps from its first request, and that later requests must not repeat."""


class HeldThread(Struct):
    """A conversation up to an answer.

    `body` is the request with all of it, `size` its bytes, `used` its last use (Unix seconds). `continued`: a later
    request continued it here.
    """

    body: dict[str, Json]
    size: int
    used: float
    continued: bool = False


class MessageThreads:
    """The threads of a server, by the id of their last answer."""

    def __init__(self) -> None:
        self._held: dict[str, HeldThread] = {}

    def expand(self, request: ApiRequest, now: float) -> ApiRequest | Refusal:
        """Prepend the thread of `asked`, at `now` in Unix seconds, or return the refusal; unchanged without a
        thread."""
        thread = request.body.get("thread")
        if thread is None or not isinstance(request.body.get("messages"), list):
            # Anything but a list is refused elsewhere.
            return request
        kind = members(thread).get("type")
        if not isinstance(thread, dict):
            return Refusal("thread: Input should be a valid dictionary", rule="wrong type")
        if not isinstance(kind, str) or kind not in _TYPES:
            message = "Field required" if kind is None else f"Input should be {format_choices([*_TYPES])}"
            return Refusal(f"thread.type: {message}", rule="wrong value")
        wrong = next(field_refusals(thread, _TYPES[kind], ("thread", kind)), None)
        if wrong is not None or kind == "create":
            return wrong or request
        id_ = thread["previous_message_id"]
        held = self._held.get(id_)
        if held is None or now - held.used > LIFETIME_S:
            message = f"thread: no usable thread state was found for previous_message_id '{id_}'"
            return Refusal(message, 404, code="thread_not_found", rule="thread not found")
        if held.continued:
            message = f"thread: the response '{id_}' has already been continued"
            return Refusal(message, code="thread_already_continued", rule="thread continued")
        for name in _KEPT:
            if request.body.get(name) is not None:
                message = f"{name}: cannot be sent when continuing a thread, which keeps its own"
                return Refusal(message, rule="thread field")
        kept: dict[str, Json] = {name: held.body[name] for name in _KEPT if name in held.body}
        messages = [*rows(held.body.get("messages")), *rows(request.body.get("messages"))]
        body = {**request.body, **kept, "messages": messages}
        return ApiRequest(canonical.dumps(body), body, request.headers)

    def keep(self, request: ApiRequest, message: Mapping[str, Json], now: float) -> None:
        """Store the whole conversation `asked` with its answer `message`, at `now`."""
        thread = request.body.get("thread")
        if thread is None:
            return
        before = self._held.get(str(members(thread).get("previous_message_id")))
        if before is not None:
            before.continued, before.used = True, now
        answer = {"role": "assistant", "content": message["content"]}
        body = {**request.body, "messages": [*rows(request.body.get("messages")), answer]}
        self._held[str(message["id"])] = HeldThread(body, len(request.raw), now)
        room = _MOST_BYTES - sum(held.size for held in self._held.values())
        while room < 0 and len(self._held) > 1:
            room += self._held.pop(next(iter(self._held))).size
