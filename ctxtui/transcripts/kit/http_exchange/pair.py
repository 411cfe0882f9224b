"""An HTTP exchange with a provider, and the client that sent it, by headers (facts §13.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.session import MAIN
from ctxtui.transcripts.kit.fields import as_dicts, get_path

TITLE: Final = "title"
COUNTS: Final = "counts"
CLASSIFIER: Final = "classifier"
PROBE: Final = "probe"
WARM_UP: Final = "warm-up"
KEPT_WARM: Final = "keep-warm"
"""Kinds of side calls: requests that are not part of the conversation."""
LABELS: Final = {
    TITLE: "titles for the session",
    COUNTS: "requests that only count tokens",
    CLASSIFIER: "the client's own checks",
    PROBE: "the client's probes",
    KEPT_WARM: "ctxtui's requests that keep the cache warm",
}
"""Labels of the threads of side calls, by kind."""

_VERSION: Final = re.compile(r"^([\w.-]+)/(\d[\w.+-]*)")
_GEMINI_CLI: Final = "gemini cli"
_KIMI_CODE: Final = "kimi-code-cli"
_KIMI_SESSION: Final = re.compile(r"session_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_CLIENTS: Final = {"claude-cli": "claude code", "geminicli": _GEMINI_CLI, "geminicli-tui": _GEMINI_CLI}
_GEMINI_CHECKS: Final = frozenset({"unproductive_state_confidence", "next_speaker", "model_choice", "complexity_score"})
"""Members of the JSON that Gemini CLI 0.61 asks for: is it in a loop, who speaks next, which model fits the task."""

_GRADE: Final = "</severity>"
"""End tag of the grade that Claude Code's permission check asks for."""


class Sender(Struct, frozen=True, kw_only=True):
    """The client that sent a request.

    `session` and `thread` are the client's own ids ("": none; `MAIN`: its main thread), `parent` is the thread that
    started this one, `label` the client's name for it. `aside`: the kind of side call, if the recording names it.
    """

    session: str = ""
    thread: str = ""
    parent: str = ""
    label: str = ""
    client: str = ""
    version: str = ""
    aside: str = ""

    @property
    def has_known_side_calls(self) -> bool:
        """Whether its side calls are recognized by their bodies.

        Other programs may send such bodies as turns.
        """
        return bool(self.session) or self.client == _GEMINI_CLI

    @property
    def names_session_in_body(self) -> bool:
        """Whether bodies, not headers, have the session's id (see `read_session`)."""
        return self.client == _KIMI_CODE


def identify_sender(headers: Mapping[str, str]) -> Sender:
    """Identify the sender of a request with these headers (lower-case names)."""
    signed = _VERSION.match(headers.get("user-agent", ""))
    client, version = (signed[1].lower(), signed[2]) if signed else ("", "")
    client = _CLIENTS.get(client, client)
    if session := headers.get("x-claude-code-session-id", ""):
        agent = headers.get("x-claude-code-agent-id", "")
        return Sender(
            session=session, thread=agent or MAIN, parent=MAIN if agent else "", client="claude code", version=version
        )
    if "originator" in headers and (thread := headers.get("thread-id", "")):
        parent = headers.get("x-codex-parent-thread-id", "")
        session = headers.get("session-id", "") or parent or thread
        return Sender(
            session=session,
            thread=MAIN if thread == session else thread,
            parent="" if thread == session else MAIN if parent in ("", session) else parent,
            label=headers.get("x-openai-subagent", "").replace("_", " "),
            client="codex",
            version=version,
        )
    if session := headers.get("x-session-affinity", "") or headers.get("x-session-id", ""):
        if root := headers.get("x-parent-session-id", ""):
            # A subagent of OpenCode. One that a subagent starts names only that as its parent.
            return Sender(session=root, thread=session, parent=MAIN, client=client, version=version)
        return Sender(session=session, client=client, version=version)
    return Sender(client=client, version=version)


def read_session(sender: Sender, body: bytes) -> str:
    """The session that `sender` (Kimi Code) names in the `body` of a request; "" for none."""
    if not sender.names_session_in_body:
        return ""
    request = as_dict(parse_body(body))
    named = get_path(request, "metadata", "user_id") or request.get("prompt_cache_key")
    match = _KIMI_SESSION.fullmatch(as_str(named))
    return match[1] if match else ""


