"""The line through the real SDKs: exact bytes, errors in words, headroom, keys that stay where they belong."""

from __future__ import annotations

import dataclasses
from itertools import product

import pytest

from ctxtui.core.errors import ProviderError
from ctxtui.providers.endpoint import PATHS, Endpoint, key_for
from ctxtui.providers.rate_limits import read_headrooms, retry_after
from ctxtui.providers.sdk_client import SdkClient
from tests.providers.served import Served, failing, served, streaming

BODY = (
    '{"model" : "m",\n "max_tokens":1e3, "z":1, "a":{"y":1,"b":[1.0,2.50]},'
    '"messages":[{"role":"user","content":"\u00fc\\u00fc"}]}'
)
"""Key order, spaces, number literals and escapes that no SDK would write itself."""
DIALECTS = pytest.mark.parametrize("dialect", ["anthropic", "openai_chat", "openai_responses"])


def route(dialect: str) -> str:
    return PATHS[dialect] if dialect == "anthropic" else f"/v1{PATHS[dialect]}"


def line_to(server: Served, dialect: str, key: str = "sk-secret") -> SdkClient:
    base = server.root if dialect == "anthropic" else f"{server.root}/v1"
    return SdkClient(Endpoint("anthropic" if dialect == "anthropic" else "openai", dialect, base, key), lambda: 1000.0)


async def answer(line: SdkClient, body: bytes = BODY.encode()) -> bytes:
    try:
        return b"".join([data async for data in line.send(body)])
    finally:
        await line.close()


@DIALECTS
async def test_what_arrives_is_what_was_given_byte_for_byte(dialect: str) -> None:
    pieces = (b"event: x\ndata: {}\n", b"\n", "data: \u00fc\n\n".encode())
    async with served({route(dialect): streaming(*pieces)}) as server:
        got = await answer(line_to(server, dialect))
        assert server.bodies == [BODY.encode()]
        assert got == b"".join(pieces)
        assert server.headers[0]["authorization"] == "Bearer sk-secret"


@DIALECTS
@pytest.mark.parametrize(
    "status, headers, retry, after",
    [
        (429, {"retry-after": "7"}, True, 7.0),
        (429, {"retry-after-ms": "1500"}, True, 1.5),
        (529, {}, True, None),
        (500, {"x-should-retry": "false"}, False, None),
        (400, {}, False, None),
        (401, {}, False, None),
    ],
)
async def test_refusals_in_words(
    dialect: str, status: int, headers: dict[str, str], retry: bool, after: float | None
) -> None:
    body = {"type": "error", "error": {"type": "some_error", "message": "no, sk-secret"}}
    async with served({route(dialect): failing(status, body, headers)}) as server:
        with pytest.raises(ProviderError) as caught:
            await answer(line_to(server, dialect))
        assert len(server.bodies) == 1, "the SDK's own retries are off"
    error = caught.value
    assert (error.status, error.retry, error.after) == (status, retry, after)
    assert str(status) in str(error) and "some_error: no" in str(error) and "sk-secret" not in str(error)
    assert ("API_KEY" in str(error)) == (status == 401)


@DIALECTS
async def test_a_proxy_of_the_environment_is_not_asked_on_this_machine(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served({}) as proxy, served({route(dialect): streaming(b"data: {}\n\n")}) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.root)
        assert await answer(line_to(server, dialect)) == b"data: {}\n\n"
        assert proxy.bodies == [] and server.bodies == [BODY.encode()]


async def test_headers_of_the_environment_go_only_where_they_are_said_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    token = "gateway-token-0123456789"
    for maker in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{maker}_CUSTOM_HEADERS", f"X-Gateway: Bearer {token}\nX-Team: red\nAuthorization: b")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    for dialect, named in product(DIALECTS.args[1], (False, True)):
        async with served({route(dialect): streaming(f'data: "{token}"\n\n'.encode())}) as server:
            line = line_to(server, dialect)
            headers = (("X-Gateway", f"Bearer {token}"),) if named else ()
            line = SdkClient(dataclasses.replace(line.endpoint, name="elsewhere", headers=headers), lambda: 1000.0)
            said = await answer(line)
        assert server.headers[0].get("X-Gateway") == (f"Bearer {token}" if named else None)
        assert server.headers[0]["authorization"] == "Bearer sk-secret"
        assert "X-Team" not in server.headers[0] and "OpenAI-Organization" not in server.headers[0]
        assert (b"[key]" in said and token.encode() not in said) is named


