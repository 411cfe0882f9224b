"""One request and its answer, without a turn: nothing is retried, nothing is recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from ctxtui.core.errors import ProviderError
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.sse import EventParser


class Line(Protocol):
    """Sends a body and gives the bytes of the answer (`providers.line.SdkLine`)."""

    def send(self, body: bytes) -> AsyncIterator[bytes]:
        """The bytes of the answer to `body` as they come. Raises `ProviderError`."""


async def answered(line: Line, dialect: str, body: bytes) -> Response:
    """The whole answer to `body`, a request in `dialect`. Raises `ProviderError`, also where the answer broke off."""
    reader, parser = DIALECTS[dialect].stream_reader(), EventParser()
    async for data in line.send(body):
        reader.feed(parser.feed(data))
    reader.feed(parser.close())
    response = reader.response()
    if response.error or not response.complete:
        raise ProviderError(response.error or "the answer broke off", retry=True)
    return response
