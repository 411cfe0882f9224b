"""An answer that is too large, or unpacks to too much, ends with words and not with the machine's memory."""

from __future__ import annotations

import gzip
from types import SimpleNamespace

import pytest
from aiohttp import web

from ctxtui.core.errors import ProviderError
from ctxtui.providers import bounded_answers
from ctxtui.providers.local_servers import identify_server
from ctxtui.wire import unpacking
from tests.providers.served import served, streaming
from tests.providers.test_line import DIALECTS, answer, line_to, route

MOST = 1 << 16


@pytest.fixture(autouse=True)
def _smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_answers, "MAX_BODY_BYTES", MOST)
    whole = unpacking.make_unpacker
    monkeypatch.setattr(bounded_answers, "make_unpacker", lambda encoding: whole(encoding, MOST))


@DIALECTS
async def test_a_stream_beyond_the_bound(dialect: str) -> None:
    event = b"data: " + b"x" * 1000 + b"\n\n"
    async with served({route(dialect): streaming(*[event] * 10)}) as server:
        assert await answer(line_to(server, dialect)) == event * 10
    packed = {"content-encoding": "gzip"}
    async with served({route(dialect): streaming(gzip.compress(event * 10), headers=packed)}) as server:
        assert await answer(line_to(server, dialect)) == event * 10
    for given in (streaming(*[event] * 100), streaming(gzip.compress(bytes(1 << 24)), headers=packed)):
        async with served({route(dialect): given}) as server:
            with pytest.raises(ProviderError, match="more than") as told:
                await answer(line_to(server, dialect))
            assert not told.value.retry


async def test_json_beyond_the_bound() -> None:
    async def large(request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "x" * 2 * MOST, "owned_by": "vllm"}]})

    async with served({"/v1/models": large}) as server:
        line = line_to(SimpleNamespace(root=server.root), "openai_chat")  # type: ignore[arg-type]
        with pytest.raises(ProviderError, match="more than"):
            await line.get("/models")
        await line.close()
        assert await identify_server(f"{server.root}/v1", {}) is None
