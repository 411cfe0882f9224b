"""All settings: type, default, meaning and validation of each."""

# ruff: noqa: RUF009 - each `_setting` makes a field

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from operator import and_, or_
from typing import Any, Final

Check = Callable[[Any], Any]
"""Converts a value from TOML or text to its type; raises `ValueError` with the expected form."""

Tighter = Callable[[Any, Any], Any]
"""Returns the stricter of two limits: a project's file may only tighten the user's."""

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")


def _check_choice(*names: str) -> Check:
    """Make the check that a value is one of `names`."""

    def check(value: Any) -> str:
        if value in names:
            return str(value)
        raise ValueError(f"one of {', '.join(names)}")

    return check


def _check_flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError("true or false")


def _check_between(low: float, high: float) -> Check:
    """Make the check that a value is a number from `low` to `high`."""

    def check(value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if low <= number <= high:
            return number
        raise ValueError(f"a number from {low:g} to {high:g}")

    return check


def _check_whole(low: int, high: int) -> Check:
    """Make the check that a value is a whole number from `low` to `high`."""

    def check(value: Any) -> int:
        number = _check_between(low, high)(value)
        if number != int(number):
            raise ValueError(f"a whole number from {low} to {high}")
        return int(number)

    return check


def _check_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("a text")


def _check_window_table(value: Any) -> dict[str, int]:
    expected = 'a table of model = tokens, such as {"claude-x" = 200000}'
    if not isinstance(value, Mapping):
        raise ValueError(expected)
    for tokens in value.values():
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens <= 0:
            raise ValueError(expected)
    return {str(model): tokens for model, tokens in value.items()}


SIZES: Final = ("context_size", "usable_context")
"""Settings of a model's window in tokens: the whole window, and the part to fill."""


def _check_model_table(value: Any) -> dict[str, dict[str, int]]:
    expected = f"a table of model = {{{' = tokens, '.join(SIZES)} = tokens}}"
    if not isinstance(value, Mapping):
        raise ValueError(expected)
    for sizes in value.values():
        if not isinstance(sizes, Mapping) or not sizes or not sizes.keys() <= set(SIZES):
            raise ValueError(expected)
    return {str(model): _check_window_table(sizes) for model, sizes in value.items()}


RATES: Final = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
"""Rates of a price, in USD per million tokens."""


def _check_price_table(value: Any) -> dict[str, dict[str, float]]:
    expected = f"a table of model = {{input = USD per million tokens, output = ...}}; rates: {', '.join(RATES)}"
    if not isinstance(value, Mapping):
        raise ValueError(expected)
    prices: dict[str, dict[str, float]] = {}
    for model, rates in value.items():
        if not isinstance(rates, Mapping) or not {"input", "output"} <= rates.keys() <= set(RATES):
            raise ValueError(expected)
        prices[str(model)] = {name: _check_between(0, 1e6)(usd) for name, usd in rates.items()}
    return prices


def _check_label_table(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("a table of rules by name, see docs/labels.md")
    # Imported here: most configurations have no rules.
    from ctxtui.analysis.labels.rules import parse_rule

    for name, table in value.items():
        if table is not False:
            parse_rule(str(name), table)
    return {str(name): table for name, table in value.items()}


def _check_client_table(value: Any) -> dict[str, bool]:
    # Imported here: most configurations switch none off.
    from ctxtui.services.config.clients import CLIENTS

    names = [client.name for client in CLIENTS]
    if not isinstance(value, Mapping) or not value.keys() <= set(names):
        raise ValueError(f"a table of client = true or false; clients: {', '.join(names)}")
    return {str(name): _check_flag(on) for name, on in value.items()}


def _check_mcp_table(value: Any) -> dict[str, Any]:
    # Imported here: most configurations name no server.
    from ctxtui.services.config.mcp_servers import check_servers

    return check_servers(value)


def _setting(
    default: Any, meaning: str, check: Check | None = None, *, user_only: bool = False, tighter: Tighter | None = None
) -> Any:
    """Make a field of `Settings`; without a `check` it is a text or a bool; `dict` is a table."""
    check = check or (_check_flag if isinstance(default, bool) else _check_text)
    metadata = {
        "check": check,
        "meaning": meaning,
        "user_only": user_only,
        "table": default is dict,
        "tighter": tighter,
    }
    return (
        field(default_factory=dict, metadata=metadata) if default is dict else field(default=default, metadata=metadata)
    )


def _lower_limit(a: float, b: float) -> float:
    """The lower of two limits; 0 is no limit."""
    return min(a or b, b or a)


def _combine_patterns(a: str, b: str) -> str:
    """Combine two lists of patterns so that names must match both; an empty list matches all."""
    return f"{a} & {b}" if a.strip() and b.strip() else a or b


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, typed. The fields define name, default, check and meaning.

    `user_only` settings start programs or determine where data is sent: a project's file may not set them. For settings
    with `tighter`, the stricter of the project's and the user's value applies.
    """

    theme: str = _setting("auto", "colours of the screen", _check_choice("auto", "dark", "light", "mono"))
    glyphs: str = _setting(
        "auto",
        "signs of the screen; auto: ascii where the terminal is not UTF-8",
        _check_choice("auto", "unicode", "ascii"),
    )
    usable_share: float = _setting(0.75, "share of a context window that we mean to fill", _check_between(0.05, 1.0))
    horizon: int = _setting(
        20, "calls ahead over which what would help is ranked by what it saves", _check_whole(1, 10_000)
    )
    follow: bool = _setting(True, "whether a recording that grows is followed")
    tips: bool = _setting(True, "whether the first session that is opened begins with six tips", user_only=True)
    live_seconds: float = _setting(
        120.0, "a file written within so many seconds is marked live", _check_between(1, 86400)
    )
    index: bool = _setting(True, "whether the full-text index is filled while the screen runs", tighter=and_)
    clients: dict[str, bool] = _setting(
        dict,
        "false for each client whose sessions are not looked for, see docs/clients.md",
        _check_client_table,
        user_only=True,
    )
    pager: str = _setting("", "pager for a block's full text; empty: $PAGER, else less", user_only=True)
    data_dir: str = _setting("", "folder of the database; empty: the platform's", user_only=True)
    raw_api_bodies: str = _setting(
        "",
        "folder where Claude Code writes its API bodies; empty: what OTEL_LOG_RAW_API_BODIES=file:DIR names",
        user_only=True,
    )
    windows: dict[str, int] = _setting(
        dict, "context windows in tokens by model, over the built-in table's", _check_window_table
    )
    models: dict[str, dict[str, int]] = _setting(
        dict,
        "by model: context_size, its window, and usable_context, what of it is to be filled (tokens)",
        _check_model_table,
    )
    prices: dict[str, dict[str, float]] = _setting(
        dict, "USD per million tokens by model, over the price table's", _check_price_table, user_only=True
    )
    phases: str = _setting("", "what phases begin by: turn, epoch, call, or an expression; empty: your notes")
    profile: str = _setting("", "a TOML file of policies for chats; they only propose until it says armed = true")
    summary_sections: str = _setting(
        "", "sections of a summary that a model writes, with `;` between; empty: the usual ones"
    )
    summary_tokens: int = _setting(
        0,
        "tokens of a summary at most; 0: a fifth of what it replaces, 200 to 2,000 (a model: as it likes)",
        _check_whole(0, 100_000),
    )
    small_project: int = _setting(
        20_000, "a project of at most so many tokens is loaded whole, if it fits", _check_whole(0, 10_000_000)
    )
    medium_project: int = _setting(
        50_000,
        "a project of at most so many tokens is loaded with its large files as signatures",
        _check_whole(0, 10_000_000),
    )
    whole_file: int = _setting(2_000, "tokens above which a file goes in as signatures", _check_whole(0, 10_000_000))
    files: str = _setting(
        "named",
        "files that go with a chat's first message: named (@path), auto (what matters for it)",
        _check_choice("named", "auto"),
        user_only=True,
    )
    files_share: float = _setting(
        0.75, "share of what is free of the usable window that files may take", _check_between(0.05, 1.0)
    )
    memory: str = _setting("", "folder in which a chat's agent keeps memory; empty: it keeps none", user_only=True)
    memory_tokens: int = _setting(
        32_000, "tokens that memory may take in all", _check_whole(100, 10_000_000), tighter=_lower_limit
    )
    memory_place: str = _setting("start", "where memory stands in a chat's context", _check_choice("start", "end"))
    memory_files: str = _setting(
        "all", "memory that is put in: all of it, or what fits the message", _check_choice("all", "relevant")
    )
    instructions: bool = _setting(True, "whether a chat's agent reads CLAUDE.md and AGENTS.md", tighter=and_)
    tools: str = _setting(
        "",
        "tools that a chat's agent is offered: names or patterns with blanks between (mcp__*); empty: all",
        tighter=_combine_patterns,
    )
    mcp_images: str = _setting(
        "auto",
        "whether images that MCP tools bring go to the model; auto: unless a local server runs it",
        _check_choice("auto", "on", "off"),
    )
    mcp_servers: str = _setting(
        "",
        "MCP servers that start with a chat: names or patterns with blanks between; empty: those that are enabled",
        user_only=True,
    )
    labels: dict[str, Any] = _setting(
        dict, "rules that split blocks into labelled segments, see docs/labels.md", _check_label_table
    )
    provider: str = _setting("", "provider of a new chat; empty: by the keys and servers there are", user_only=True)
    base_url: str = _setting("", "address of a compatible server for chats", user_only=True)
    key_over_http: bool = _setting(
        False, "whether a key goes over plain http to a server that is not on this machine", user_only=True
    )
    model: str = _setting("", "model of a new chat; empty: the provider's usual one")
    answer_tokens: int = _setting(8192, "tokens kept for an answer in a chat", _check_whole(1, 1_000_000))
    warn_share: float = _setting(0.9, "share of the usable window from which a chat warns", _check_between(0.05, 1.0))
    critical_share: float = _setting(
        1.0, "share of the usable window from which a chat raises an alarm", _check_between(0.05, 1.5)
    )
    warn_tokens: int = _setting(
        0, "tokens from which a context is warned of; 0: by the share alone", _check_whole(0, 100_000_000)
    )
    critical_tokens: int = _setting(
        0, "tokens from which a context raises an alarm; 0: by the share alone", _check_whole(0, 100_000_000)
    )
    hold_over_tokens: int = _setting(
        0, "a chat's request over so many tokens is held; 0: none", _check_whole(0, 100_000_000), tighter=_lower_limit
    )
    hold_over_usd: float = _setting(
        0.0,
        "a chat's request that may cost more USD than this is held; 0: none",
        _check_between(0, 1e6),
        tighter=_lower_limit,
    )
    hold_on_miss: bool = _setting(False, "whether a chat's request that would miss the cache is held", tighter=or_)
    command_shell: bool = _setting(False, "whether the agent's commands go through a shell", user_only=True)
    command_network: bool = _setting(False, "whether the agent's confined commands reach the network", user_only=True)
    command_memory: int = _setting(
        0,
        "MB of address space that each of the agent's commands may have; 0: no limit",
        _check_whole(0, 10_000_000),
        tighter=_lower_limit,
    )
    command_unconfined: bool = _setting(
        False, "whether commands that nothing confines may have leave for a session, or without a user", user_only=True
    )
    command_variables: str = _setting(
        "", "further variables that commands get: names or patterns with blanks between (DATABASE_URL)", user_only=True
    )
    command_reads: str = _setting(
        "", "further files and folders that commands read, with blanks between (quoted as in a shell)", user_only=True
    )
    mcp: dict[str, Any] = _setting(
        dict, "MCP servers by name: command and args, or url (docs/mcp.md)", _check_mcp_table
    )
    max_rounds: int = _setting(
        100,
        "requests of one turn after which a chat is held; 0: no limit",
        _check_whole(0, 100_000),
        tighter=_lower_limit,
    )
    agents: bool = _setting(False, "whether a chat's agent may start sub-agents, each time with leave", user_only=True)

    @property
    def context_sizes(self) -> dict[str, int]:
        """The user's context windows by model (tokens): `windows`, and ``context_size`` of `models`."""
        return self.windows | {
            name: sizes["context_size"] for name, sizes in self.models.items() if "context_size" in sizes
        }

    @property
    def usable_contexts(self) -> dict[str, int]:
        """The user's usable parts of windows by model (tokens): ``usable_context`` of `models`."""
        return {name: sizes["usable_context"] for name, sizes in self.models.items() if "usable_context" in sizes}


FIELDS: Final[dict[str, Field[Any]]] = {f.name: f for f in fields(Settings)}
