"""`ctxtui mcp serve`: ctxtui as an MCP server, for an agent to inspect its own context."""

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
from ctxtui.services.config.extras import import_extra
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.project.attachments import list_named_files
from ctxtui.store.store import Store

if TYPE_CHECKING:
    from mcp.server import MCPServer

RUN, STAGE = "run", "stage"
CTXTUI = (sys.executable, "-P", "-m", "ctxtui")
"""``-P`` ignores Python modules in the current directory."""
AUTHOR: Final = "agent"
TIMEOUT_SECONDS: Final = 120.0
RUN_TIMEOUT_SECONDS: Final = 3600.0
"""Seconds for a task of an agent."""
GRACE_SECONDS: Final = 5.0
"""Seconds for a cancelled command to close its recording."""
_INSTRUCTIONS: Final = (
    "ctxtui reads recordings of agents and shows what is in their context, what it costs, and what the prompt cache "
    "does. `session` is a file, a session's id, or `last`: the newest session of the directory that the server was "
    "started in, which is most likely yours. Figures are in tokens and US dollars; ± is a 90 % interval."
)
_STAGING: Final = (
    " `blocks` lists the blocks of your context by name; `stage` proposes to pin or drop some. The user sees what you "
    "staged, with its price, and may apply it: until then nothing changes."
)


@click.command("serve")
@click.option(
    "--allow",
    type=click.Choice([RUN, STAGE]),
    multiple=True,
    help="stage: let it propose edits, which you may apply; run: let it run tasks with an agent, which costs money.",
)
@click.option(
    "--server",
    "servers",
    metavar="NAME",
    multiple=True,
    help="With --allow run: an MCP server that tasks may use (default: all enabled), or a pattern; repeatable.",
)
@click.option("--json", is_flag=True, hidden=True, help="Nothing is printed: standard output is the protocol's.")
@click.pass_context
def serve(context: click.Context, allow: tuple[str, ...], servers: tuple[str, ...], json: bool) -> None:
    """Serve MCP over standard input and output, for an agent to inspect its own context.

    It can ask for the context's composition, dead weight, next call and pins, search all sessions, and recall
    externalized blocks.

    Read-only, unless --allow permits more.

    \b
    Example: claude mcp add ctxtui -- ctxtui mcp serve
    Example: ctxtui mcp serve --help
    """
    server_for(config_of(context).settings, frozenset(allow), servers).run("stdio")


