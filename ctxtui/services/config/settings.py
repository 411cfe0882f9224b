"""The settings: every key with its type, default and meaning, and the check that its value must pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final

Check = Callable[[Any], Any]
"""Takes a value as TOML or text gives it and returns it typed; raises `ValueError` saying what is wanted."""

Tighter = Callable[[Any, Any], Any]
"""The tighter of two values of a limit: a project's file may tighten the user's, never lift it."""

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")


def _choice(*names: str) -> Check:
    def check(value: Any) -> str:
        if value in names:
            return str(value)
        raise ValueError(f"one of {', '.join(names)}")

    return check


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError("true or false")


def _between(low: float, high: float) -> Check:
    def check(value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if low <= number <= high:
            return number
        raise ValueError(f"a number from {low:g} to {high:g}")

    return check


def _whole(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        number = _between(low, high)(value)
        if number != int(number):
            raise ValueError(f"a whole number from {low} to {high}")
        return int(number)

    return check


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("a text")


def _windows(value: Any) -> dict[str, int]:
    wanted = 'a table of model = tokens, such as {"claude-x" = 200000}'
    if not isinstance(value, Mapping):
        raise ValueError(wanted)
    for tokens in value.values():
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens <= 0:
            raise ValueError(wanted)
    return {str(model): tokens for model, tokens in value.items()}


SIZES: Final = ("context_size", "usable_context")
"""What the settings may say of a model's window, in tokens: the whole, and what of it is to be filled."""


def _models(value: Any) -> dict[str, dict[str, int]]:
    wanted = f"a table of model = {{{' = tokens, '.join(SIZES)} = tokens}}"
    if not isinstance(value, Mapping):
        raise ValueError(wanted)
    for sizes in value.values():
        if not isinstance(sizes, Mapping) or not sizes or not sizes.keys() <= set(SIZES):
            raise ValueError(wanted)
    return {str(model): _windows(sizes) for model, sizes in value.items()}


RATES: Final = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
"""What a price may name, in USD per million tokens."""


def _prices(value: Any) -> dict[str, dict[str, float]]:
    wanted = f"a table of model = {{input = USD per million tokens, output = ...}}; rates: {', '.join(RATES)}"
    if not isinstance(value, Mapping):
        raise ValueError(wanted)
    found: dict[str, dict[str, float]] = {}
    for model, rates in value.items():
        if not isinstance(rates, Mapping) or not {"input", "output"} <= rates.keys() <= set(RATES):
            raise ValueError(wanted)
        found[str(model)] = {name: _between(0, 1e6)(usd) for name, usd in rates.items()}
    return found


