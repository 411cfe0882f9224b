"""All settings: type, default, meaning and validation of each."""

# ruff: noqa: RUF009 - each `_setting` makes a field

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from operator import and_, or_
from typing import Any, Final, NamedTuple

from ctxtui.services.config.own_commands import OUTPUTS, parse_command


class Check(NamedTuple):
    """The values that a setting accepts.

    `parse` converts a value from TOML or text to its type; raises `ValueError` with the expected form. `schema` is the
    JSON schema of its value in TOML.
    """

    parse: Callable[[Any], Any]
    schema: Mapping[str, Any]


Tighter = Callable[[Any, Any], Any]
"""Combines two limits to one as strict as both: a project's file may only tighten the user's."""

THEMES: Final = ("auto", "dark", "light", "mono")
THEME_COLOURS: Final = (
    *("primary", "secondary", "accent", "warning", "error", "success"),
    *("foreground", "background", "surface", "panel"),
)
"""Colours of a theme of the user; those of Textual's `Theme`."""

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")


def _choice(*names: str) -> Check:
    def check(value: Any) -> str:
        if value in names:
            return str(value)
        raise ValueError(f"one of {', '.join(names)}")

    return Check(check, {"enum": list(names)})


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
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if low <= number <= high:
            return number
        raise ValueError(f"a number from {low:g} to {high:g}")

    return Check(check, {"type": "number", "minimum": low, "maximum": high})


