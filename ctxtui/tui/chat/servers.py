"""Manage the MCP servers of a chat: their tools, logs, resources and prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ctxtui.agent.conversation import Draft
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.chat.host import Host
from ctxtui.services.config.mcp_servers import McpServer
from ctxtui.services.external_editor import show_in_pager
from ctxtui.services.mcp.connection import ServerConnection, ServerState
from ctxtui.services.mcp.server_pool import ServerPool
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table

if TYPE_CHECKING:
    from ctxtui.services.chat.request_forecast import RequestForecast


CompareDrafts = Callable[[Sequence[Draft]], Awaitable[list["RequestForecast | None"]]]
"""Forecasts several alternatives for the next request."""
Work = Callable[[], Coroutine[Any, Any, None]]
"""An action on a server; its `CtxtuiError` is shown on the prompt line."""
_YES_NO = (("y", "yes"), ("n", "no"))


class ServersController(ChatController):
    """Manages the chat's MCP servers.

    `compare`: forecasts the next request for several drafts. `put`: adds text to the prompt.
    """

    def __init__(
        self,
        state: ChatState,
        prompt: SessionPrompt,
        access: ScreenAccess,
        compare: CompareDrafts,
        put: Callable[[str], object],
        pager: str,
    ) -> None:
        super().__init__(state, prompt, access)
        self._compare = compare
        self._put = put
        self._pager = pager

    @property
    def _pool(self) -> ServerPool | None:
        return self.host.tools.servers if self.host.tools is not None else None

    def choose(self) -> None:
        from ctxtui.tui.dialogs.command_palette import PaletteScreen

        pool = self._pool
        if pool is None or not pool.connections:
            missing = "no MCP server is configured; add [mcp.NAME] to your configuration (docs/mcp.md)"
            self.show_message([Span("The chat is still starting." if pool is None else missing, "dim")])
            return
        works: dict[str, Work] = {}
        entries: list[type[Command]] = []
        for name, about, work in self._list_actions(pool):
            action = f"mcp{len(works)}"
            works[action] = work
            # The palette lists command classes, so each action becomes one.
            attributes = {
                "name": safe_text.one_line(name, 80),
                "action": action,
                "__doc__": safe_text.one_line(about, 200),
            }
            entries.append(type("Server", (Command,), attributes))

        def run(command: type[Command] | None) -> None:
            if command is not None:
                self.access.run(self._run_work(works[command.action]), "mcp")

        self.access.push(PaletteScreen(entries, title="MCP servers"), run)

    def _list_actions(self, pool: ServerPool) -> list[tuple[str, str, Work]]:
        entries: list[tuple[str, str, Work]] = []
        for name, server in pool.connections.items():
            is_offered = name in pool.offered
            verb = (
                "remove its tools"
                if is_offered
                else "add its tools"
                if pool.permissions.is_allowed(server.server)
                else "start it"
            )
            change_tools = partial(self._change_tools, server, not is_offered)
            entries.append((f"{name}: {verb}", _describe_server(server, is_offered), change_tools))
        for name, server in pool.connections.items():
            entries.append((f"{name}: log", "its output on standard error", partial(self._show_log, server)))
            for resource in server.resources:
                insert = partial(self._insert_resource, server, resource.name)
                entries.append((f"{name}: {resource.name}", f"resource: {resource.about}", insert))
            for prompt in server.prompts:
                about = f"prompt: {prompt.about}" + "".join(f" <{argument}>" for argument in prompt.arguments)
                insert = partial(self._insert_prompt, server, prompt.name, prompt.arguments, {})
                entries.append((f"{name}: /{prompt.name}", about, insert))
        return entries

    async def _run_work(self, work: Work) -> None:
        try:
            await work()
        except CtxtuiError as error:
            self.prompt.refuse(str(error))

    # Offering

    async def _change_tools(self, server: ServerConnection, on: bool) -> None:
        """Add (`on`) or remove a server's tools.

        Ask first whether it may start if it has no permission.
        """
        pool = self._pool
        assert pool is not None
        if on and not pool.permissions.is_allowed(server.server):
            self._ask_start(server)
        else:
            await self._confirm_tools_change(server, on)

    def _ask_start(self, server: ServerConnection) -> None:
        """Ask whether `server` may start; if so, store the permission and go on."""

        async def start() -> None:
            pool = self._pool
            assert pool is not None
            pool.permissions.allow(server.server)
            await self._confirm_tools_change(server, True)

        def on_answer(is_allowed: bool | None) -> None:
            if is_allowed:
                self.access.run(self._run_work(start), "mcp")

        self.access.push(StartServerScreen(server.server), on_answer)

    async def _confirm_tools_change(self, server: ServerConnection, on: bool) -> None:
        """Start a server whose tools are added (`on`), as only then they are known.

        Ask, showing the effect.
        """
        pool, name = self._pool, server.server.name
        assert pool is not None
        if on:
            self.show_message([Span(f"starting {safe_text.one_line(name, 40)}", "dim")])
            reporting = asyncio.create_task(pool.report_starting(self._say_dim))
            try:
                await server.start()
            finally:
                reporting.cancel()
            if server.state != ServerState.READY:
                raise CtxtuiError(f"the MCP server {name} did not start: {server.error}")
        offered = pool.offered | {name} if on else pool.offered - {name}
        alternatives = self.host.draft_with(pool.offered), self.host.draft_with(offered)
        drafts = [draft for draft in alternatives if draft is not None]
        forecasts = await self._compare(drafts) if len(drafts) == len(alternatives) else [None, None]
        what = f"{name}: {'add' if on else 'remove'} {numbers.many(len(server.tools), 'tool')}?"
        self._ask_yes_no(f"{what}{_describe_effect(forecasts[0], forecasts[1])}", lambda: self._set_offered(name, on))

    def _say_dim(self, text: str) -> None:
        self.show_message([Span(safe_text.one_line(text, 400), "dim")])

    async def _set_offered(self, name: str, on: bool) -> None:
        message = await self.host.offer_server(name, on)
        self.show_message([Span("● ", "ok"), Span(safe_text.one_line(message, 200), "dim")])
        self.state.grow_soon()

    def _ask_yes_no(self, question: str, work: Work) -> None:
        lead = [Span(" ? ", "warn bold")]
        for key, words in _YES_NO:
            lead += [Span(key, "accent bold"), Span(f" {words}  ", "dim")]
        lead.append(Span(safe_text.one_line(question, 400)))

        def on_key(pressed: str) -> None:
            if pressed == "y":
                self.access.run(self._run_work(work), "mcp")

        self.prompt.ask(Question(lead, on_key, keys=tuple(key for key, _ in _YES_NO)))

    # Reading

    async def _show_log(self, server: ServerConnection) -> None:
        self.access.push(ServerLogScreen(server, self._pager))

    async def _insert_resource(self, server: ServerConnection, uri: str) -> None:
        self._put(await server.read_resource(uri))

    async def _insert_prompt(
        self, server: ServerConnection, name: str, arguments: Sequence[str], values: dict[str, str]
    ) -> None:
        """Ask for the arguments that have no value, one by one, then put the text into the prompt."""
        missing = [argument for argument in arguments if argument not in values]
        if not missing:
            self._put(await server.read_prompt(name, values))
            return
        lead: Spans = [Span(f" {safe_text.one_line(missing[0], 40)} › ", "accent bold")]

        def on_text(text: str) -> None:
            insert = partial(self._insert_prompt, server, name, arguments, {**values, missing[0]: text})
            self.access.run(self._run_work(insert), "mcp")

        self.prompt.ask(Question(lead, on_text))


def _describe_server(server: ServerConnection, on: bool) -> str:
    state = f"{server.state.value}{': ' if server.error else ''}{server.error}"
    tools = f" · {numbers.many(len(server.tools), 'tool')}{' in use' if on else ''}" if server.tools else ""
    return f"{state}{tools} · {server.server.description}"


def _describe_effect(now: RequestForecast | None, changed: RequestForecast | None) -> str:
    """Describe the change of the next request: tokens, cost, cache; "" without forecasts."""
    if now is None or changed is None:
        return ""
    effect = f" {numbers.signed(changed.total - now.total)} tokens"
    if now.usd is not None and changed.usd is not None:
        effect += f", {numbers.signed_money(changed.usd - now.usd)} next"
    lost = now.read - changed.read
    return effect + (f", breaks {numbers.tokens(lost)} cached" if lost > 0 else "")


def describe_starting_servers(host: Host) -> Spans:
    """Describe the MCP servers that are starting."""
    starting = host.tools.servers.starting if host.tools is not None else []
    if not starting:
        return [Span("starting the MCP servers", "dim")]
    names = ", ".join(connection.server.name for connection in starting)
    awaited: dict[str, list[str]] = {}
    for connection in starting:
        awaited.setdefault(connection.awaited, []).append(connection.server.name)
    parts = [f"{what} ({', '.join(of)})" for what, of in awaited.items()] if len(awaited) > 1 else list(awaited)
    seconds = max(connection.seconds_since_start for connection in starting)
    lines = [f"{connection.server.name}: {line}" for connection in starting if (line := connection.last_log_line)]
    text = "; ".join([f"starting MCP servers {names} ({seconds:.0f} s): {', '.join(parts)}", *lines])
    return [Span(safe_text.one_line(text, 400), "dim")]


def describe_missing_servers(host: Host) -> list[Span]:
    """Describe the servers that failed or need permission, for the start of the chat."""
    pool = host.tools.servers if host.tools is not None else None
    if pool is None:
        return []
    notices = [Span(f"MCP server {server.server.name}: {server.error}", "warn") for server in pool.failed]
    if pool.unallowed:
        names = ", ".join(server.name for server in pool.unallowed)
        notices.append(Span(f"^p MCP servers: this project's need your permission ({names})", "warn"))
    return notices


class StartServer(Command):
    """Allow the server and start it.

    If what it would start changes, permission is needed again.
    """

    name, keys, label, group = "start the server", ("y",), "start it", "lists"
    run = Act(lambda: StartServerScreen, lambda screen: screen.dismiss(True))


class StartServerScreen(ListScreen[tuple[str, str], bool]):
    """Everything that a project's `server` would start, and the question whether it may."""

    commands = (StartServer,)
    heading, empty_text = "start server", ""
    esc_label = "do not start it"
    loads_at_once = True

    def __init__(self, server: McpServer) -> None:
        self._server = server
        super().__init__()

    def load(self) -> Sequence[tuple[str, str]]:
        """Return names and values, long values in several rows."""
        server = self._server
        program = [
            ("command", server.command),
            *(("argument", argument) for argument in server.args),
            *(("variable", f"{name}={value}") for name, value in server.env.items()),
            *([("folder", server.cwd)] if server.cwd else []),
        ]
        remote = [("address", server.url), *(("header", f"{name}: {value}") for name, value in server.headers.items())]
        fields = [("server", server.name), ("from", server.place), *(remote if server.url else program)]
        return [row for name, value in fields for row in _split_value(name, value)]

    def title_suffix(self, rows: Sequence[tuple[str, str]]) -> Spans:
        return [Span("not confined: it can do whatever you can", "dim")] if self._server.command else ()

    def table(self, rows: Sequence[tuple[str, str]]) -> Table[tuple[str, str]]:
        return Table(
            (
                Column("", 10, lambda row, _: Span(row[0], "dim"), "left"),
                Column("", 0, lambda row, _: Span(row[1]), "left"),
            )
        )


