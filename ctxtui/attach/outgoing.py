"""Connections to providers: direct, or through the environment's proxy."""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
from collections.abc import Callable, Mapping
from typing import Final, TypeVar, cast
from urllib.parse import unquote, urlsplit

from ctxtui.attach import http1
from ctxtui.attach.route import is_loopback_address
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import Malformed

CONNECT_TIMEOUT_S: Final = 30.0
P = TypeVar("P", bound=asyncio.BaseProtocol)


def proxy_for(upstream: Upstream, env: Mapping[str, str]) -> str:
    """The proxy URL for `upstream`; "" for none, as for a loopback address.

    It is read from ``HTTPS_PROXY`` (``HTTP_PROXY`` for an address without TLS), ``ALL_PROXY`` and ``NO_PROXY``,
    lower-case names first. ``NO_PROXY`` lists names and addresses, not networks.
    """
    if _bypasses_proxy(upstream, _env_value(env, "no_proxy")):
        return ""
    return _env_value(env, "https_proxy" if upstream.tls else "http_proxy") or _env_value(env, "all_proxy")


def _env_value(env: Mapping[str, str], name: str) -> str:
    return env.get(name) or env.get(name.upper(), "")


def _bypasses_proxy(upstream: Upstream, no_proxy: str) -> bool:
    host = upstream.host.lower()
    if is_loopback_address(upstream.origin):
        return True
    for entry in (part.strip().lower() for part in no_proxy.split(",")):
        # An IPv6 address is written with or without brackets.
        if entry in ("*", host, f"[{host}]"):
            return True
        name, _, port = entry.partition(":")
        name = name.lstrip("*.")
        if name and f".{host}".endswith(f".{name}") and port in ("", str(upstream.port)):
            return True
    return False


async def connect(upstream: Upstream, make_protocol: Callable[[], P], env: Mapping[str, str] = os.environ) -> P:
    """Connect to `upstream`. Raises `OSError`, and `ValueError` for an invalid host or port."""
    loop = asyncio.get_running_loop()
    name = upstream.host if upstream.tls else None
    proxy_url = proxy_for(upstream, env)
    if not proxy_url:
        _, protocol = await loop.create_connection(
            make_protocol, upstream.host, upstream.port, ssl=upstream.context, server_hostname=name
        )
        return protocol
    tunnel = await _tunnel(proxy_url, upstream.host, upstream.port)
    protocol = make_protocol()
    if not upstream.tls:
        return _attach_protocol(tunnel, protocol)
    context = cast(ssl.SSLContext, upstream.context)
    secured = await loop.start_tls(tunnel, protocol, context, server_hostname=name)
    if secured is None:
        raise OSError("the proxy closed the connection")
    protocol.connection_made(secured)
    return protocol


async def connect_raw(host: str, port: int, make_protocol: Callable[[], P], env: Mapping[str, str] = os.environ) -> P:
    """Connect to `host` without adding TLS, for a tunnel that passes on the client's TLS.

    Raises as `connect` does, and `BadConfig` for an invalid address.
    """
    name = f"[{host}]" if ":" in host else host
    proxy_url = proxy_for(Upstream("", f"https://{name}:{port}"), env)
    if not proxy_url:
        _, protocol = await asyncio.get_running_loop().create_connection(make_protocol, host, port)
        return protocol
    return _attach_protocol(await _tunnel(proxy_url, host, port), make_protocol())


def _attach_protocol(tunnel: asyncio.Transport, protocol: P) -> P:
    tunnel.set_protocol(protocol)
    protocol.connection_made(tunnel)
    tunnel.resume_reading()
    return protocol


async def _tunnel(url: str, host: str, port: int) -> asyncio.Transport:
    """Connect to `host` through the proxy at `url`; the returned transport is paused."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OSError(f"the proxy {parts.scheme}://{parts.hostname or ''} cannot be used: only http and https")
    tls = parts.scheme == "https"
    loop = asyncio.get_running_loop()
    transport, waiting = await loop.create_connection(
        _ProxyHandshake,
        parts.hostname,
        parts.port or (443 if tls else 80),
        ssl=ssl.create_default_context() if tls else None,
    )
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    head = f"CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n"
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        head += f"Proxy-Authorization: Basic {base64.b64encode(credentials).decode()}\r\n"
    transport.write(f"{head}\r\n".encode())
    try:
        status = await waiting.status
        if not 200 <= status < 300:
            raise OSError(f"the proxy {parts.hostname} answers {status}")
    except BaseException:
        transport.abort()
        raise
    return transport


class _ProxyHandshake(asyncio.Protocol):
    """Waits for a proxy's answer to a CONNECT, and pauses reading then."""

    def __init__(self) -> None:
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.status.done():
            return
        self._buffer += data
        try:
            parsed = http1.next_head(self._buffer)
            if parsed is not None:
                assert self._transport is not None
                self._transport.pause_reading()
                self.status.set_result(http1.status_of(parsed[0]))
        except Malformed as error:
            self.status.set_exception(OSError(f"the proxy's answer is not HTTP: {error.message}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.status.done():
            self.status.set_exception(OSError("the proxy closed the connection"))
