"""Endpoints: which API, at which address, with which key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from importlib import import_module
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from ctxtui.core.errors import BadConfig
from ctxtui.wire.key_mask import mask_url

ANTHROPIC: Final = "anthropic"
CHAT: Final = "openai_chat"
RESPONSES: Final = "openai_responses"
OLLAMA: Final = "ollama_chat"
GOOGLE: Final = "google"

PATHS: Final[Mapping[str, str]] = {
    ANTHROPIC: "/v1/messages",
    CHAT: "/chat/completions",
    RESPONSES: "/responses",
    OLLAMA: "/chat",
    GOOGLE: "/v1beta/{model}:streamGenerateContent?alt=sse",
}
"""The path of each dialect's requests, below `Endpoint.base_url`; ``{model}`` is replaced by the body's ``model``."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider that requests are sent to.

    - `name`: its display name.
    - `dialect`: its API.
    - `base_url`: what `PATHS` is appended to: the server's root for Anthropic and Google, with ``/v1`` for OpenAI's
      APIs, with ``/api`` for Ollama. "": the provider's public address.
    - `key`: sent in a header and nowhere else.
    - `kind`: a known kind of server (``ollama``, ``lm studio``, ``llama.cpp``, ``llama-cpp-python``, ``vllm``), on any
      machine, or ``offline``, the offline provider; else "".
    - `local`: the offline provider, a server of a known `kind` (on any machine), or any program at a loopback address
      that was given as the base URL, which may be a gateway to a paid provider. False for an address from the
      provider's own variable.
    - `headers`: headers that the user's environment adds to every request.
    """

    name: str
    dialect: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    kind: str = ""
    _: KW_ONLY
    local: bool = False
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.name} ({mask_url(self.base_url)})" if self.base_url else self.name


def is_loopback(url: str) -> bool:
    """Whether the host of `url` is a loopback or unspecified address, or ``localhost``."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:  # a name, or no address at all
        return False


def check_address(url: str, place: str) -> None:
    """Check that `url` is the http(s) address of a server; `place` names its source.

    Raises `BadConfig`.
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid IPv6 address or port
        is_address = False
    if not is_address or not url.isprintable() or " " in url:
        raise BadConfig(
            f"{mask_url(url)!r} is not an address of a server", place=place, way_out="give http(s)://HOST[:PORT][/PATH]"
        )


def must_withhold_key(url: str, *, key_over_http: bool) -> bool:
    """Whether a key must not be sent to `url`: plain http to another machine.

    False if the user allowed that (`key_over_http`).
    """
    return url.lower().startswith("http://") and not is_loopback(url) and not key_over_http


KEYS: Final[Mapping[str, str]] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "google": "GEMINI_API_KEY",
}
"""The environment variable of each hosted provider's key."""
ADDRESSES: Final[Mapping[str, str]] = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}
"""The environment variable of each hosted provider's base URL."""
HEADERS: Final[Mapping[str, str]] = {"anthropic": "ANTHROPIC_CUSTOM_HEADERS", "openai": "OPENAI_CUSTOM_HEADERS"}
"""The environment variable of further headers, one per line."""
SERVICE: Final = "ctxtui"
"""The service name of ctxtui's keys in a keyring; the user name is the provider's."""


def headers_for(provider: str, env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers that the environment adds for a provider, one per line, as its SDK reads them."""
    lines = env.get(HEADERS.get(provider, ""), "").split("\n")
    return tuple(
        (name.strip(), value.strip()) for name, colon, value in (line.partition(":") for line in lines) if colon
    )


def has_key(env: Mapping[str, str]) -> bool:
    """Whether the environment has a key of a hosted provider.

    The keyring, which may block, is not asked.
    """
    return any(env.get(name, "").strip() for name in KEYS.values())


def key_for(provider: str, env: Mapping[str, str]) -> str:
    """The key of a hosted provider from the environment, else the keyring, else "".

    The system's keyring needs an optional extra.
    """
    return env.get(KEYS.get(provider, ""), "").strip() or _read_keyring(provider)


def _read_keyring(provider: str) -> str:
    try:
        keyring, errors = import_module("keyring"), import_module("keyring.errors")
    except ImportError:
        return ""
    try:
        return str(keyring.get_password(SERVICE, provider) or "")
    except (errors.KeyringError, RuntimeError):
        # Without a desktop there is often no keyring.
        return ""
