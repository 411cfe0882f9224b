"""Registry of dialects by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.wire import anthropic, google, ollama_chat, openai_chat, openai_responses
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.grammar import GRAMMARS
from ctxtui.wire.request import Request, Response
from ctxtui.wire.stream import StreamReader


class Dialect(Struct, frozen=True):
    """One provider's JSON and event stream. `label` is its display name, and the source name of its recordings."""

    name: str
    label: str
    decode_response: Callable[[bytes | Json], Response]
    stream_reader: Callable[[], StreamReader]

    def decode_request(self, body: bytes, memo: Memo | None = None) -> Request:
        """Decode a request body. Raises `Malformed` with a place; see `codec.decode`."""
        return codec.decode(body, GRAMMARS[self.name], memo)


DIALECTS: Final[dict[str, Dialect]] = {
    module.NAME: Dialect(
        module.NAME,
        module.NAME.replace("_", " "),
        module.decode_response,
        reader,
    )
    for module, reader in (
        (anthropic, anthropic.StreamReader),
        (openai_chat, openai_chat.StreamReader),
        (openai_responses, openai_responses.StreamReader),
        (ollama_chat, ollama_chat.StreamReader),
        (google, google.StreamReader),
    )
}
"""Every dialect, by the name that skeletons carry."""


def encode(request: Request) -> bytes:
    """Encode `request` as a body in its own dialect, byte for byte the decoded one if nothing changed (law 1)."""
    return codec.encode(request, GRAMMARS[request.skeleton.dialect])
