"""Size limit (`wire.bounds`) for the answers of servers, also after they are decompressed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed, ProviderError
from ctxtui.wire.bounds import MAX_BODY_BYTES
from ctxtui.wire.unpacking import BodyUnpacker, make_unpacker

if TYPE_CHECKING:
    from aiohttp import ClientResponse

_TOO_LARGE: Final = f"an answer of more than {MAX_BODY_BYTES >> 20} MiB"


async def read_json(answer: ClientResponse) -> Json:
    """Decode the JSON of an aiohttp answer. Raises `ValueError` if it is too large or no JSON."""
    body = bytearray()
    async for piece in answer.content.iter_chunked(1 << 16):
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise ValueError(_TOO_LARGE)
    try:
        value: Json = json.loads(body)
    except RecursionError as error:
        raise ValueError("JSON that is too deep") from error
    return value


async def limit_response(response: Any) -> None:
    """Limit how much of a response can be read, as a hook for httpx.

    Reading beyond the limit raises `ProviderError`, and so does an unknown encoding. The body is unpacked here, as
    httpx unpacks without a limit.
    """
    # `httpx` or `httpx2`, whichever the SDK uses.
    library = import_module(type(response).__module__.partition(".")[0])
    try:
        unpack = make_unpacker(response.headers.get("content-encoding", ""))
    except Malformed as error:
        raise ProviderError(error.message) from None
    response.headers.pop("content-encoding", None)
    response.stream = _make_bounded_stream(library)(response.stream, unpack)


def _make_bounded_stream(library: Any) -> Any:
    class BoundedStream(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, inner: Any, unpack: BodyUnpacker) -> None:
            self._inner = inner
            self._unpack = unpack

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MAX_BODY_BYTES
            async for data in self._inner:
                try:
                    unpacked = self._unpack.feed(data)
                except Malformed as error:
                    raise ProviderError(error.message) from None
                left -= len(unpacked)
                if left < 0:
                    raise ProviderError(_TOO_LARGE)
                yield unpacked

        async def aclose(self) -> None:
            await self._inner.aclose()

    return BoundedStream