def server_for(settings: Settings, allowed: Collection[str] = (), servers: Sequence[str] = ()) -> MCPServer:
    """Make the server.

    - `allowed`: `STAGE` lets clients propose edits, `RUN` lets them run tasks with an agent.
    - `servers`: MCP servers for those tasks (none: all enabled ones).
    """
    import_extra("mcp")
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
        """Show the contents of a context by category.

        Also lists the heaviest blocks and the provider's report. `call` is the number of a call, 0 for the newest.
        """
        return await _run_command("show", *(("--call", str(call)) if call > 0 else ()), "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def dead_weight(session: str = "last") -> str:
        """List the blocks of the newest context by carry.

        Carry is tokens times the calls that contained a block.
        """
        return await _run_command("show", "--heaviest", "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def repeats(session: str = "last") -> str:
        """List duplicate content in the context, with the tokens that removing it would free."""
        return await _run_command("show", "--repeats", "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def next_call(session: str = "last") -> str:
        """Show what the next request would read from the prompt cache, and why earlier ones missed."""
        return await _run_command("cache", "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def ahead(session: str = "last", turns: int = 10) -> str:
        """Forecast the next turns: when the context reaches its limits, costs, what would help."""
        return await _run_command("preflight", "--turns", str(max(1, min(turns, 1000))), "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def pins(session: str = "last") -> str:
        """List the blocks that the user pinned, in all threads: they must not be lost."""
        return await _run_command("edits", "pins", "--", session)

    @app.tool(annotations=reads, structured_output=False)
    async def blocks(session: str = "last") -> str:
        """List the blocks of a context by name, heaviest first, with their tokens.

        The edits that are staged or applied follow, with their effect.
        """
        return await _run_command("edits", "stage", "--blocks", "--", session)


def _add_library(app: MCPServer, settings: Settings) -> None:
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations

    reads = ToolAnnotations(read_only_hint=True)

    @app.tool(annotations=reads, structured_output=False)
    async def search(query: str, session: str = "", limit: int = 20) -> str:
        """Find a text in the blocks of every session on this machine, or of one session."""
        where = ("--session", session) if session else ()
        return await _run_command("search", *where, "--limit", str(max(1, min(limit, 200))), "--", query)

    @app.tool(annotations=reads, structured_output=False)
    async def recall(name: str) -> str:
        """Read a block that was moved out of the context, by the name in its {{REF:name}}."""
        try:
            return await asyncio.to_thread(read_artifact, name.removeprefix("{{REF:").removesuffix("}}"), settings)
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
        """Propose edits of a session's next request, which the user may apply.

        Name blocks as the tool ``blocks`` does: to drop, to pin through every compaction, to truncate to head and
        tail, or to externalize, which leaves one line in their place. The user sees the proposal and its price;
        edits that the user reverted stay reverted. Returns what is staged now, what it frees, breaks and costs, and
        what was not changed and why.
        """
        kinds = {"drop": drop, "pin": pin, "truncate": truncate, "externalize": externalize}
        edit_options = [f"--{kind}={name}" for kind, names in kinds.items() for name in names or ()]
        return await _run_command("edits", "stage", *edit_options, "--author", AUTHOR, "--", session, both=True)

    @app.tool(structured_output=False)
    async def unstage(session: str = "last") -> str:
        """Withdraw everything that you proposed and the user has not applied yet."""
        return await _run_command("edits", "stage", "--take-back", "--author", AUTHOR, "--", session, both=True)


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
        """Let an agent do a task in this directory, with the tools that the user configured.

        It also has the tools of the MCP servers named in `servers` (none: all that the user allows). Tools that need
        permission are refused. Returns JSON with the result and metadata.
        """
        chosen = servers or allowed
        refused = [name for name in chosen if allowed and not any(fnmatchcase(name, pattern) for pattern in allowed)]
        if refused:
            raise ToolError(f"tasks may use only {', '.join(allowed)}, not {', '.join(refused)}")
        here = Path.cwd().resolve()
        outside = [name for name, place in list_named_files(task, here) if not place.resolve().is_relative_to(here)]
        if outside:
            raise ToolError(f"a task may attach only files of this directory, not {', '.join(outside)}")
        options = [f"--server={name}" for name in chosen]
        options += [f"--max-rounds={max_rounds}", f"--max-tokens={max_tokens}"]
        options += [f"--max-context-messages={max_context_messages}"]
        options += [f"--max-tool-result-length={max_tool_result_length}"]
        return await _run_command("run", *options, "--json", "--", task, seconds=RUN_TIMEOUT_SECONDS)


async def _run_command(*arguments: str, seconds: float = TIMEOUT_SECONDS, both: bool = False) -> str:
    """The output of a ctxtui command, with its notes if `both`, or its error. It is stopped after `seconds`."""
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
        await asyncio.shield(_stop(process))
    return (out + err if both else out or err).decode("utf-8", "replace").strip() or "(nothing)"


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await process.wait()
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def read_artifact(name: str, settings: Settings) -> str:
    """The artifact of the newest session that has it, of those not archived. Raises `NotFound`."""
    path = database(settings.data_dir)
    if path.exists():
        with Store.open(path, readonly=True) as store:
            for row in store.sessions():
                with suppress(NotFound):
                    return store.artifact(row.id, name).decode("utf-8", "replace")
    raise NotFound(f"nothing is stored under {name!r}", place=str(path))