@DIALECTS
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_server_cannot_send_the_conversation_elsewhere(dialect: str, status: int) -> None:
    async with served({route(dialect): streaming(b"data: {}\n\n")}) as other:
        to = {"location": f"{other.root}{route(dialect)}?key="}
        told = {"location": f"{to['location']}sk-secret"}
        async with served({route(dialect): failing(status, {}, told)}) as server:
            with pytest.raises(ProviderError) as caught:
                await answer(line_to(server, dialect))
        assert other.bodies == []
    assert not caught.value.retry and to["location"] in str(caught.value) and server.root in str(caught.value)
    assert "sk-secret" not in str(caught.value)


async def test_no_quota_is_not_retried() -> None:
    body = {"error": {"type": "insufficient_quota", "message": "You exceeded your current quota"}}
    async with served({route("openai_chat"): failing(429, body)}) as server:
        with pytest.raises(ProviderError) as caught:
            await answer(line_to(server, "openai_chat"))
    assert not caught.value.retry


@DIALECTS
async def test_nobody_there(dialect: str) -> None:
    async with served({}) as server:
        line = line_to(server, dialect)
    with pytest.raises(ProviderError) as caught:
        await answer(line)
    assert caught.value.retry and "cannot be reached" in str(caught.value)


@DIALECTS
async def test_a_connection_that_breaks(dialect: str) -> None:
    async with served({route(dialect): streaming(b"data: {}\n\n", breaks=True)}) as server:
        with pytest.raises(ProviderError) as caught:
            await answer(line_to(server, dialect))
    assert caught.value.retry and "the connection broke" in str(caught.value)


async def test_headroom_is_read_from_every_answer() -> None:
    headers = {
        "anthropic-ratelimit-tokens-limit": "0",
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-output-tokens-limit": "8000",
        "anthropic-ratelimit-output-tokens-remaining": "many",
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-input-tokens-limit": "40000",
        "anthropic-ratelimit-input-tokens-remaining": "10000",
        "anthropic-ratelimit-input-tokens-reset": "1970-01-01T00:17:00Z",
    }
    async with served({route("anthropic"): streaming(b"data: {}\n\n", headers=headers)}) as server:
        line = line_to(server, "anthropic")
        await answer(line)
    assert [(room.what, room.remaining, room.reset) for room in line.headroom] == [
        ("input-tokens", 10000, 1020.0),
        ("requests", 49, None),
    ]


def test_openai_spells_it_otherwise() -> None:
    headers = {"X-RateLimit-Limit-Tokens": "1000", "x-ratelimit-remaining-tokens": "100"}
    headers |= {"x-ratelimit-reset-tokens": "1m2.5s"}
    (room,) = read_headrooms(headers, 10.0)
    assert (room.what, room.share, room.reset) == ("tokens", 0.1, 72.5)


def test_a_limit_that_is_exceeded_by_what_remains_is_whole() -> None:
    (room,) = read_headrooms({"x-ratelimit-limit-requests": "5", "x-ratelimit-remaining-requests": "7"}, 10.0)
    assert room.share == 1.0


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_limit_of_absurdly_many_digits_is_not_read(digits: int) -> None:
    headers = {"x-ratelimit-limit-requests": "5", "x-ratelimit-remaining-requests": "9" * digits}
    assert read_headrooms(headers, 10.0) == ()


@pytest.mark.parametrize("reset", ["2026-01-01T00:00:00", "tomorrow", "", "9" * 400 + "s", "in 5s"])
def test_a_reset_without_a_zone_or_malformed_is_unknown(reset: str) -> None:
    headers = {f"anthropic-ratelimit-tokens-{name}": value for name, value in (("limit", "9"), ("remaining", "3"))}
    (room,) = read_headrooms({**headers, "anthropic-ratelimit-tokens-reset": reset}, 10.0)
    assert room.reset is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after-ms": "500", "retry-after": "3"}, 0.5),
        ({"retry-after-ms": "inf", "retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_keys_come_from_the_environment_and_are_never_shown() -> None:
    assert key_for("anthropic", {"ANTHROPIC_API_KEY": " k \n"}) == "k"
    assert key_for("somebody", {}) == ""
    assert "k-1" not in repr(Endpoint("x", "anthropic", key="k-1"))
