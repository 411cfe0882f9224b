"""The sub-agents of a chat: each a thread of its session, with a context, a turn and limits of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ctxtui.agent.child import AGENT, Caller, ChildResult, ChildTask
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.context_window import windowed
from ctxtui.services.chat.request_edits import Edited
from ctxtui.services.chat.request_forecast import Foreteller, foreteller_for
from ctxtui.services.chat.sub_agents.child_run import ChildRun, MayRetry, MaySpend, free_to_go
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import price_here, prices_for
from ctxtui.services.editing.overlay import ThreadEdits

if TYPE_CHECKING:
    from ctxtui.services.chat.host import Host


AT_ONCE: Final = 16
"""Sub-agents that are at work at the same time; others wait for their turn."""


class Children:
    """Starts the sub-agents of `host`'s chat, once that has begun. `may_spend` says whether a thread may send a
    request, `may_retry` why not a second time, after it broke off ("": it may)."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.may_spend: MaySpend = free_to_go
        self.may_retry: MayRetry = lambda thread: ""
        self.overlay_of: Callable[[str], ThreadEdits | None] = lambda thread: None
        """Gives the edits under which the requests of a thread leave."""
        self._room = asyncio.Semaphore(AT_ONCE)
        self._finding = asyncio.Lock()
        self._tellers: dict[str, Foreteller] = {}

    async def start(self, task: ChildTask) -> ChildResult:
        """Let a sub-agent do `task`; what came of it. Raises `CtxtuiError` where it cannot begin."""
        return await self._go(await self._made(task))

    async def start_all(self, tasks: Sequence[ChildTask], *, after_first: bool = False) -> list[ChildResult]:
        """Let one do each of the `tasks`, all at once; `after_first`: the others when the first one's answer began.
        Raises `CtxtuiError` where one cannot begin: then none does."""
        runs = [await self._made(task) for task in tasks]
        if not runs:
            return []
        first, *others = runs
        try:
            async with asyncio.TaskGroup() as group:
                going = [group.create_task(self._go(first))]
                if after_first and others:
                    # Where it ends without an answer, they need not wait for one.
                    answered = asyncio.ensure_future(first.began.wait())
                    await asyncio.wait({going[0], answered}, return_when=asyncio.FIRST_COMPLETED)
                    answered.cancel()
                going += [group.create_task(self._go(one)) for one in others]
        except* CtxtuiError as failed:
            raise failed.exceptions[0] from None
        return [one.result() for one in going]

    def shape_of(self, thread: str, partner: ChatModel) -> Edited:
        """What makes the requests of `thread` under its own edits, and under the policies that were named for all."""
        host, overlay_of = self._host, self.overlay_of
        profile = host.profile(partner.window) if host.profile is not None else None
        card = model_table().card(partner.model)
        return Edited(host.session.tree, lambda: overlay_of(thread), card, profile, host.files.usable)

    async def _go(self, run: ChildRun) -> ChildResult:
        async with self._room:
            return await run.go()

    async def _made(self, task: ChildTask) -> ChildRun:
        host = self._host
        if host.runner is None or host.partner is None or host.tools is None:
            raise CtxtuiError("the chat has not begun")
        if not task.prompt.strip():
            raise CtxtuiError("the agent's task is empty", place=AGENT)
        partner = host.partner
        if task.model and task.model != partner.model:
            partner = windowed(replace(partner, model=task.model, window=0, origin="", most_output=0), host.config)
        teller = await self._teller(partner)
        number = 1 + sum(thread.startswith(f"{AGENT}-") for thread in host.session.threads)
        thread = f"{AGENT}-{number}"
        names = self._lent(task)
        tools = host.tools.for_sub_agent(names, Caller(host.cwd, NoAgents(), host.say))
        run = ChildRun(host, task, thread, partner, tools, self.shape_of(thread, partner))
        run.teller, run.may_spend, run.may_retry = teller, self.may_spend, self.may_retry
        run.begin()
        return run

    def _lent(self, task: ChildTask) -> frozenset[str]:
        """The parent's tools that fit what is asked for and need no leave. Raises `NotFound` for a name that is no tool
        of the parent's."""
        host = self._host
        assert host.tools is not None and host.runner is not None
        names, allowed = host.tool_names, host.runner.state.allowed
        for wanted in task.tools:
            if not any(sign in wanted for sign in "*?[") and wanted not in names:
                raise NotFound(f"no tool {wanted!r}", place=AGENT, way_out=f"there are {', '.join(names)}")
        free = [name for name in names if name != AGENT and (name in allowed or not host.tools.asks(name))]
        return frozenset(name for name in free if any(fnmatchcase(name, wanted) for wanted in task.tools))

    async def _teller(self, partner: ChatModel) -> Foreteller:
        async with self._finding:
            found = self._tellers.get(partner.model)
            if found is None:
                # What it needs (tokenizer, prices) takes a moment to load: no key waits for it.
                found = self._tellers[partner.model] = await asyncio.to_thread(_teller_for, self._host, partner)
            return found


def _teller_for(host: Host, partner: ChatModel) -> Foreteller:
    counter = host.files.counter = host.files.counter or Counter()
    book = book_for(host.session, counter, host.config.settings)
    return foreteller_for(book, counter, partner, price_here(prices_for(host.config.settings)))


class NoAgents:
    """What a sub-agent's own tools get: it starts none."""

    async def start(self, task: ChildTask) -> ChildResult:
        """Raises `CtxtuiError`."""
        raise CtxtuiError("a sub-agent starts no agents of its own", place=AGENT)

    async def start_all(self, tasks: Sequence[ChildTask], *, after_first: bool = False) -> list[ChildResult]:
        """Raises `CtxtuiError`."""
        raise CtxtuiError("a sub-agent starts no agents of its own", place=AGENT)
