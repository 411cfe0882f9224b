"""One request with its answer, and where it went."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit.http_exchange.sender import Sender

_HOSTS: Final = (
    ("anthropic.com", "anthropic"),
    ("azure.com", "azure"),
    ("openai.com", "openai"),
    ("googleapis.com", "google"),
    ("amazonaws.com", "aws"),
    ("deepseek.com", "deepseek"),
    ("x.ai", "x-ai"),
    ("mistral.ai", "mistral"),
    ("groq.com", "groq"),
    ("cohere.com", "cohere"),
    ("cohere.ai", "cohere"),
    ("openrouter.ai", "openrouter"),
)
_OLLAMA: Final = ("/api/chat", "/api/generate")
"""Paths that only Ollama serves, wherever it runs."""
_BETAS: Final = "anthropic-beta"


class Exchange(Struct, frozen=True):
    """`request` and `response` are bodies as sent (decompressed; empty where there was none), `status` the HTTP
    status (0: not recorded). Times are Unix seconds. `line` is where the recording has it (1-based, 0: unknown),
    `extra` what the recording says beyond, `sender` what its headers say of who
    sent it."""

    request: bytes
    response: bytes = b""
    url: str = ""
    method: str = "POST"
    status: int = 0
    started: float | None = None
    first_byte: float | None = None
    ended: float | None = None
    line: int = 0
    extra: dict[str, Json] = field(default_factory=dict)
    sender: Sender = Sender()

    @property
    def host(self) -> str:
        """The host asked, without port."""
        return self.url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower()

    @property
    def path(self) -> str:
        """The path asked, without query, unescaped."""
        path = "/" + self.url.partition("://")[2].partition("?")[0].partition("/")[2]
        return path.replace("%3A", ":").replace("%3a", ":").replace("%2F", "/")

    @property
    def provider(self) -> str:
        """Who was asked, as pricing knows them; "" for a host that nobody knows."""
        host = self.host
        known = next((name for end, name in _HOSTS if host == end or host.endswith("." + end)), "")
        return known or ("ollama" if self.path in _OLLAMA else "")

    @property
    def words(self) -> str:
        """The exchange in one line: ``POST api.openai.com/v1/embeddings 200``."""
        return " ".join(filter(None, (self.method.upper(), self.host + self.path, str(self.status or ""))))


def value(body: bytes | str) -> Json:
    """The JSON value of a body; None where it is none."""
    try:
        return canonical.loads(body)
    except (ValueError, RecursionError):
        return None


def betas_in(headers: Iterable[tuple[str, str]]) -> dict[str, Json]:
    """What a request's `headers` add to `Exchange.extra`: ``betas``, the active beta features, in the order sent; empty
    where they name none. A cache keeps the prefixes of another set apart (facts §2), and records that clients write
    themselves name it, too."""
    named = [
        name for key, words in headers if key.lower() == _BETAS for name in map(str.strip, words.split(",")) if name
    ]
    return {"betas": list[Json](named)} if named else {}
