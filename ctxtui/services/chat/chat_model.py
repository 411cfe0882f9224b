"""Whom a chat talks to: the endpoint, the model, its window; and what a user asks for."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ctxtui.providers.endpoint import Endpoint

OFFLINE: Final = "offline"
"""The kind of endpoint, and the model, that is the embedded provider."""


_SENDS_ON: Final = "cloud"
"""Stands in the names of models that a server on this machine has answered elsewhere, as Ollama does."""


class ModelChoice(Struct, frozen=True):
    """What the user asked for; "" leaves it to the settings, then to what there is."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    name: str = ""
    """The session to go on with, and `call` its call (0: the end)."""
    call: int = 0
    thread: str = ""


class ChatModel(Struct, frozen=True):
    """Whom a chat talks to. `window` is that of the running model in tokens (0: unknown), `origin` who said so;
    `models` are the ids that the endpoint lists, as far as asked; `why` says how it was chosen."""

    endpoint: Endpoint
    model: str
    window: int = 0
    origin: str = ""
    models: tuple[str, ...] = ()
    why: str = ""
    most_output: int = 0

    @property
    def is_offline(self) -> bool:
        """Whether it is the embedded provider, which is no model."""
        return self.endpoint.kind == OFFLINE


def keeps_to_itself(partner: ChatModel) -> bool:
    """Whether what the partner is told stays on this machine: the embedded provider, or a server of a known make with
    a model that it runs itself. A program at a local address that does not say what it is may send all of it on."""
    known = partner.endpoint.local and bool(partner.endpoint.kind)
    return partner.is_offline or (known and _SENDS_ON not in partner.model.lower())
