"""A key that a provider says back stands nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import BadConfig, ProviderError
from ctxtui.providers.endpoint import Endpoint
from ctxtui.providers.sdk_client import SdkClient
from ctxtui.services.attach.otlp import traces_url
from ctxtui.wire.key_mask import KeyMask, mask_url
from tests.providers.served import served, streaming
from tests.providers.test_line import answer, line_to

KEY = "sk-ant-api03-abcdefghijklmnop"
HALF = KEY[: len(KEY) // 2]


def streamed(mask: KeyMask, pieces: Sequence[bytes]) -> bytes:
    async def given_by() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def read() -> bytes:
        return b"".join([data async for data in mask.mask_stream(given_by())])

    return asyncio.run(read())


@given(
    st.lists(st.sampled_from(["a", "sk-ant", "\n", KEY, HALF, KEY[5:], "ü"]), max_size=6).map("".join),
    st.lists(st.integers(1, 40), max_size=8),
)
def test_a_stream_in_any_pieces_is_masked_as_in_one(words: str, sizes: list[int]) -> None:
    data, pieces = words.encode(), []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    made = streamed(KeyMask(KEY), [*pieces, data])
    assert KEY.encode() not in made and made.decode() == KeyMask(KEY).mask_text(words)


def test_a_half_that_ends_as_the_key_begins() -> None:
    key = "ab-12345678-ABCDEFG-ab"
    for cut in range(len(key)):
        assert streamed(KeyMask(key), [key[11:][:cut].encode(), key[11:][cut:].encode(), b"x"]) == b"[key]x"


def test_halves_of_a_key_go_and_short_words_stay() -> None:
    assert KeyMask(KEY).mask_text(f"wrong key {HALF}... ({KEY[len(HALF) :]})") == "wrong key [key]... ([key])"
    assert KeyMask("none").mask_text("none of it") == "none of it"
    assert streamed(KeyMask(""), [b"x", b"y"]) == b"xy"


@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat", "openai_responses"])
async def test_a_key_in_a_stream_does_not_get_in(dialect: str) -> None:
    said = f'event: error\ndata: {{"error":{{"message":"invalid x-api-key: {KEY}"}}}}\n\n'.encode()
    path = {"anthropic": "/v1/messages", "openai_chat": "/v1/chat/completions"}.get(dialect, "/v1/responses")
    async with served({path: streaming(said[:60], said[60:75], said[75:])}) as server:
        line: SdkClient = line_to(server, dialect, KEY)
        assert await answer(line) == said.replace(KEY.encode(), b"[key]")


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://g.test/v1beta/models/m:streamGenerateContent?alt=sse", ""),
        ("https://g.test/v1?key={}", "https://g.test/v1?key=<masked>"),
        ("https://g.test/v1?alt=sse&key={}&x=1#y", "https://g.test/v1?alt=sse&key=<masked>&x=1#y"),
        ("https://g.test?API_KEY={}", "https://g.test?API_KEY=<masked>"),
        ("/v1?a=b;access_token={}", "/v1?a=b;access_token=<masked>"),
        ("https://user:{}@g.test/v1?a=b@c", "https://g.test/v1?a=b@c"),
        ("https://{}@g.test", "https://g.test"),
        ("https://g.test/v1/@user?a=b@c", ""),
        ("401 for url \"https://u:{}@g.test/v1?key={}\", ask a@b.test", '401 for url "https://g.test/v1?key=<masked>", '
         "ask a@b.test"),
        ("GET https://g.test/v1?key={} failed: x@y", "GET https://g.test/v1?key=<masked> failed: x@y"),
    ],
)  # fmt: skip
def test_a_url_is_shown_without_its_keys(url: str, masked: str) -> None:
    assert mask_url(url.replace("{}", KEY)) == (masked or url)


def test_an_address_with_a_key_is_shown_without_it() -> None:
    url = f"https://gateway.test/v1?key={KEY}"
    assert str(Endpoint("x", "openai_chat", url)) == "x (https://gateway.test/v1?key=<masked>)"
    with pytest.raises(BadConfig) as upstream:
        Upstream("x", url)
    with pytest.raises(BadConfig) as collector:
        traces_url(url.replace("https", "ftp"))
    for error in (str(upstream.value), str(collector.value)):
        assert "?key=<masked>" in error and HALF not in error


async def test_who_cannot_be_reached_is_named_without_its_key() -> None:
    async with served({}) as server:
        root = server.root
    line = SdkClient(Endpoint("x", "openai_chat", f"{root}/v1?key={KEY}", "sk-other-0123456789"), lambda: 0.0)
    with pytest.raises(ProviderError) as caught:
        await answer(line)
    assert "?key=<masked>" in str(caught.value) and HALF not in str(caught.value)
