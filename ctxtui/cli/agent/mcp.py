"""`ctxtui mcp`: the configured MCP servers, and the tokens their tools add to every request."""

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
from ctxtui.providers.endpoint import ANTHROPIC, GOOGLE, RESPONSES
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
from ctxtui.views.text import numbers
from ctxtui.views.text.safe_text import one_line


@click.group("mcp", invoke_without_command=True)
@click.option(
    "--in",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Only recordings in FOLDER and its subfolders.",
)
@click.option("--since", type=Age(), metavar="AGE", help="Only calls within an age: 7d, 12h ...")
@click.option("--by", type=click.Choice(["server", "tool"]), default="tool", help="One row for each (default: tool).")
@click.option("--all", "every", is_flag=True, help="Also built-in tools, and tools without an MCP server.")
@JSON_OPTION
@click.pass_context
def mcp(context: click.Context, folder: Path | None, since: float | None, by: str, every: bool, as_json: bool) -> None:
    """Without a subcommand: print the tool ledger over all sessions.

    For each MCP server and tool: the tokens, calls and money its definitions took, how often it was called, and
    whether to keep, defer or drop it. Sessions are read once and cached.

    Servers are set in your configuration ([mcp.NAME] with command and args, or url). A project's servers (in its
    ctxtui.toml or .mcp.json) start only after you allow them; a changed server must be allowed again.

    \b
    Example: ctxtui mcp --since 30d
    Example: ctxtui mcp size tools.json --max 5000
    """
    if context.invoked_subcommand is None:
        print_ledger(config_of(context).settings, folder, since, by, every=every, as_json=as_json)


mcp.add_command(serve)


@mcp.command("list")
@JSON_OPTION
@click.pass_context
def list_(context: click.Context, as_json: bool) -> None:
    """List the configured servers, and whether they may start. Nothing is started."""
    configured, permissions = _load_servers(config_of(context))
    if as_json:
        write_json({"servers": [_server_to_json(server, permissions) for server in configured]})
        return
    if not configured:
        note("no MCP server is configured; add [mcp.NAME] to your configuration, or use a project's .mcp.json")
    for server in configured:
        state = "off" if not server.enabled else "on" if permissions.is_allowed(server) else "asks"
        write(f"{state:<5} {one_line(server.name, 40):<20} {one_line(server.description, 400)}")
        if state == "asks":
            note(f"{server.name} (from {server.place}) may not start yet: run `ctxtui mcp allow {server.name}`")


