"""A key that a provider says back stands nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.providers.sdk_client import SdkClient
from ctxtui.wire.key_mask import KeyMask
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
