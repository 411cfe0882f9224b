"""Message threads: the server keeps a conversation, requests add new messages (facts §3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.anthropic.fields import field_refusals, format_choices
from ctxtui.offline.exchange import ApiRequest, Refusal
from ctxtui.offline.json_shape import fields

BETA: Final = "message-threads-"
LIFETIME_S: Final = 300.0
"""Seconds after its last use until a thread expires."""
_MAX_BYTES: Final = 128 * 1024 * 1024
"""Maximum bytes of all stored threads; beyond that the oldest are dropped."""
_TYPES: Final = {
    "create": fields("type! string"),
    "continue": fields("type! string, previous_message_id! string"),
}
_STORED_MEMBERS: Final[tuple[str, ...]] = ("system", "tools")
"""Kept from the first request of a thread; later requests must not repeat them."""


class StoredThread(Struct):
    """A conversation up to an answer.

    - `body`: the request with the whole conversation; `size`: its bytes without the answer.
    - `used`: its last use (Unix seconds).
    - `continued`: a later request continued it here.
    """

    body: dict[str, Json]
    size: int
    used: float
    continued: bool = False


class MessageThreads:
    """The threads of a server, by the id of their last answer."""

    def __init__(self) -> None:
        self._threads: dict[str, StoredThread] = {}

    def expand(self, request: ApiRequest, now: float) -> ApiRequest | Refusal:
        """Prepend the stored thread that `request` continues, or return the refusal.

        A request without a thread, or that begins one, is returned unchanged.
        """
        thread = request.body.get("thread")
        if thread is None or not isinstance(request.body.get("messages"), list):
            # Anything but a list is refused elsewhere.
            return request
        kind = as_dict(thread).get("type")
        if not isinstance(thread, dict):
            return Refusal("thread: Input should be a valid dictionary", rule="wrong type")
        if not isinstance(kind, str) or kind not in _TYPES:
            message = "Field required" if kind is None else f"Input should be {format_choices([*_TYPES])}"
            return Refusal(f"thread.type: {message}", rule="wrong value")
        refusal = next(field_refusals(thread, _TYPES[kind], ("thread", kind)), None)
        if refusal is not None or kind == "create":
            return refusal or request
        id_ = thread["previous_message_id"]
        stored = self._threads.get(id_)
        if stored is None or now - stored.used > LIFETIME_S:
            message = f"thread: no usable thread state was found for previous_message_id '{id_}'"
            return Refusal(message, 404, code="thread_not_found", rule="thread not found")
        if stored.continued:
            message = f"thread: the response '{id_}' has already been continued"
            return Refusal(message, code="thread_already_continued", rule="thread continued")
        for name in _STORED_MEMBERS:
            if request.body.get(name) is not None:
                message = f"{name}: cannot be sent when continuing a thread, which keeps its own"
                return Refusal(message, rule="thread field")
        stored_members: dict[str, Json] = {name: stored.body[name] for name in _STORED_MEMBERS if name in stored.body}
        messages = [*as_list(stored.body.get("messages")), *as_list(request.body.get("messages"))]
        body = {**request.body, **stored_members, "messages": messages}
        return ApiRequest(canonical.dumps(body), body, request.headers)

    def store(self, request: ApiRequest, message: Mapping[str, Json], now: float) -> None:
        """Store the whole conversation `request` with its answer `message`, if it has a thread."""
        thread = request.body.get("thread")
        if thread is None:
            return
        before = self._threads.get(str(as_dict(thread).get("previous_message_id")))
        if before is not None:
            before.continued, before.used = True, now
        answer = {"role": "assistant", "content": message["content"]}
        body = {**request.body, "messages": [*as_list(request.body.get("messages")), answer]}
        self._threads[str(message["id"])] = StoredThread(body, len(request.raw), now)
        free_bytes = _MAX_BYTES - sum(stored.size for stored in self._threads.values())
        while free_bytes < 0 and len(self._threads) > 1:
            free_bytes += self._threads.pop(next(iter(self._threads))).size