def _integer(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        number = _between(low, high).parse(value)
        if number != int(number):
            raise ValueError(f"a whole number from {low} to {high}")
        return int(number)

    return Check(check, {"type": "integer", "minimum": low, "maximum": high})


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("a text")


def _quoted_words(value: Any) -> str:
    try:
        shlex.split(_text(value))
    except ValueError as error:
        raise ValueError("a text of words, quoted as in a shell") from error
    return str(value)


def _windows(value: Any) -> dict[str, int]:
    expected = 'a table of model = tokens, such as {"claude-x" = 200000}'
    if not isinstance(value, Mapping):
        raise ValueError(expected)
    for tokens in value.values():
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens <= 0:
            raise ValueError(expected)
    return {str(model): tokens for model, tokens in value.items()}


SIZES: Final = ("context_size", "usable_context")
"""Settings of a model's window in tokens: the whole window, and the part to fill."""


def _models(value: Any) -> dict[str, dict[str, int]]:
    expected = f"a table of model = {{{' = tokens, '.join(SIZES)} = tokens}}"
    if not isinstance(value, Mapping):
        raise ValueError(expected)
    for sizes in value.values():
        if not isinstance(sizes, Mapping) or not sizes or not sizes.keys() <= set(SIZES):
            raise ValueError(expected)
    return {str(model): _windows(sizes) for model, sizes in value.items()}


RATES: Final = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
"""In USD per million tokens."""


def _prices(value: Any) -> dict[str, dict[str, float]]:
    expected = f"a table of model = {{input = USD per million tokens, output = ...}}; rates: {', '.join(RATES)}"
    if not isinstance(value, Mapping):
        raise ValueError(expected)
    prices: dict[str, dict[str, float]] = {}
    for model, rates in value.items():
        if not isinstance(rates, Mapping) or not {"input", "output"} <= rates.keys() <= set(RATES):
            raise ValueError(expected)
        prices[str(model)] = {name: _between(0, 1e6).parse(usd) for name, usd in rates.items()}
    return prices


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

    names = [client.name for client in CLIENTS]
    if not isinstance(value, Mapping) or not value.keys() <= set(names):
        raise ValueError(f"a table of client = true or false; clients: {', '.join(names)}")
    return {str(name): _flag(on) for name, on in value.items()}


def _mcp(value: Any) -> dict[str, Any]:
    # Imported here: most configurations name no server.
    from ctxtui.services.config.mcp_servers import check_servers

    return check_servers(value)


def _keys(value: Any) -> dict[str, tuple[str, ...]]:
    expected = 'a table of command = key or keys, such as {"drop block" = "D"}, see docs/settings.md'
    if not isinstance(value, Mapping):
        raise ValueError(expected)
    keys_by_command = {str(name): [keys] if isinstance(keys, str) else keys for name, keys in value.items()}
    for keys in keys_by_command.values():
        if not isinstance(keys, list) or not keys or not all(isinstance(key, str) and key.strip() for key in keys):
            raise ValueError(expected)
    return {name: tuple(keys) for name, keys in keys_by_command.items()}


def _commands(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("a table of commands by name, see docs/settings.md")
    for name, table in value.items():
        parse_command(str(name), table)
    return {str(name): dict(table) for name, table in value.items()}


def _themes(value: Any) -> dict[str, dict[str, Any]]:
    expected = f'a table of name (not {", ".join(THEMES)}) = {{primary = "#4FD9D0", ...}}, see docs/settings.md'
    if not isinstance(value, Mapping):
        raise ValueError(expected)
    for name, table in value.items():
        if not isinstance(table, Mapping) or not isinstance(table.get("primary"), str) or name in THEMES:
            raise ValueError(expected)
    return {str(name): dict(table) for name, table in value.items()}


def _table_of(entry: Mapping[str, Any], names: Iterable[str] = ()) -> dict[str, Any]:
    """The JSON schema of a table whose entries are `entry`; with `names` only these are allowed."""
    table: dict[str, Any] = {"type": "object", "additionalProperties": entry}
    return {**table, "propertyNames": {"enum": sorted(names)}} if names else table


_TOKENS: Final = {"type": "integer", "minimum": 1}
_USD: Final = {"type": "number", "minimum": 0}
_STRING: Final = {"type": "string"}
_OBJECT: Final = {"type": "object"}
_KEYS: Final = {"anyOf": [_STRING, {"type": "array", "items": _STRING, "minItems": 1}]}
_OWN_COMMAND: Final = {
    "type": "object",
    "properties": {"run": _STRING, "key": _STRING, "help": _STRING, "output": {"enum": list(OUTPUTS)}},
    "required": ["run"],
    "additionalProperties": False,
}
_THEME: Final = {
    "type": "object",
    "properties": {
        **dict.fromkeys(THEME_COLOURS, _STRING),
        "dark": {"type": "boolean"},
        "variables": _table_of(_STRING),
    },
    "required": ["primary"],
    "additionalProperties": False,
}


def _setting(
    default: Any, meaning: str, check: Check | None = None, *, user_only: bool = False, tighter: Tighter | None = None
) -> Any:
    """Make a field of `Settings`; without a `check` it is a text or a bool.

    A `default` of `dict` makes it a table. `meaning` is its help text.
    """
    parse, schema = check or ((_flag, {"type": "boolean"}) if isinstance(default, bool) else (_text, _STRING))
    metadata = {
        "check": parse,
        "schema": schema,
        "meaning": meaning,
        "user_only": user_only,
        "table": default is dict,
        "tighter": tighter,
    }
    initial: Any = {"default_factory": dict} if default is dict else {"default": default}
    return field(**initial, metadata=metadata)


def _lower(a: float, b: float) -> float:
    """The lower of two limits; 0 is no limit."""
    return min(a or b, b or a)


def _fewer(a: str, b: str) -> str:
    """Combine two lists of patterns so that names must match both; an empty list matches all."""
    return f"{a} & {b}" if a.strip() and b.strip() else a or b


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings.

    A project's file may not set `user_only` settings, and only tighten those with `tighter`.
    """

    theme: str = _setting("auto", f"colours of the screen: {', '.join(THEMES)}, or one of `themes`")
    glyphs: str = _setting(
        "auto", "signs of the screen; auto: ascii where the terminal is not UTF-8", _choice("auto", "unicode", "ascii")
    )
    usable_share: float = _setting(0.75, "share of a context window to fill", _between(0.05, 1.0))
    horizon: int = _setting(20, "number of next calls over which advice is ranked by its savings", _integer(1, 10_000))
    follow: bool = _setting(True, "whether a recording that grows is followed")
    tips: bool = _setting(True, "whether the first session opened shows six tips", user_only=True)
    live_seconds: float = _setting(120.0, "a file written within so many seconds is marked live", _between(1, 86400))
    index: bool = _setting(True, "whether the full-text index is filled while the screen runs", tighter=and_)
    clients: dict[str, bool] = _setting(
        dict,
        "false for each client whose sessions are not looked for, see docs/clients.md",
        Check(_clients, _table_of({"type": "boolean"})),
        user_only=True,
    )
    pager: str = _setting("", "pager for a block's full text; empty: $PAGER, else less", user_only=True)
    data_dir: str = _setting("", "folder of the database; empty: $CTXTUI_HOME, else the platform's", user_only=True)
    raw_api_bodies: str = _setting(
        "",
        "folder where Claude Code writes its API bodies; empty: what OTEL_LOG_RAW_API_BODIES=file:DIR names",
        user_only=True,
    )
    windows: dict[str, int] = _setting(
        dict, "context windows in tokens by model, over the built-in table's", Check(_windows, _table_of(_TOKENS))
    )
    models: dict[str, dict[str, int]] = _setting(
        dict,
        "by model: context_size, its window, and usable_context, the part of it to fill (tokens)",
        Check(_models, _table_of(_table_of(_TOKENS, SIZES))),
    )
    prices: dict[str, dict[str, float]] = _setting(
        dict,
        "USD per million tokens by model, over the price table's",
        Check(_prices, _table_of({**_table_of(_USD, RATES), "required": ["input", "output"]})),
        user_only=True,
    )
    phases: str = _setting(
        "", "what starts a phase: turn, epoch, call, or an expression; empty: your notes, else turns"
    )
    profile: str = _setting("", "a TOML file of policies for chats; they only propose until it says armed = true")
    summary_sections: str = _setting(
        "", "sections of a summary that a model writes, with `;` between; empty: the usual ones"
    )
    summary_tokens: int = _setting(
        0,
        "tokens of a summary at most; 0: a fifth of what it replaces, 200 to 2,000 (a model: as it likes)",
        _integer(0, 100_000),
    )
    small_project: int = _setting(
        20_000, "a project of at most so many tokens is loaded whole, if it fits", _integer(0, 10_000_000)
    )
    medium_project: int = _setting(
        50_000,
        "a project of at most so many tokens is loaded with its large files as signatures",
        _integer(0, 10_000_000),
    )
    whole_file: int = _setting(
        2_000, "tokens above which a file of a medium project goes in as signatures", _integer(0, 10_000_000)
    )
    files: str = _setting(
        "named",
        "files attached to a chat's messages: named (@path), auto (to the first also the relevant ones)",
        _choice("named", "auto"),
        user_only=True,
    )
    files_share: float = _setting(0.75, "share of the free usable window that files may take", _between(0.05, 1.0))
    memory: str = _setting("", "folder in which a chat's agent keeps memory; empty: no memory", user_only=True)
    memory_tokens: int = _setting(
        32_000, "tokens that memory may take in all", _integer(100, 10_000_000), tighter=_lower
    )
    memory_place: str = _setting("start", "position of memory in a chat's context", _choice("start", "end"))
    memory_files: str = _setting(
        "all", "memory that is included: all of it, or what fits the message", _choice("all", "relevant")
    )
    instructions: bool = _setting(True, "whether a chat's agent reads CLAUDE.md and AGENTS.md", tighter=and_)
    tools: str = _setting(
        "",
        "tools that a chat's agent is offered: names or patterns separated by spaces (mcp__*); empty: all",
        tighter=_fewer,
    )
    mcp_images: str = _setting(
        "auto",
        "whether images that MCP tools bring go to the model; auto: unless its server is local",
        _choice("auto", "on", "off"),
    )
    mcp_servers: str = _setting(
        "",
        "MCP servers that start with a chat: names or patterns separated by spaces; empty: those that are enabled",
        user_only=True,
    )
    labels: dict[str, Any] = _setting(
        dict,
        "rules that split blocks into labelled segments, see docs/labels.md",
        Check(_labels, _table_of({"anyOf": [_OBJECT, {"const": False}]})),
    )
    provider: str = _setting("", "provider of a new chat; empty: by the keys and servers there are", user_only=True)
    base_url: str = _setting("", "address of a compatible server for chats", user_only=True)
    key_over_http: bool = _setting(
        False, "whether a key goes over plain http to a server that is not on this machine", user_only=True
    )
    model: str = _setting("", "model of a new chat; empty: the provider's usual one")
    answer_tokens: int = _setting(8192, "tokens kept for an answer in a chat", _integer(1, 1_000_000))
    warn_share: float = _setting(0.9, "share of the usable window from which a chat warns", _between(0.05, 1.0))
    critical_share: float = _setting(
        1.0, "share of the usable window from which a chat raises an alarm", _between(0.05, 1.5)
    )
    warn_tokens: int = _setting(
        0, "tokens of context from which a chat warns; 0: only by the share", _integer(0, 100_000_000)
    )
    critical_tokens: int = _setting(
        0, "tokens of context from which a chat raises an alarm; 0: only by the share", _integer(0, 100_000_000)
    )
    hold_over_tokens: int = _setting(
        0, "a chat's request over so many input tokens is held; 0: none", _integer(0, 100_000_000), tighter=_lower
    )
    hold_over_usd: float = _setting(
        0.0,
        "a chat's request whose input would cost more USD than this is held; 0: none",
        _between(0, 1e6),
        tighter=_lower,
    )
    hold_on_miss: bool = _setting(False, "whether a chat's request that would miss the cache is held", tighter=or_)
    command_shell: bool = _setting(False, "whether the agent's commands go through a shell", user_only=True)
    command_network: bool = _setting(False, "whether the agent's confined commands reach the network", user_only=True)
    command_memory: int = _setting(
        0,
        "MB of address space that each of the agent's commands may have; 0: no limit",
        _integer(0, 10_000_000),
        tighter=_lower,
    )
    command_unconfined: bool = _setting(
        False, "whether unconfined commands can be allowed for a session, or without a user", user_only=True
    )
    command_variables: str = _setting(
        "", "further variables that commands get: names or patterns separated by spaces (DATABASE_URL)", user_only=True
    )
    command_reads: str = _setting(
        "",
        "further files and folders that commands read, separated by spaces (quoted as in a shell)",
        Check(_quoted_words, {"type": "string"}),
        user_only=True,
    )
    mcp: dict[str, Any] = _setting(
        dict, "MCP servers by name: command and args, or url (docs/mcp.md)", Check(_mcp, _table_of(_OBJECT))
    )
    max_rounds: int = _setting(
        100, "requests of one turn after which a chat is held; 0: no limit", _integer(0, 100_000), tighter=_lower
    )
    themes: dict[str, dict[str, Any]] = _setting(
        dict, "your own themes by name (docs/settings.md)", Check(_themes, _table_of(_THEME)), user_only=True
    )
    keys: dict[str, tuple[str, ...]] = _setting(
        dict,
        "keys of commands, by the name in the palette, see docs/settings.md",
        Check(_keys, _table_of(_KEYS)),
        user_only=True,
    )
    commands: dict[str, Any] = _setting(
        dict,
        "your own commands by name: run, key, output (docs/settings.md)",
        Check(_commands, _table_of(_OWN_COMMAND)),
        user_only=True,
    )
    agents: bool = _setting(
        False, "whether a chat's agent may start sub-agents, each with your permission", user_only=True
    )

    @property
    def context_sizes(self) -> dict[str, int]:
        """Context windows by model (tokens): `windows`, and ``context_size`` of `models`."""
        return self.windows | {
            name: sizes["context_size"] for name, sizes in self.models.items() if "context_size" in sizes
        }

    @property
    def usable_contexts(self) -> dict[str, int]:
        """Usable parts of windows by model (tokens): ``usable_context`` of `models`."""
        return {name: sizes["usable_context"] for name, sizes in self.models.items() if "usable_context" in sizes}


FIELDS: Final[dict[str, Field[Any]]] = {f.name: f for f in fields(Settings)}
