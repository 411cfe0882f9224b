"""The part of a chat's screen about MCP servers: which are offered, at what price; logs, resources, prompts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from ctxtui.agent.conversation import Draft
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.chat.host import Host
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


Compare = Callable[[Sequence["Draft"]], Awaitable[list["RequestForecast | None"]]]
"""Foretells several requests that could be the next one."""
Work = Callable[[], Coroutine[Any, Any, None]]
_YES_NO = (("y", "yes"), ("n", "no"))


class ServersController(ChatController):
    """Acts on the MCP servers of the chat. `compare` foretells requests, `put` puts a text into the prompt, `pager` is
    the user's setting."""

    def __init__(
        self,
        state: ChatState,
        prompt: SessionPrompt,
        access: ScreenAccess,
        compare: Compare,
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
        """Everything about the servers, to choose from."""
        from ctxtui.tui.dialogs.command_palette import PaletteScreen

        pool = self._pool
        if pool is None or not pool.connections:
            self.say([Span("no MCP server is configured: [mcp.NAME] in your configuration (docs/mcp.md)", "dim")])
            return
        works: dict[str, Work] = {}
        entries: list[type[Command]] = []
        for name, about, work in self._entries(pool):
            action = f"mcp{len(works)}"
            works[action] = work
            named = {"name": safe_text.one_line(name, 80), "action": action, "__doc__": safe_text.one_line(about, 200)}
            entries.append(type("Server", (Command,), named))

        def run(command: type[Command] | None) -> None:
            if command is not None:
                self.access.run(self._done(works[command.action]), "mcp")

        self.access.push(PaletteScreen(entries, title="MCP servers"), run)

    def _entries(self, pool: ServerPool) -> list[tuple[str, str, Work]]:
        found: list[tuple[str, str, Work]] = []
        for name, one in pool.connections.items():
            on = name in pool.offered
            verb = (
                "offer no longer"
                if on
                else "offer its tools"
                if pool.permissions.is_allowed(one.server)
                else "let it start"
            )
            found.append((f"{name}: {verb}", _about(one, on), self._turned(one, not on)))
        for name, one in pool.connections.items():
            found.append((f"{name}: log", "what it wrote to standard error", self._log(one)))
            for resource in one.resources:
                found.append(
                    (f"{name}: {resource.name}", f"resource: {resource.about}", self._resource(one, resource.name))
                )
            for prompt in one.prompts:
                about = f"prompt: {prompt.about}" + "".join(f" <{argument}>" for argument in prompt.arguments)
                found.append((f"{name}: /{prompt.name}", about, self._prompt(one, prompt.name, prompt.arguments)))
        return found

    async def _done(self, work: Work) -> None:
        try:
            await work()
        except CtxtuiError as error:
            self.prompt.refuse(safe_text.one_line(str(error), 300))

    # Offering

    def _turned(self, one: ServerConnection, on: bool) -> Work:
        """Ask, with what it does to the next request, then do it."""

        async def work() -> None:
            pool = self._pool
            assert pool is not None
            if on and not pool.permissions.is_allowed(one.server):
                told = f"start this? {one.server.description} (of {one.server.place})"
                self._ask(told, lambda: self._allow(one))
                return
            await self._offer(one, on)

        return work

    async def _allow(self, one: ServerConnection) -> None:
        pool = self._pool
        if pool is not None:
            pool.permissions.allow(one.server)
        await self._offer(one, True)

    async def _offer(self, one: ServerConnection, on: bool) -> None:
        pool, name = self._pool, one.server.name
        assert pool is not None
        if on:
            self.say([Span(f"{safe_text.one_line(name, 40)} is being started", "dim")])
            await one.start()
            if one.state != ServerState.READY:
                raise CtxtuiError(f"the MCP server {name} does not start: {one.error}")
        then = pool.offered | {name} if on else pool.offered - {name}
        drafts = [self.host.draft_with(pool.offered), self.host.draft_with(then)]
        asked = [draft for draft in drafts if draft is not None]
        found = await self._compare(asked) if len(asked) == len(drafts) else [None, None]
        count = len(one.tools)
        what = f"{name}: {'offer' if on else 'take back'} {count:,} tool{'s' if count != 1 else ''}?"
        self._ask(f"{what}{_effect(found[0], found[1])}", lambda: self._turn(name, on))

    async def _turn(self, name: str, on: bool) -> None:
        told = await self.host.offer_server(name, on)
        self.say([Span("● ", "ok"), Span(safe_text.one_line(told, 200), "dim")])
        self.state.grow_soon()

    def _ask(self, told: str, work: Work) -> None:
        lead = [Span(" ? ", "warn bold")]
        for key, words in _YES_NO:
            lead += [Span(key, "accent bold"), Span(f" {words}  ", "dim")]
        lead.append(Span(safe_text.one_line(told, 400)))

        def answered(key: str) -> None:
            if key == "y":
                self.access.run(self._done(work), "mcp")

        self.prompt.ask(Question(lead, answered, keys=tuple(key for key, _ in _YES_NO)))

    # Reading

    def _log(self, one: ServerConnection) -> Work:
        async def work() -> None:
            from ctxtui.tui.chat.servers import ServerLogScreen

            self.access.push(ServerLogScreen(one, self._pager))

        return work

    def _resource(self, one: ServerConnection, uri: str) -> Work:
        async def work() -> None:
            self._put(await one.read_resource(uri))

        return work

    def _prompt(self, one: ServerConnection, name: str, wanted: Sequence[str]) -> Work:
        """Ask for the arguments one after the other; the text then stands in the prompt."""
        given: dict[str, str] = {}

        async def work() -> None:
            left = [argument for argument in wanted if argument not in given]
            if not left:
                self._put(await one.read_prompt(name, given))
                return
            lead: Spans = [Span(f" {safe_text.one_line(left[0], 40)} › ", "accent bold")]

            def typed(text: str) -> None:
                given[left[0]] = text
                self.access.run(self._done(work), "mcp")

            self.prompt.ask(Question(lead, typed))

        return work


def _about(one: ServerConnection, on: bool) -> str:
    """How a server is doing."""
    told = f"{one.state.value}{': ' if one.error else ''}{one.error}"
    count = len(one.tools)
    tools = f" · {count:,} tools{' offered' if on else ''}" if count else ""
    return f"{told}{tools} · {one.server.description}"


def _effect(now: RequestForecast | None, then: RequestForecast | None) -> str:
    """What a change does to the next request: its tokens, what the cache no longer gives, money."""
    if now is None or then is None:
        return ""
    told = f" {numbers.signed(then.total - now.total)} a request"
    lost = now.read - then.read
    if lost > 0:
        told += f", {numbers.tokens(lost)} leave the cache"
    if now.usd is not None and then.usd is not None:
        told += f", next {numbers.signed_money(then.usd - now.usd)}"
    return told


def missing(host: Host) -> Spans:
    """Which servers are not there, for when the chat begins."""
    pool = host.tools.servers if host.tools is not None else None
    if pool is None:
        return []
    found = [Span(f"; MCP server {one.server.name}: {one.error}", "warn") for one in pool.failed]
    if pool.unallowed:
        names = ", ".join(server.name for server in pool.unallowed)
        found.append(Span(f"; this project's MCP servers wait for your leave: {names} (^p MCP servers)", "warn"))
    return found


_LONGEST = 2_000


class PageLog(Command):
    """Read the log in $PAGER, its long lines whole."""

    name, keys, label, group = "log in pager", ("o",), "pager", "lists"
    run = Act(lambda: ServerLogScreen, lambda screen: screen.page())


class ServerLogScreen(ListScreen[str, None]):
    """What the server `one` has written. New lines are shown as they come; the cursor stays at the end where it is
    there, else where it is. `pager` is the user's setting."""

    commands = (PageLog,)
    heading, none, again = "server log", "It has written nothing to standard error.", 0.5

    def __init__(self, one: ServerConnection, pager: str) -> None:
        self._one = one
        self._pager = pager
        super().__init__()

    def load(self) -> Sequence[str]:
        """The lines so far."""
        return self._one.log_text().splitlines()

    def show(self, what: Sequence[str]) -> None:
        """Show these lines, and look again."""
        at_end = self.pane.row_count <= self.pane.cursor + 1
        grown = what != self.rows
        super().show(what)
        if grown and at_end and what:
            self.draw_rows(len(what) - 1)
        self.tell()

    def settled(self, rows: Sequence[str]) -> bool:
        """It may always write more."""
        return False

    def table(self, rows: Sequence[str]) -> Table[str]:
        """A line each."""
        return Table((Column("", 0, lambda line, _: Span(safe_text.one_line(line, _LONGEST)), "left"),))

    def told(self, rows: Sequence[str]) -> Spans:
        """Whose it is, and how that is doing."""
        name, state = safe_text.one_line(self._one.server.name, 40), self._one.state.value
        return [Span(f"{name} · {state}", "dim")]

    def page(self) -> None:
        """All of it in the pager."""
        try:
            with self.app.suspend():
                show_in_pager(safe_text.lines(self._one.log_text()), self._pager)
        except CtxtuiError as error:
            self.said.say([Span(safe_text.one_line(str(error), 200), "crit")])
        finally:
            self.app.refresh()