@mcp.command("allow")
@click.argument("names", metavar="SERVER...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1): the servers.")
@click.pass_context
def allow(context: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Allow a project's servers to start as they are now.

    A changed server must be allowed again.
    """
    configured, permissions = _load_servers(config_of(context))
    servers = [_find_server(configured, name) for name in names]
    for server in servers:
        if server.project:
            permissions.allow(server)
            note(f"{server.name} of {server.place} may start: {server.description}")
        else:
            note(f"{server.name} is your own ({server.place}): it needs no permission")
    if as_json:
        write_json({"servers": [_server_to_json(server, permissions) for server in servers]})


@mcp.command("size")
@click.argument("source", metavar="SERVER|FILE")
@click.option("--model", metavar="ID", default="", help="Count as this model does (default: the setting, else Claude).")
@click.option("--max", "most", type=click.IntRange(min=0), metavar="N", help="Exit with 8 above N tokens; for CI.")
@JSON_OPTION
@click.pass_context
def size(context: click.Context, source: str, model: str, most: int | None, as_json: bool) -> int:
    """Count the tokens that the tools of SERVER, or those in a JSON file, add to every request.

    The server is started to list its tools; nothing is sent to a model. A file has a server's tool list, or tools in
    Anthropic's or OpenAI's format.

    \b
    Example: ctxtui mcp size github --model claude-sonnet-5-5
    Example: ctxtui mcp size tools.json --json
    """
    config = config_of(context)
    definitions = read_definitions(Path(source)) if _is_file(source) else asyncio.run(_list_definitions(config, source))
    model = model or config.settings.model or DEFAULT_MODELS["anthropic"]
    dialect = {"openai": RESPONSES, "google": GOOGLE}.get(" ".join(providers_of(model)), ANTHROPIC)
    with cached_counter(config.settings) as counter:
        definition_sizes = measure_definitions(definitions, model, dialect, config.settings, counter)
    is_over = most is not None and definition_sizes.tokens > most
    write_json(_sizes_to_json(definition_sizes, source, most)) if as_json else _print(definition_sizes)
    if is_over:
        note(f"{definition_sizes.tokens:,} tokens exceed the limit of {most:,}")
    return exit_codes.FAILED.number if is_over else exit_codes.OK.number


def _is_file(source: str) -> bool:
    return source.endswith(".json") or "/" in source or Path(source).is_file()


async def _list_definitions(config: Config, name: str) -> Sequence[Json]:
    """Definitions with the names that models see."""
    configured, permissions = _load_servers(config)
    server = _find_server(configured, name)
    if not permissions.is_allowed(server):
        raise CtxtuiError(
            f"the MCP server {name} is not allowed yet: {server.description}",
            place=server.place,
            way_out=f"run `ctxtui mcp allow {name}`",
        )
    pool = ServerPool([server], permissions, log_dir() / "mcp", key_over_http=config.settings.key_over_http)
    connection = pool.connection(name)
    reporting = asyncio.create_task(pool.report_starting(note))
    try:
        await connection.start()
        if connection.state != ServerState.READY:
            raise CtxtuiError(f"the MCP server {name} did not start: {connection.error}")
        return pool.definitions([name])
    finally:
        reporting.cancel()
        await pool.close()


def _load_servers(config: Config) -> tuple[list[McpServer], ServerPermissions]:
    return load_servers(config, Path.cwd()), ServerPermissions(data_dir(config.settings.data_dir))


def _find_server(configured: Sequence[McpServer], name: str) -> McpServer:
    server = next((server for server in configured if server.name == name), None)
    if server is None:
        names = ", ".join(server.name for server in configured) or "none"
        raise NotFound(f"no MCP server {name!r}", way_out=f"configured: {names}")
    return server


def _server_to_json(server: McpServer, permissions: ServerPermissions) -> dict[str, Any]:
    return {
        "name": server.name,
        "transport": "sse" if server.sse else "http" if server.url else "stdio",
        "starts": server.description,
        "enabled": server.enabled,
        "allowed": permissions.is_allowed(server),
        "place": server.place,
        "project": server.project or None,
    }


def _sizes_to_json(definition_sizes: DefinitionSizes, source: str, most: int | None) -> dict[str, Any]:
    tools = [
        {"name": t.name, "tokens": round(t.tokens), "slack": round(t.slack), "bytes": t.bytes}
        for t in definition_sizes.tools
    ]
    return {"source": source, **members(definition_sizes, "model tokens slack"), "max": most, "tools": tools}


def _print(definition_sizes: DefinitionSizes) -> None:
    for tool in definition_sizes.tools:
        write(f"{round(tool.tokens):>7,}  {one_line(tool.name, 100)}")
    tool_count = numbers.many(len(definition_sizes.tools), "tool")
    write(
        f"{definition_sizes.tokens:>7,}  ±{definition_sizes.slack:,} tokens in every request: {tool_count}, "
        f"counted for {definition_sizes.model}"
    )


def print_ledger(
    settings: Settings, folder: Path | None, since: float | None, by: str, *, every: bool, as_json: bool
) -> None:
    """Print the tool ledger of the sessions in `folder` (None: all of the user's).

    `by`: ``server`` or ``tool``, one row for each; `every`: also tools of no MCP server.
    """
    now = time.time()
    sessions = known_sessions(settings, folder)
    ledger = tools_ledger(sessions, now - since if since is not None else 0.0)
    servers = ledger.servers if every else view.mcp_servers(ledger.servers)
    failed = [item for item in sessions if item.error and not is_empty(item)]
    if as_json:
        write_json(
            {
                "sessions": ledger.sessions,
                "sessions_without_definitions": ledger.unrecorded,
                "since_seconds": since,
                "servers": [_ledger_to_json(item, tools=by == "tool") for item in servers],
                "failed": [{"file": item.path, "error": item.error} for item in failed],
            }
        )
    else:
        _print_ledger(Painter(settings.glyphs), ledger, servers, now, tools=by == "tool")
    for item in failed:
        note(f"{item.path}: {item.error}")


def _print_ledger(
    painter: Painter, ledger: ToolsLedger, servers: list[LedgerServer], now: float, *, tools: bool
) -> None:
    coverage = "".join(span.text for span in view.coverage_note(ledger.sessions, ledger.unrecorded))
    painter.lines(rule("tools", coverage))
    rows = view.rows(servers, tools=tools)
    if rows:
        painter.lines(table_lines(view.table(now, mark=0), rows, width()))
    else:
        note("no session has a tool of an MCP server; --all lists every tool")


def _ledger_to_json(server: LedgerServer, *, tools: bool) -> dict[str, Any]:
    fields = {**members(server, "name? mcp"), "tool_count": len(server.tools), **_figures_to_json(server)}
    return {**fields, "tools": [_tool_to_json(tool) for tool in server.tools]} if tools else fields


def _tool_to_json(tool: LedgerTool) -> dict[str, Any]:
    usage = members(tool, "sessions used_in sessions_without_definition=unrecorded")
    return {"name": tool.name or None, "state": tool.state, **usage, **_figures_to_json(tool)}


def _figures_to_json(row: LedgerServer | LedgerTool) -> dict[str, Any]:
    return members(
        row,
        "schema_tokens=tokens carried_calls=carried schema_usd unpriced_calls=unpriced called "
        "result_tokens=results use_usd last_used? verdict reason",
    )
