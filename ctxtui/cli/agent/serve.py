"""`ctxtui mcp serve`: ctxtui as an MCP server, so that any agent can ask for its own context. It only reads, unless the
user allows more.

Each tool answers with what the command of the same purpose prints: one figure, one source.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ctxtui import __version__
from ctxtui.cli.context import config_of
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.project.attachments import list_named_files
from ctxtui.store.store import Store

if TYPE_CHECKING:
    from mcp.server import MCPServer

RUN, STAGE = "run", "stage"
CTXTUI = (sys.executable, "-P", "-m", "ctxtui")
AUTHOR: Final = "agent"
"""Who stages what an agent asks for, as the edit log says."""
_SECONDS: Final = 120.0
_RUN_SECONDS: Final = 3600.0
_GRACE: Final = 5.0
"""Seconds that a command has to close its record, once nobody waits for it any more."""
_INSTRUCTIONS: Final = (
    "ctxtui reads recordings of agents and says what is in their context, what it costs, what the prompt cache does. "
    "`session` is a file, a session's id, or `last`: the newest session of the directory that the server was started "
    "in, which is most likely yours. Figures are in tokens and US dollars; ± is a 90 % interval."
)
_STAGING: Final = (
    " `blocks` names the blocks of your context; `stage` proposes to pin or drop some. The user sees what you staged, "
    "with its price, and applies it or not: until then nothing changes."
)


@click.command("serve")
@click.option(
    "--allow",
    type=click.Choice([RUN, STAGE]),
    multiple=True,
    help="stage: also propose edits, which you then apply or not; run: also do tasks with an agent, which costs money.",
)
@click.option(
    "--server",
    "servers",
    metavar="NAME",
    multiple=True,
    help="With --allow run: the only MCP servers that a task may use, or patterns; repeatable.",
)
@click.option("--json", is_flag=True, hidden=True, help="Nothing is printed: standard output is the protocol's.")
@click.pass_context
def serve(context: click.Context, allow: tuple[str, ...], servers: tuple[str, ...], json: bool) -> None:
    """Serve MCP over standard input and output: an agent asks for its own composition, dead weight, next call, pins,
    searches all sessions, and recalls what was put outside.

    Everything only reads, unless --allow says more.

    \b
    Example: claude mcp add ctxtui -- ctxtui mcp serve
    Example: ctxtui mcp serve --help
    """
    server_for(config_of(context).settings, frozenset(allow), servers).run("stdio")


def server_for(settings: Settings, allowed: Collection[str] = (), servers: Sequence[str] = ()) -> MCPServer:
    """The server. Where `RUN` is `allowed`, tasks can be given to a headless agent with these MCP `servers` (none:
    those that are enabled), where `STAGE` is, edits can be proposed."""
    from mcp.server import MCPServer

    instructions = _INSTRUCTIONS + (_STAGING if STAGE in allowed else "")
    app = MCPServer("ctxtui", instructions=instructions, version=__version__, log_level="ERROR")
    _add_context(app)
    _add_library(app, settings)
    if STAGE in allowed:
        _add_staging(app)
    if RUN in allowed:
        _add_run(app, servers)
    return app


def _add_context(app: MCPServer) -> None:
    from mcp.types import ToolAnnotations

    reads = ToolAnnotations(read_only_hint=True)

    @app.tool(annotations=reads, structured_output=False)
    async def composition(session: str = "last", call: int = 0) -> str:
        """What a context holds: tokens by category, the heaviest blocks, what the provider reported. `call` is the
        number of a call, 0 for the newest."""
        return await _told("show", *(("--call", str(call)) if call > 0 else ()), "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def dead_weight(session: str = "last") -> str:
        """The blocks that cost most over the session: tokens times the calls that they stayed in the context."""
        return await _told("show", "--heaviest", "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def repeats(session: str = "last") -> str:
        """What stands in the context more than once, with the tokens that could go."""
        return await _told("show", "--repeats", "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def next_call(session: str = "last") -> str:
        """What the next request would read from the prompt cache, and why earlier ones missed."""
        return await _told("cache", "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def ahead(session: str = "last", turns: int = 10) -> str:
        """What the next turns bring: when the context meets its limits, what they cost, what would help."""
        return await _told("preflight", "--turns", str(max(1, min(turns, 1000))), "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def pins(session: str = "last") -> str:
        """The blocks that the user pinned: what must not be lost."""
        return await _told("pins", "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def blocks(session: str = "last") -> str:
        """The blocks of a context by name, heaviest first, with their tokens; then what is staged or applied there, and
        what that comes to."""
        return await _told("stage", "--blocks", "--", session)


def _add_library(app: MCPServer, settings: Settings) -> None:
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations

    reads = ToolAnnotations(read_only_hint=True)

    @app.tool(annotations=reads, structured_output=False)
    async def search(query: str, session: str = "", limit: int = 20) -> str:
        """Find a text in the blocks of every session on this machine, or of one."""
        where = ("--session", session) if session else ()
        return await _told("search", *where, "--limit", str(max(1, min(limit, 200))), "--", query)

    @app.tool(annotations=reads, structured_output=False)
    async def recall(name: str) -> str:
        """Read back what was put outside of a conversation, by the name in its {{REF:name}}."""
        try:
            return await asyncio.to_thread(recalled, name.removeprefix("{{REF:").removesuffix("}}"), settings)
        except CtxtuiError as error:
            raise ToolError(str(error)) from None


def _add_staging(app: MCPServer) -> None:
    @app.tool(name=STAGE, structured_output=False)
    async def stage_(
        session: str = "last",
        drop: list[str] | None = None,
        pin: list[str] | None = None,
        truncate: list[str] | None = None,
        externalize: list[str] | None = None,
    ) -> str:
        """Propose edits of a session's next request: blocks (named as `blocks` names them) to leave out, to keep
        through every compaction, to keep head and tail of, to put outside with a line in their place. The user sees
        the proposal and its price, and applies it or not; what the user took back stays so. Answers with what is
        staged now, what it frees, breaks and costs, and what stays as it is and why."""
        kinds = {"drop": drop, "pin": pin, "truncate": truncate, "externalize": externalize}
        wanted = [f"--{kind}={name}" for kind, names in kinds.items() for name in names or ()]
        return await _told("stage", *wanted, "--author", AUTHOR, "--", session, both=True)

    @app.tool(structured_output=False)
    async def unstage(session: str = "last") -> str:
        """Take back everything that you proposed and the user has not applied yet."""
        return await _told("stage", "--take-back", "--author", AUTHOR, "--", session, both=True)


def _add_run(app: MCPServer, allowed: Sequence[str]) -> None:
    from mcp.server.mcpserver.exceptions import ToolError

    @app.tool(name=RUN, structured_output=False)
    async def run_(
        task: str,
        max_rounds: int = 100,
        max_tokens: str = "auto",
        max_context_messages: int = 10,
        max_tool_result_length: int = 2000,
        servers: list[str] | None = None,
    ) -> str:
        """Let an agent do a task in this directory, with the tools that the user configured and the MCP servers named
        in `servers` (none: all that the user lets it have). What asks for leave is refused. Answers with JSON: result,
        and metadata of how it came about."""
        chosen = servers or allowed
        strange = [name for name in chosen if allowed and not any(fnmatchcase(name, one) for one in allowed)]
        if strange:
            raise ToolError(f"the user lets tasks use {', '.join(allowed)} only, not {', '.join(strange)}")
        here = Path.cwd().resolve()
        outside = [name for name, place in list_named_files(task, here) if not place.resolve().is_relative_to(here)]
        if outside:
            raise ToolError(f"a task takes files of this directory along, not {', '.join(outside)}")
        limits = ("--max-rounds", str(max_rounds), "--max-tokens", max_tokens)
        kept = ("--max-context-messages", str(max_context_messages))
        cut = ("--max-tool-result-length", str(max_tool_result_length))
        with_ = [f"--server={name}" for name in chosen]
        return await _told("run", *limits, *kept, *cut, *with_, "--json", "--", task, seconds=_RUN_SECONDS)


async def _told(*arguments: str, seconds: float = _SECONDS, both: bool = False) -> str:
    """What a command of ctxtui prints, with `both` also what it notes. What goes wrong with it is what is told. Who is
    cancelled while it waits here ends it; it has a few seconds to close its record."""
    process = await asyncio.create_subprocess_exec(
        *CTXTUI,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    except TimeoutError:
        return f"ctxtui {arguments[0]} took longer than {seconds:g} seconds"
    finally:
        await asyncio.shield(_ended(process))
    return (out + err if both else out or err).decode("utf-8", "replace").strip() or "(nothing)"


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await process.wait()
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def recalled(name: str, settings: Settings) -> str:
    """What is kept under `name` by the newest session that has it. Raises `NotFound`."""
    path = database(settings.data_dir)
    if path.exists():
        with Store.open(path, readonly=True) as store:
            rows = sorted(store.sessions(), key=lambda row: row.ended or row.imported or 0, reverse=True)
            for row in rows:
                with suppress(NotFound):
                    return store.artifact(row.id, name).decode("utf-8", "replace")
    raise NotFound(f"nothing is kept under {name!r}", place=str(Path(path)))