_VALUE_CELLS = 60
"""Cells of a value in a row, so that nothing is cut in 80 columns."""


def _split_value(name: str, value: str) -> list[tuple[str, str]]:
    pieces = safe_text.wrap(safe_text.line(value), _VALUE_CELLS)
    return [(name if n == 0 else "", piece) for n, piece in enumerate(pieces)]


_MAX_LINE = 2_000
"""Characters of a log line that are drawn; the pager shows all."""


class PageLog(Command):
    """Read the log in the pager, with long lines complete."""

    name, keys, label, group = "log in pager", ("o",), "pager", "lists"
    run = Act(lambda: ServerLogScreen, lambda screen: screen.page())


class ServerLogScreen(ListScreen[str, None]):
    """The output of `server`, updated as it grows. A cursor at the end follows new lines."""

    commands = (PageLog,)
    heading, empty_text = "server log", "The server has written nothing to standard error."

    def __init__(self, server: ServerConnection, pager: str) -> None:
        self._server = server
        self._pager = pager
        super().__init__()

    def load(self) -> Sequence[str]:
        return self._server.log_text().splitlines()

    def show(self, lines: Sequence[str]) -> None:
        at_end = self.pane.row_count <= self.pane.cursor + 1
        grown = lines != self.rows
        super().show(lines)
        if grown and at_end and lines:
            self.draw_rows(len(lines) - 1)
        self.update_rule()

    def is_final(self, rows: Sequence[str]) -> bool:
        return False

    def table(self, rows: Sequence[str]) -> Table[str]:
        return Table((Column("", 0, lambda line, _: Span(safe_text.one_line(line, _MAX_LINE)), "left"),))

    def title_suffix(self, rows: Sequence[str]) -> Spans:
        name, state = safe_text.one_line(self._server.server.name, 40), self._server.state.value
        return [Span(f"{name} · {state}", "dim")]

    def page(self) -> None:
        try:
            with self.app.suspend():
                show_in_pager(safe_text.lines(self._server.log_text()), self._pager)
        except CtxtuiError as error:
            self.show_message([Span(safe_text.one_line(str(error), 200), "crit")])
        finally:
            self.app.refresh()