def _labels(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("a table of rules by name, see docs/labels.md")
    # Imported here: most configurations have no rules.
    from ctxtui.analysis.labels.rules import parse_rule

    for name, table in value.items():
        if table is not False:
            parse_rule(str(name), table)
    return {str(name): table for name, table in value.items()}


def _clients(value: Any) -> dict[str, bool]:
    # Imported here: most configurations switch none off.
    from ctxtui.services.config.clients import CLIENTS

    names = [one.name for one in CLIENTS]
    if not isinstance(value, Mapping) or not value.keys() <= set(names):
        raise ValueError(f"a table of client = true or false; clients: {', '.join(names)}")
    return {str(name): _flag(on) for name, on in value.items()}


def _mcp(value: Any) -> dict[str, Any]:
    # Imported here: most configurations name no server.
    from ctxtui.services.config.mcp_servers import checked

    return checked(value)


def _about(
    check: Check, meaning: str, *, user_only: bool = False, table: bool = False, tighter: Tighter | None = None
) -> dict[str, Any]:
    return {"check": check, "meaning": meaning, "user_only": user_only, "table": table, "tighter": tighter}


def _lower(one: float, other: float) -> float:
    """The tighter of two limits, of which 0 is none."""
    return min(one or other, other or one)


def _either(one: bool, other: bool) -> bool:
    return one or other


def _both(one: bool, other: bool) -> bool:
    return one and other


def _fewer(one: str, other: str) -> str:
    """The names that fit both lists of patterns, of which an empty one is all."""
    return f"{one} & {other}" if one.strip() and other.strip() else one or other


_THEME: Final = _about(_choice("auto", "dark", "light", "mono"), "colours of the screen")
_GLYPHS: Final = _about(
    _choice("auto", "unicode", "ascii"), "signs of the screen; auto: ascii where the terminal is not UTF-8"
)
_USABLE: Final = _about(_between(0.05, 1.0), "share of a context window that we mean to fill")
_HORIZON: Final = _about(_whole(1, 10_000), "calls ahead over which what would help is ranked by what it saves")
_FOLLOW: Final = _about(_flag, "whether a recording that grows is followed")
_TIPS: Final = _about(_flag, "whether the first session that is opened begins with six tips", user_only=True)
_LIVE: Final = _about(_between(1, 86400), "a file written within so many seconds is marked live")
_INDEX: Final = _about(_flag, "whether the full-text index is filled while the screen runs", tighter=_both)
_CLIENTS: Final = _about(
    _clients, "false for each client whose sessions are not looked for, see docs/clients.md", user_only=True, table=True
)
_PAGER: Final = _about(_text, "pager for a block's full text; empty: $PAGER, else less", user_only=True)
_DATA: Final = _about(_text, "folder of the database; empty: the platform's", user_only=True)
_BODIES: Final = _about(
    _text,
    "folder where Claude Code writes its API bodies; empty: what OTEL_LOG_RAW_API_BODIES=file:DIR names",
    user_only=True,
)
_WINDOWS: Final = _about(_windows, "context windows in tokens by model, over the built-in table's", table=True)
_MODELS: Final = _about(
    _models,
    "by model: context_size, its window, and usable_context, what of it is to be filled (tokens)",
    table=True,
)
_PRICES: Final = _about(_prices, "USD per million tokens by model, over the price table's", user_only=True, table=True)
_PROFILE: Final = _about(_text, "a TOML file of policies for chats; they only propose until it says armed = true")
_PHASES: Final = _about(_text, "what phases begin by: turn, epoch, call, or an expression; empty: your notes")
_SECTIONS: Final = _about(_text, "sections of a summary that a model writes, with `;` between; empty: the usual ones")
_SUMMARY_TOKENS: Final = _about(
    _whole(0, 100_000),
    "tokens of a summary at most; 0: a fifth of what it replaces, 200 to 2,000 (a model: as it likes)",
)
_LABELS: Final = _about(_labels, "rules that split blocks into labelled segments, see docs/labels.md", table=True)
_SMALL: Final = _about(_whole(0, 10_000_000), "a project of at most so many tokens is loaded whole, if it fits")
_MEDIUM: Final = _about(
    _whole(0, 10_000_000), "a project of at most so many tokens is loaded with its large files as signatures"
)
_WHOLE_FILE: Final = _about(_whole(0, 10_000_000), "tokens above which a file goes in as signatures")
_FILES: Final = _about(
    _choice("named", "auto"),
    "files that go with a chat's first message: named (@path), auto (what matters for it)",
    user_only=True,
)
_FILES_SHARE: Final = _about(_between(0.05, 1.0), "share of what is free of the usable window that files may take")
_MEMORY: Final = _about(_text, "folder in which a chat's agent keeps memory; empty: it keeps none", user_only=True)
_MEMORY_TOKENS: Final = _about(_whole(100, 10_000_000), "tokens that memory may take in all", tighter=_lower)
_MEMORY_PLACE: Final = _about(_choice("start", "end"), "where memory stands in a chat's context")
_MEMORY_FILES: Final = _about(_choice("all", "relevant"), "memory that is put in: all of it, or what fits the message")
_INSTRUCTIONS: Final = _about(_flag, "whether a chat's agent reads CLAUDE.md and AGENTS.md", tighter=_both)
_TOOLS: Final = _about(
    _text,
    "tools that a chat's agent is offered: names or patterns with blanks between (mcp__*); empty: all",
    tighter=_fewer,
)
_SERVERS: Final = _about(
    _text,
    "MCP servers that start with a chat: names or patterns with blanks between; empty: those that are enabled",
    user_only=True,
)
_IMAGES: Final = _about(
    _choice("auto", "on", "off"),
    "whether images that MCP tools bring go to the model; auto: unless a local server runs it",
)
_PROVIDER: Final = _about(_text, "provider of a new chat; empty: by the keys and servers there are", user_only=True)
_BASE_URL: Final = _about(_text, "address of a compatible server for chats", user_only=True)
_PLAIN_KEY: Final = _about(
    _flag, "whether a key goes over plain http to a server that is not on this machine", user_only=True
)
_MODEL: Final = _about(_text, "model of a new chat; empty: the provider's usual one")
_ANSWER: Final = _about(_whole(1, 1_000_000), "tokens kept for an answer in a chat")
_WARN: Final = _about(_between(0.05, 1.0), "share of the usable window from which a chat warns")
_CRITICAL: Final = _about(_between(0.05, 1.5), "share of the usable window from which a chat raises an alarm")
_WARN_TOKENS: Final = _about(_whole(0, 100_000_000), "tokens from which a context is warned of; 0: by the share alone")
_CRITICAL_TOKENS: Final = _about(
    _whole(0, 100_000_000), "tokens from which a context raises an alarm; 0: by the share alone"
)
_HOLD_TOKENS: Final = _about(
    _whole(0, 100_000_000), "a chat's request over so many tokens is held; 0: none", tighter=_lower
)
_HOLD_USD: Final = _about(
    _between(0, 1e6), "a chat's request that may cost more USD than this is held; 0: none", tighter=_lower
)
_HOLD_MISS: Final = _about(_flag, "whether a chat's request that would miss the cache is held", tighter=_either)
_SHELL: Final = _about(_flag, "whether the agent's commands go through a shell", user_only=True)
_NETWORK: Final = _about(_flag, "whether the agent's confined commands reach the network", user_only=True)
_MEMORY_LIMIT: Final = _about(
    _whole(0, 10_000_000), "MB of address space that each of the agent's commands may have; 0: no limit", tighter=_lower
)
_UNCONFINED: Final = _about(
    _flag, "whether commands that nothing confines may have leave for a session, or without a user", user_only=True
)
_VARIABLES: Final = _about(
    _text, "further variables that commands get: names or patterns with blanks between (DATABASE_URL)", user_only=True
)
_READS: Final = _about(
    _text, "further files and folders that commands read, with blanks between (quoted as in a shell)", user_only=True
)
_MCP: Final = _about(_mcp, "MCP servers by name: command and args, or url (docs/mcp.md)", table=True)
_ROUNDS: Final = _about(
    _whole(0, 100_000), "requests of one turn after which a chat is held; 0: no limit", tighter=_lower
)
_AGENTS: Final = _about(_flag, "whether a chat's agent may start sub-agents, each time with leave", user_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, typed. The fields are the table: name, default, check and meaning stand together.

    `user_only` settings start programs or say where data goes: a project's file may not set them. Of those with
    `tighter` the tighter of a project's value and the user's is in force.
    """

    theme: str = field(default="auto", metadata=_THEME)
    glyphs: str = field(default="auto", metadata=_GLYPHS)
    usable_share: float = field(default=0.75, metadata=_USABLE)
    horizon: int = field(default=20, metadata=_HORIZON)
    follow: bool = field(default=True, metadata=_FOLLOW)
    tips: bool = field(default=True, metadata=_TIPS)
    live_seconds: float = field(default=120.0, metadata=_LIVE)
    index: bool = field(default=True, metadata=_INDEX)
    clients: dict[str, bool] = field(default_factory=dict, metadata=_CLIENTS)
    pager: str = field(default="", metadata=_PAGER)
    data_dir: str = field(default="", metadata=_DATA)
    raw_api_bodies: str = field(default="", metadata=_BODIES)
    windows: dict[str, int] = field(default_factory=dict, metadata=_WINDOWS)
    models: dict[str, dict[str, int]] = field(default_factory=dict, metadata=_MODELS)
    prices: dict[str, dict[str, float]] = field(default_factory=dict, metadata=_PRICES)
    phases: str = field(default="", metadata=_PHASES)
    profile: str = field(default="", metadata=_PROFILE)
    summary_sections: str = field(default="", metadata=_SECTIONS)
    summary_tokens: int = field(default=0, metadata=_SUMMARY_TOKENS)
    small_project: int = field(default=20_000, metadata=_SMALL)
    medium_project: int = field(default=50_000, metadata=_MEDIUM)
    whole_file: int = field(default=2_000, metadata=_WHOLE_FILE)
    files: str = field(default="named", metadata=_FILES)
    files_share: float = field(default=0.75, metadata=_FILES_SHARE)
    memory: str = field(default="", metadata=_MEMORY)
    memory_tokens: int = field(default=32_000, metadata=_MEMORY_TOKENS)
    memory_place: str = field(default="start", metadata=_MEMORY_PLACE)
    memory_files: str = field(default="all", metadata=_MEMORY_FILES)
    instructions: bool = field(default=True, metadata=_INSTRUCTIONS)
    tools: str = field(default="", metadata=_TOOLS)
    mcp_images: str = field(default="auto", metadata=_IMAGES)
    mcp_servers: str = field(default="", metadata=_SERVERS)
    labels: dict[str, Any] = field(default_factory=dict, metadata=_LABELS)
    provider: str = field(default="", metadata=_PROVIDER)
    base_url: str = field(default="", metadata=_BASE_URL)
    key_over_http: bool = field(default=False, metadata=_PLAIN_KEY)
    model: str = field(default="", metadata=_MODEL)
    answer_tokens: int = field(default=8192, metadata=_ANSWER)
    warn_share: float = field(default=0.9, metadata=_WARN)
    critical_share: float = field(default=1.0, metadata=_CRITICAL)
    warn_tokens: int = field(default=0, metadata=_WARN_TOKENS)
    critical_tokens: int = field(default=0, metadata=_CRITICAL_TOKENS)
    hold_over_tokens: int = field(default=0, metadata=_HOLD_TOKENS)
    hold_over_usd: float = field(default=0.0, metadata=_HOLD_USD)
    hold_on_miss: bool = field(default=False, metadata=_HOLD_MISS)
    command_shell: bool = field(default=False, metadata=_SHELL)
    command_network: bool = field(default=False, metadata=_NETWORK)
    command_memory: int = field(default=0, metadata=_MEMORY_LIMIT)
    command_unconfined: bool = field(default=False, metadata=_UNCONFINED)
    command_variables: str = field(default="", metadata=_VARIABLES)
    command_reads: str = field(default="", metadata=_READS)
    mcp: dict[str, Any] = field(default_factory=dict, metadata=_MCP)
    max_rounds: int = field(default=100, metadata=_ROUNDS)
    agents: bool = field(default=False, metadata=_AGENTS)

    @property
    def context_sizes(self) -> dict[str, int]:
        """The windows that the user set, by model (tokens): `windows`, and `context_size` of `models`."""
        return self.windows | {name: own["context_size"] for name, own in self.models.items() if "context_size" in own}

    @property
    def usable_contexts(self) -> dict[str, int]:
        """What of a window is to be filled, by model (tokens), where the user set it: `usable_context` of `models`."""
        return {name: own["usable_context"] for name, own in self.models.items() if "usable_context" in own}


FIELDS: Final[dict[str, Field[Any]]] = {f.name: f for f in fields(Settings)}
