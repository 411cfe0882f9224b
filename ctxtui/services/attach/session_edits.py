"""`ctxtui.edits()`: the edits that the user applied to a session, for a program that sends its own requests."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from msgspec import Struct, field

from ctxtui.core.edit import Edit
from ctxtui.core.edit_json import to_json
from ctxtui.core.session import MAIN
from ctxtui.services.attach.curated import AppliedEdits, Proof, curated
from ctxtui.services.config.config import load
from ctxtui.services.config.paths import database

B = TypeVar("B", bytes, dict[str, Any])

_PATHS = (("input", "/v1/responses"), ("max_tokens", "/v1/messages"))


class SessionOverlay(Struct):
    """The edits that are applied to `thread` of a session, as they are now. `proof` is of the last `apply`."""

    session: str
    thread: str
    edits: tuple[Edit, ...]
    proof: Proof = field(default_factory=Proof)

    @property
    def applied(self) -> list[dict[str, Any]]:
        """The edits, as ``ctxtui edits SESSION --json`` has them."""
        return [to_json(edit) for edit in self.edits]

    def apply(self, request: B, url: str = "") -> B:
        """A request (its JSON as bytes, or the arguments of an SDK's ``create``) under the edits: the same where none
        of them is about it, or where its provider would refuse the result; `proof` says which. `url` tells the API
        where the request does not."""
        raw = request if isinstance(request, bytes) else json.dumps(request).encode()
        made = curated(url or f"https://api.invalid{_path(request)}", raw, self.edits)
        self.proof = made.proof
        if made.body is None:
            return request
        if isinstance(request, bytes):
            return made.body
        found: dict[str, Any] = json.loads(made.body)
        return found


def _path(request: bytes | dict[str, Any]) -> str:
    """The path of the API that a request is for, as its own members tell."""
    told = json.loads(request) if isinstance(request, bytes) else request
    if "messages" in told and not _is_messages(told):
        return "/v1/chat/completions"
    return next((path for member, path in _PATHS if member in told), "/v1/messages")


def _is_messages(told: dict[str, Any]) -> bool:
    """Whether a request is Anthropic's: a system prompt or tools of its kind, or a model of theirs."""
    tools = told.get("tools") or [{}]
    return "system" in told or "input_schema" in tools[0] or str(told.get("model", "")).startswith("claude")


def edits(session: str, thread: str = MAIN) -> SessionOverlay:
    """The edits of a session by its id; see `ctxtui.edits`. Raises `CtxtuiError` where the database cannot be read."""
    kept = AppliedEdits(database(load().settings.data_dir))
    return SessionOverlay(session, thread, kept.of(session, thread).applied)
