"""`ctxtui.edits()`: a session's applied edits, for a program that sends its own requests."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from msgspec import Struct, field

from ctxtui.core.edit import Edit
from ctxtui.core.edit_json import to_json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.core.session import MAIN
from ctxtui.services.attach.curated import AppliedEdits, Proof, curate_request
from ctxtui.services.config.config import load
from ctxtui.services.config.paths import database
from ctxtui.transcripts.kit.http_exchange.pair import parse_body

B = TypeVar("B", bytes, dict[str, Any])


class SessionOverlay(Struct):
    """The applied edits of a session's `thread`, read once.

    `proof` has the ids of the edits that the last `apply` applied, and of those that it could not.
    """

    session: str
    thread: str
    edits: tuple[Edit, ...]
    proof: Proof = field(default_factory=Proof)

    @property
    def applied(self) -> list[dict[str, Any]]:
        """The edits in the form of ``ctxtui edits SESSION --json``."""
        return [to_json(edit) for edit in self.edits]

    def apply(self, request: B, url: str = "") -> B:
        """Apply the edits to a request (JSON bytes, or the arguments of an SDK's ``create``).

        Returns it unchanged if no edit concerns it or the provider would refuse the result; `proof` has the details.
        `url` determines the API; without it the request does.
        """
        raw = request if isinstance(request, bytes) else json.dumps(request).encode()
        curated = curate_request(url or f"https://api.invalid{_path(request)}", raw, self.edits)
        self.proof = curated.proof
        if curated.body is None:
            return request
        if isinstance(request, bytes):
            return curated.body
        edited: dict[str, Any] = json.loads(curated.body)
        return edited


def _path(request: bytes | dict[str, Any]) -> str:
    """Guess the API's path from the members of a request."""
    body = as_dict(parse_body(request)) if isinstance(request, bytes) else request
    if "messages" in body and not _is_messages(body):
        return "/v1/chat/completions"
    return "/v1/responses" if "input" in body else "/v1/messages"


def _is_messages(body: dict[str, Any]) -> bool:
    """Whether a request is Anthropic's, by its system prompt, tools or model."""
    first_tool = as_dict(next(iter(as_list(body.get("tools"))), None))
    return "system" in body or "input_schema" in first_tool or str(body.get("model", "")).startswith("claude")


def edits(session: str, thread: str = MAIN) -> SessionOverlay:
    """The applied edits of a session by its id.

    Raises `CtxtuiError` if the database cannot be read.
    """
    applied_edits = AppliedEdits(database(load().settings.data_dir))
    return SessionOverlay(session, thread, applied_edits.read(session, thread).applied)
