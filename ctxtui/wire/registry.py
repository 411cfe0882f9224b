"""Registry of dialects (the JSON and streams of each API) by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.wire import anthropic, google, ollama_chat, openai_chat, openai_responses
from ctxtui.wire.codec import codec
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, GRAMMARS, OLLAMA, RESPONSES
from ctxtui.wire.request import Request, Response
from ctxtui.wire.stream import StreamReader


class Dialect(Struct, frozen=True):
    """The JSON and streams of an API."""

    name: str
    decode_response: Callable[[bytes | Json], Response]
    stream_reader: Callable[[], StreamReader]

    def decode_request(self, body: bytes, memo: Memo | None = None) -> Request:
        """See `codec.decode`."""
        return codec.decode(body, GRAMMARS[self.name], memo)


DIALECTS: Final[dict[str, Dialect]] = {
    name: Dialect(name, decode_response, reader)
    for name, decode_response, reader in (
        (ANTHROPIC, anthropic.decode_response, anthropic.StreamReader),
        (CHAT, openai_chat.decode_response, openai_chat.StreamReader),
        (RESPONSES, openai_responses.decode_response, openai_responses.StreamReader),
        (OLLAMA, ollama_chat.decode_response, ollama_chat.StreamReader),
        (GOOGLE, google.decode_response, google.StreamReader),
    )
}


def encode(request: Request) -> bytes:
    """Encode `request`: byte for byte the decoded body if nothing changed."""
    return codec.encode(request, GRAMMARS[request.skeleton.dialect])
