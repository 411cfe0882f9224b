"""`ctxtui mcp`: the MCP servers that are configured, and what their tools take of every request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ctxtui.analysis.money.tool_ledger import LedgerServer, LedgerTool
from ctxtui.cli import exit_codes
from ctxtui.cli.agent.serve import serve
from ctxtui.cli.all_sessions import Age, known_sessions
from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.output import note, write, write_json
from ctxtui.cli.paint import Painter, rule, table_lines, width
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.providers.endpoint import ANTHROPIC, RESPONSES
from ctxtui.services.chat.model_choice import DEFAULT_MODELS, providers_of
from ctxtui.services.config.config import Config
from ctxtui.services.config.mcp_servers import McpServer, load_servers
from ctxtui.services.config.paths import data_dir, log_dir
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.library.tool_ledger import ToolsLedger, tools_ledger
from ctxtui.services.mcp.connection import ServerState
from ctxtui.services.mcp.definition_size import DefinitionSizes, measure_definitions, read_definitions
from ctxtui.services.mcp.server_pool import ServerPermissions, ServerPool
from ctxtui.services.members import members
from ctxtui.views.home.columns import is_empty
from ctxtui.views.lists.costs import tool_ledger as view
from ctxtui.views.text.safe_text import one_line


@click.group("mcp", invoke_without_command=True)
@click.option(
    "--in", "folder", metavar="FOLDER", type=click.Path(path_type=Path), help="Only the recordings in FOLDER, or below."
)
@click.option("--since", type=Age(), metavar="AGE", help="Only calls within an age: 7d, 12h ...")
@click.option("--by", type=click.Choice(["server", "tool"]), default="tool", help="One row for each (default: tool).")
@click.option("--all", "every", is_flag=True, help="Also tools that are built in, or name no MCP server.")
@JSON_OPTION
@click.pass_context
def mcp(context: click.Context, folder: Path | None, since: float | None, by: str, every: bool, as_json: bool) -> None:
    """Alone: the ledger of tools over all sessions: what each MCP server's definitions took, in tokens, calls and
    money, what use was made of them, and whether to keep, defer or drop each. Sessions are read once and remembered.

    Servers are named in your configuration ([mcp.NAME] with command and args, or url). Those of a project (its
    ctxtui.toml or .mcp.json) start only after you allowed them, as they are then.

    \b
    Example: ctxtui mcp --since 30d
    Example: ctxtui mcp size tools.json --max 5000
    """
    if context.invoked_subcommand is None:
        tell(config_of(context).settings, folder, since, by, every=every, as_json=as_json)


mcp.add_command(serve)


@mcp.command("list")
@JSON_OPTION
@click.pass_context
def list_(context: click.Context, as_json: bool) -> None:
    """The servers that are configured here, and whether they may start. Nothing is started."""
    found, leave = _configured(config_of(context))
    if as_json:
        write_json({"servers": [_server_json(one, leave) for one in found]})
        return
    if not found:
        note("no MCP server is configured: [mcp.NAME] in your configuration, or a project's .mcp.json")
    for one in found:
        state = "off" if not one.enabled else "on" if leave.is_allowed(one) else "asks"
        write(f"{state:<5} {one_line(one.name, 40):<20} {one_line(one.description, 400)}")
        if not leave.is_allowed(one):
            note(f"{one.name} is named by {one.place}: `ctxtui mcp allow {one.name}` lets it start as it is now")


@mcp.command("allow")
@click.argument("names", metavar="SERVER...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1): the servers.")
@click.pass_context
def allow(context: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Let a project's servers start, as they are now: another command, argument or variable is asked for again."""
    found, leave = _configured(config_of(context))
    servers = [_named(found, name) for name in names]
    for server in servers:
        if server.project:
            leave.allow(server)
            note(f"{server.name} of {server.place} may start: {server.description}")
        else:
            note(f"{server.name} is your own ({server.place}): it needs no leave")
    if as_json:
        write_json({"servers": [_server_json(server, leave) for server in servers]})


@mcp.command("size")
@click.argument("what", metavar="SERVER|FILE")
@click.option("--model", metavar="ID", default="", help="Count as this model does (default: the setting, else Claude).")
@click.option("--max", "most", type=click.IntRange(min=0), metavar="N", help="Exit with 8 above N tokens; for CI.")
@JSON_OPTION
@click.pass_context
def size(context: click.Context, what: str, model: str, most: int | None, as_json: bool) -> int:
    """Tokens that the tools of SERVER, or those listed in a JSON file, take of every request.

    A server is started to ask it; nothing is sent to a model. A file holds what a server lists (tools, or the list
    alone), or tools as Anthropic and OpenAI spell them.

    \b
    Example: ctxtui mcp size github --model claude-sonnet-5-5
    Example: ctxtui mcp size tools.json --json
    """
    config = config_of(context)
    definitions = read_definitions(Path(what)) if _is_file(what) else asyncio.run(_asked(config, what))
    model = model or config.settings.model or DEFAULT_MODELS["anthropic"]
    dialect = RESPONSES if providers_of(model) == ["openai"] else ANTHROPIC
    with cached_counter(config.settings) as counter:
        found = measure_definitions(definitions, model, dialect, config.settings, counter)
    over = most is not None and found.tokens > most
    write_json(_sizes_json(found, what, most)) if as_json else _print(found)
    if over:
        note(f"{found.tokens:,} tokens are more than {most:,}")
    return exit_codes.FAILED.number if over else exit_codes.OK.number