def classify_side_call(path: str, body: Json) -> str:
    """Return the kind of a side call; "" for a request of the conversation."""
    if path.rstrip("/").endswith(("/count_tokens", "/input_tokens")):
        return COUNTS
    request = as_dict(body)
    if request.get("generate") is False:
        return WARM_UP
    if request.get("tools"):
        return ""
    if as_count(request.get("max_tokens")) == 1:
        return PROBE
    if _asks_for_severity(request):
        return CLASSIFIER
    schema = as_dict(get_path(request, "generationConfig", "responseJsonSchema", "properties"))
    if _GEMINI_CHECKS & set(schema):
        return CLASSIFIER
    shaped = as_dict(as_dict(request.get("output_config")).get("format")) or as_dict(request.get("output_format"))
    schema = as_dict(as_dict(shaped.get("schema")).get("properties"))
    if shaped.get("type") == "json_schema" and set(schema) & {"title", "isNewTopic", "branch"}:
        return TITLE
    # Codex's terminal client requests titles in a separate session.
    shaped = as_dict(as_dict(request.get("text")).get("format"))
    if shaped.get("type") == "json_schema" and set(as_dict(as_dict(shaped.get("schema")).get("properties"))) == {
        "title"
    }:
        return TITLE
    return TITLE if _asks_for_title(request) else ""


def _asks_for_severity(request: dict[str, Json]) -> bool:
    if any(_GRADE in as_str(sequence) for sequence in as_list(request.get("stop_sequences"))):
        return True
    content = next((message.get("content") for message in reversed(as_dicts(request.get("messages")))), None)
    return any(_GRADE in as_str(part.get("text")) for part in as_dicts(content)[-1:])


def _asks_for_title(request: dict[str, Json]) -> bool:
    system = request.get("system") or request.get("instructions")
    text = as_str(system) or " ".join(as_str(part.get("text")) for part in as_dicts(system))
    for message in as_dicts(request.get("messages")) + as_dicts(request.get("input")):
        if message.get("role") in ("system", "developer"):
            content = message.get("content")
            text += as_str(content) or " ".join(as_str(part.get("text")) for part in as_dicts(content))
    return "title generator" in text[:400].lower()


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
"""Ollama's own paths, on any host."""
_BETAS: Final = "anthropic-beta"


class Exchange(Struct, frozen=True):
    """One HTTP exchange.

    Bodies are decompressed (empty: none), times are Unix seconds. `status`: 0 if not recorded. `line`: its position in
    the recording (1-based, 0: unknown). `extra`: further recorded fields.
    """

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
        address = self._location.partition("/")[0].rpartition("@")[2].lower()
        return address[: address.find("]") + 1] or address.partition(":")[0]

    @property
    def path(self) -> str:
        """The path, without query; escaped colons and slashes are decoded."""
        path = "/" + self._location.partition("/")[2]
        return path.replace("%3A", ":").replace("%3a", ":").replace("%2F", "/").replace("%2f", "/")

    @property
    def _location(self) -> str:
        url = self.url.partition("?")[0]
        return url.partition("://")[2] or url

    @property
    def provider(self) -> str:
        """The provider's name in pricing; "" if neither host nor path shows it."""
        host = self.host
        known_name = next((name for end, name in _HOSTS if host == end or host.endswith("." + end)), "")
        return known_name or ("ollama" if self.path in _OLLAMA else "")

    @property
    def summary(self) -> str:
        """The exchange in one line: ``POST api.openai.com/v1/embeddings 200``."""
        return " ".join(filter(None, (self.method.upper(), self.host + self.path, str(self.status or ""))))


def parse_body(body: bytes | str) -> Json:
    """Parse a body as JSON; None if it is not JSON."""
    try:
        return canonical.loads(body)
    except (ValueError, RecursionError):
        return None


def replaces_answer(decision: Json) -> bool:
    """Whether, by a relay's decision, the user or a replay answered instead of the model."""
    return get_path(decision, "released") == "answer" or bool(get_path(decision, "played"))


def read_betas(headers: Iterable[tuple[str, str]]) -> dict[str, Json]:
    """The active beta features of a request, for `Exchange.extra`.

    Caches depend on them (facts §2).
    """
    named = [name for key, text in headers if key.lower() == _BETAS for name in map(str.strip, text.split(",")) if name]
    return {"betas": list[Json](named)} if named else {}
