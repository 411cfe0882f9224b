"""The connection to a provider: its SDK's client, sending bodies unchanged (facts §1).

`messages.create` and the like would encode the body again, with other key order and number literals; the client's
`post` sends it as it is. Answers come back as raw bytes, so that one reader serves live and recorded streams.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from importlib import import_module
from typing import Any, Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import ProviderError
from ctxtui.providers.bounded_answers import limit_response
from ctxtui.providers.endpoint import ANTHROPIC, GOOGLE, KEYS, PATHS, Endpoint, headers_for, is_loopback
from ctxtui.providers.rate_limits import Headroom, read_headrooms, retry_after
from ctxtui.wire.key_mask import KeyMask, mask_url
from ctxtui.wire.stream import error_text

_RAW: Final = {"X-Stainless-Raw-Response": "stream"}
"""Header with which both SDKs return the raw response; it is not sent."""
_NO_KEY: Final = "none"
"""Key for servers without keys, as the SDKs require one."""
_ACCOUNT_HEADERS: Final = ("OpenAI-Organization", "OpenAI-Project")
"""Headers with the user's account, not meant for other servers."""
_SCHEMES: Final = ("http://", "https://", "all://")
_GOOGLE_URL: Final = "https://generativelanguage.googleapis.com"
_RETRIED_STATUSES: Final = frozenset({408, 409, 429})
"""HTTP statuses below 500 after which a retry may help."""
_QUOTA_WORDS: Final = ("insufficient_quota", "billing")
"""Words in an error after which a retry does not help, as the account has no money left."""


