"""The model of a chat: endpoint, id, window; and the user's choice of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ctxtui.providers.endpoint import Endpoint, is_loopback

OFFLINE: Final = "offline"
"""Endpoint kind, and default model id, of the offline provider."""
REMOTE_MARK: Final = "cloud"
"""Part of the names of models that a local server, such as Ollama, runs on another machine."""


class ModelChoice(Struct, frozen=True):
    """The user's choice of model, and of the session to continue.

    An empty provider or model is chosen by settings and availability. `session`, `thread`, `call`: where to continue
    (no session: a new chat).
    """

    provider: str = ""
    model: str = ""
    base_url: str = ""
    session: str = ""
    call: int = 0
    """Number of the call to continue from; 0: the end."""
    thread: str = ""


class ChatModel(Struct, frozen=True):
    """The model of a chat.

    - `window`: tokens (0: unknown); `origin`: how it is known.
    - `models`: ids that the endpoint lists, if it was asked, and their windows in tokens (0: window unknown).
    - `why`: the reason for the choice.
    - `most_output`: the limit of an answer in tokens (0: unknown).
    """

    endpoint: Endpoint
    model: str
    window: int = 0
    origin: str = ""
    models: Mapping[str, int] = {}
    why: str = ""
    most_output: int = 0

    @property
    def is_offline(self) -> bool:
        """Whether it is the offline provider, which is no model."""
        return self.endpoint.kind == OFFLINE


def runs_model(chat_model: ChatModel) -> bool:
    """Whether the server is a known one that runs the model itself, or the offline provider.

    A program at a local address that is no known server may forward everything.
    """
    is_known_server = chat_model.endpoint.local and bool(chat_model.endpoint.kind)
    return chat_model.is_offline or (is_known_server and REMOTE_MARK not in chat_model.model.lower())


def stays_on_machine(chat_model: ChatModel) -> bool:
    """Whether prompts stay on this machine."""
    return runs_model(chat_model) and (chat_model.is_offline or is_loopback(chat_model.endpoint.base_url))


def charges_nothing(chat_model: ChatModel, usd: float | None) -> bool:
    """Whether a request to `chat_model` counts as free.

    That is if a known server runs the model itself, or if the endpoint is local and the request has no list price
    (`usd` is None).
    """
    return runs_model(chat_model) or (chat_model.endpoint.local and usd is None)