def _is_file(what: str) -> bool:
    return what.endswith(".json") or "/" in what or Path(what).is_file()


async def _asked(config: Config, name: str) -> Sequence[Json]:
    """The definitions of a server's tools, by the names that models know. Raises `NotFound`, `CtxtuiError`."""
    found, leave = _configured(config)
    server = _named(found, name)
    if not leave.is_allowed(server):
        raise CtxtuiError(
            f"the MCP server {name} was not allowed yet: {server.description}",
            place=server.place,
            way_out=f"`ctxtui mcp allow {name}` lets it start as it is now",
        )
    pool = ServerPool([server], leave, log_dir() / "mcp", key_over_http=config.settings.key_over_http)
    one = pool.connection(name)
    try:
        await one.start()
        if one.state != ServerState.READY:
            raise CtxtuiError(f"the MCP server {name} does not start: {one.error}")
        return pool.definitions([name])
    finally:
        await pool.close()


def _configured(config: Config) -> tuple[list[McpServer], ServerPermissions]:
    return load_servers(config, Path.cwd()), ServerPermissions(data_dir(config.settings.data_dir))


def _named(found: Sequence[McpServer], name: str) -> McpServer:
    server = next((one for one in found if one.name == name), None)
    if server is None:
        names = ", ".join(one.name for one in found) or "none"
        raise NotFound(f"no MCP server {name!r}", way_out=f"there are {names}; a file of tools ends in .json")
    return server


def _server_json(one: McpServer, leave: ServerPermissions) -> dict[str, Any]:
    return {
        "name": one.name,
        "transport": "sse" if one.sse else "http" if one.url else "stdio",
        "starts": one.description,
        "enabled": one.enabled,
        "allowed": leave.is_allowed(one),
        "place": one.place,
        "project": one.project or None,
    }


def _sizes_json(found: DefinitionSizes, what: str, most: int | None) -> dict[str, Any]:
    tools = [
        {"name": t.name, "tokens": round(t.tokens), "slack": round(t.slack), "bytes": t.bytes} for t in found.tools
    ]
    return {
        "source": what,
        **members(found, "model tokens slack"),
        "max": most,
        "tools": tools,
    }


def _print(found: DefinitionSizes) -> None:
    for tool in found.tools:
        write(f"{round(tool.tokens):>7,}  {one_line(tool.name, 100)}")
    count = len(found.tools)
    told = "1 tool" if count == 1 else f"{count:,} tools"
    write(f"{found.tokens:>7,}  ±{found.slack:,} tokens of every request: {told}, as {found.model} counts")


SERVER, TOOL = "server", "tool"


def tell(settings: Settings, folder: Path | None, since: float | None, by: str, *, every: bool, as_json: bool) -> None:
    """Print the ledger of the sessions in `folder` (None: all of the user's), of calls not older than `since` seconds;
    one row for each of what `by` says, of tools without a server's name too where `every` is set."""
    now = time.time()
    known = known_sessions(settings, folder)
    found = tools_ledger(known, now - since if since is not None else 0.0)
    servers = found.servers if every else view.of_mcp(found.servers)
    failed = [one for one in known if one.error and not is_empty(one)]
    if as_json:
        write_json(
            {
                "sessions": found.sessions,
                "sessions_without_definitions": found.unrecorded,
                "since_seconds": since,
                "servers": [_ledger_json(one, tools=by == TOOL) for one in servers],
                "failed": [{"file": one.path, "error": one.error} for one in failed],
            }
        )
    else:
        _print_ledger(Painter(settings.glyphs), found, servers, now, tools=by == TOOL)
    for one in failed:
        note(f"{one.path}: {one.error}")


def _print_ledger(
    painter: Painter, found: ToolsLedger, servers: list[LedgerServer], now: float, *, tools: bool
) -> None:
    words = "".join(span.text for span in view.told(found.sessions, found.unrecorded))
    painter.lines(rule("tools", words))
    rows = view.rows(servers, tools=tools)
    if rows:
        painter.lines(table_lines(view.table(now, mark=0), rows, width()))
    else:
        note("no session has a tool of an MCP server; --all lists every tool")


def _ledger_json(one: LedgerServer, *, tools: bool) -> dict[str, Any]:
    own: dict[str, Any] = {"name": one.name or None, "mcp": one.mcp, "tool_count": len(one.tools), **_figures(one)}
    return {**own, "tools": [_tool_json(tool) for tool in one.tools]} if tools else own


def _tool_json(one: LedgerTool) -> dict[str, Any]:
    seen = members(one, "sessions used_in sessions_without_definition=unrecorded")
    return {"name": one.name or None, "state": one.state, **seen, **_figures(one)}


def _figures(one: LedgerServer | LedgerTool) -> dict[str, Any]:
    return members(
        one,
        "schema_tokens=tokens carried_calls=carried schema_usd unpriced_calls=unpriced called "
        "result_tokens=results use_usd last_used? verdict reason",
    )