class SdkClient:
    """Sends bodies to `endpoint` through its SDK, which is imported in a thread at first use.

    The SDK's own retries are off: `agent.turn` retries, and the screen shows it.
    """

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float] = time.time) -> None:
        self.endpoint = endpoint
        self.headroom: tuple[Headroom, ...] = ()
        """Remaining limits by the last answer whose headers name any."""
        self._mask = KeyMask(endpoint.key, *(value.rpartition(" ")[2] for _, value in endpoint.headers))
        self._clock = clock
        self._client: Any = None
        self._sdk: Any = None

    async def open(self) -> None:
        """Import the SDK and make its client, as the first request does. Raises `ProviderError`."""
        if self._client is None:
            self._sdk = await asyncio.to_thread(import_module, _sdk_of(self.endpoint))
            try:
                self._client = await asyncio.to_thread(self._make_client)
            except Exception as error:
                if not _is_http_error(error):
                    raise
                raise ProviderError(
                    f"{mask_url(self.endpoint.base_url)} is not an address: {error}", place=self.endpoint.name
                ) from error

    def _make_client(self) -> Any:
        client_class = self._sdk.AsyncAnthropic if self.endpoint.dialect == ANTHROPIC else self._sdk.AsyncOpenAI
        address = self.endpoint.base_url
        if self.endpoint.dialect == GOOGLE and not address:
            address = _GOOGLE_URL
        options = {"base_url": address} if address else {}
        # Requests to this machine bypass the environment's proxy. Redirects are not followed: a request goes only to
        # the address on the screen.
        direct = {"trust_env": False, "mounts": dict.fromkeys(_SCHEMES)} if is_loopback(address) else {}
        hooks = {"response": [limit_response]}
        http = self._sdk.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks=hooks, **direct)
        key = self.endpoint.key or _NO_KEY
        google = {"x-goog-api-key": key} if self.endpoint.dialect == GOOGLE else {}
        key_headers = {"authorization": f"Bearer {key}", "x-api-key": key}
        overrides = {name: key_headers.get(name.lower(), self._sdk.Omit()) for name in self._unwanted_headers()}
        headers = {**overrides, **google, **dict(self.endpoint.headers)}
        return client_class(api_key=key, max_retries=0, http_client=http, default_headers=headers, **options)

    def _unwanted_headers(self) -> list[str]:
        """Names of headers that the SDK would add from the environment to requests to any server."""
        maker = _sdk_of(self.endpoint)
        account = _ACCOUNT_HEADERS if maker == "openai" and self.endpoint.name != "openai" else ()
        return [*account, *(name for name, _ in headers_for(maker, os.environ))]

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def send(self, body: bytes) -> AsyncIterator[bytes]:
        """Yield the bytes of the answer to `body` as they arrive, with the key masked.

        Raises `ProviderError`.
        """
        await self.open()
        sdk = self._sdk
        try:
            raw = await self._client.post(
                self._request_path(body),
                content=body,
                cast_to=object,
                options={"headers": {**_RAW, **self._request_headers()}},
                stream=True,
                stream_cls=sdk.AsyncStream[object],
            )
            self.headroom = read_headrooms(raw.headers, self._clock()) or self.headroom
            has_data = False
            try:
                async for data in self._mask.mask_stream(raw.iter_bytes()):
                    has_data = True
                    yield data
            finally:
                await raw.close()
            if not has_data and self.endpoint.kind == "llama-cpp-python":
                await self._raise_hidden_error(body)
        except sdk.APIError as error:
            raise self._translate_error(error) from error
        except Exception as error:
            # While an answer streams, the SDKs do not translate the errors of their HTTP library.
            if not _is_http_error(error):
                raise
            raise ProviderError(
                f"the connection broke: {self._mask.mask_text(str(error)) or type(error).__name__}",
                retry=True,
                place=str(self.endpoint),
            ) from error

    def _request_headers(self) -> dict[str, Any]:
        # Google's key is in a header of its own.
        return {"Authorization": self._sdk.Omit()} if self.endpoint.dialect == GOOGLE else {}

    def _request_path(self, body: bytes) -> str:
        path = PATHS[self.endpoint.dialect]
        return path.format(model=canonical.loads(body)["model"]) if "{model}" in path else path

    async def _raise_hidden_error(self, body: bytes) -> None:
        """Repeat a request without streaming to get the error, and raise it as the SDK does.

        llama-cpp-python's server refuses silently within a started stream and drops the connection.
        """
        path, repeated = PATHS[self.endpoint.dialect], _without_streaming(body)
        try:
            await self._client.post(path, content=repeated, cast_to=object)
        except self._sdk.APIConnectionError:
            # The first attempt may use the connection that the server is dropping.
            await self._client.post(path, content=repeated, cast_to=object)

    async def get(self, path: str) -> Json:
        """The JSON answer to a GET. Raises `ProviderError`."""
        await self.open()
        try:
            return await self._client.get(path, cast_to=object, options={"headers": self._request_headers()})
        except self._sdk.APIError as error:
            raise self._translate_error(error) from error

    def _translate_error(self, error: Any) -> ProviderError:
        response = getattr(error, "response", None)
        if response is None:
            reason = str(error.__cause__ or error)
            return ProviderError(
                f"{self.endpoint.name} cannot be reached: {self._mask.mask_text(reason)}",
                retry=True,
                place=mask_url(self.endpoint.base_url),
                way_out="is the server running?" if self.endpoint.local else "",
            )
        status: int = response.status_code
        headers: Mapping[str, str] = response.headers
        if 300 <= status < 400:
            address = mask_url(self._mask.mask_text(headers.get("location", "another address")))
            return ProviderError(
                f"{status} the server redirects to {address}",
                status=status,
                place=str(self.endpoint),
                way_out="not followed: if that is the right address, give it with --base-url",
            )
        self.headroom = read_headrooms(headers, self._clock()) or self.headroom
        message = self._mask.mask_text(_error_message(error, response))
        spent = status == 429 and any(word in message for word in _QUOTA_WORDS)
        can_retry = (
            headers.get("x-should-retry", "") != "false"
            and (status in _RETRIED_STATUSES or status >= 500)
            and not spent
        )
        return ProviderError(
            f"{status} {message}",
            status=status,
            retry=can_retry,
            after=retry_after(headers),
            way_out=_way_out(status, self.endpoint),
        )


def _is_http_error(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in ("httpx2", "httpx", "httpcore2", "httpcore")


def _error_message(error: Any, response: Any) -> str:
    body = error.body
    if isinstance(body, dict):
        return error_text(body)
    text = response.text if not body else body if isinstance(body, str) else canonical.dump_text(body)
    return " ".join(text.split())[:500] or response.reason_phrase or "no reason given"


def _without_streaming(body: bytes) -> bytes:
    request = {key: value for key, value in canonical.loads(body).items() if key not in ("stream", "stream_options")}
    limit = "max_completion_tokens" if "max_completion_tokens" in request else "max_tokens"
    return canonical.dumps({**request, limit: 1})


def _way_out(status: int, endpoint: Endpoint) -> str:
    if status in (401, 403) and not endpoint.local:
        return f"check {KEYS.get(endpoint.name, 'the key')}"
    return ""


def _sdk_of(endpoint: Endpoint) -> str:
    return "anthropic" if endpoint.dialect == ANTHROPIC else "openai"
