"""The sub-agents of a chat.

Each is a thread of the chat's session with its own context, turn and limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from ctxtui.agent.child import AGENT, Caller, ChildResult, ChildTask
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.context_window import change_model, usable_tokens_of
from ctxtui.services.chat.request_edits import RequestEditor
from ctxtui.services.chat.request_forecast import RequestForecaster, make_forecaster
from ctxtui.services.chat.sub_agents.child_run import ChildRun, MayRetry, MaySpend, permit_all
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import local_pricer, prices_for
from ctxtui.services.editing.overlay import ThreadEdits

if TYPE_CHECKING:
    from ctxtui.services.chat.host import Host


MAX_CONCURRENT: Final = 16


class Children:
    """Starts the sub-agents of `host`'s chat, once the chat has begun."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.may_spend: MaySpend = permit_all
        self.may_retry: MayRetry = lambda: ""
        self.overlay_of: Callable[[str], ThreadEdits | None] = lambda thread: None
        """Returns the edits for the requests of a thread."""
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._forecaster_lock = asyncio.Lock()
        self._forecasters: dict[str, RequestForecaster] = {}

    async def start(self, task: ChildTask) -> ChildResult:
        """Run a sub-agent on `task` and return its result. Raises `CtxtuiError` if it cannot begin."""
        return await self._run(await self._make_run(task))

    async def start_all(self, tasks: Sequence[ChildTask], *, after_first: bool = False) -> list[ChildResult]:
        """Run sub-agents on all `tasks`, as `Agents` describes.

        Raises `CtxtuiError` if one cannot begin.
        """
        runs = [await self._make_run(task) for task in tasks]
        if not runs:
            return []
        first, *other_runs = runs
        try:
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(self._run(first))]
                if after_first and other_runs:
                    # If it ends without an answer, do not wait for one.
                    answered = asyncio.ensure_future(first.began.wait())
                    await asyncio.wait({running[0], answered}, return_when=asyncio.FIRST_COMPLETED)
                    answered.cancel()
                running += [group.create_task(self._run(run)) for run in other_runs]
        except* CtxtuiError as group_error:
            raise group_error.exceptions[0] from None
        return [run.result() for run in running]

    def request_editor(self, thread: str, chat_model: ChatModel) -> RequestEditor:
        """Make the request editor of `thread`: its own edits, and the policies of `Host.profile`."""
        host, overlay_of = self._host, self.overlay_of
        profile = host.profile(chat_model.window) if host.profile is not None else None
        card, usable = model_table().card(chat_model.model), usable_tokens_of(chat_model, host.config.settings)
        return RequestEditor(host.session.tree, lambda: overlay_of(thread), card, profile, usable)

    async def _run(self, run: ChildRun) -> ChildResult:
        async with self._slots:
            return await run.run_to_end()

    async def _make_run(self, task: ChildTask) -> ChildRun:
        host = self._host
        if host.runner is None or host.chat_model is None or host.tools is None:
            raise CtxtuiError("the chat has not started")
        if not task.prompt.strip():
            raise CtxtuiError("the agent's task is empty", place=AGENT)
        chat_model = host.chat_model
        if task.model and task.model != chat_model.model:
            chat_model = change_model(chat_model, task.model, host.config)
        forecaster = await self._forecaster_for(chat_model)
        number = 1 + sum(thread.startswith(f"{AGENT}-") for thread in host.session.threads)
        thread = f"{AGENT}-{number}"
        names = self._tool_names(task)
        editor = self.request_editor(thread, chat_model)
        tools = host.tools.for_sub_agent(names, Caller(host.cwd, NoAgents(), host.say), editor.external_content)
        run = ChildRun(host, task, thread, chat_model, tools, editor)
        run.forecaster, run.may_spend, run.may_retry = forecaster, self.may_spend, self.may_retry
        run.begin()
        return run

    def _tool_names(self, task: ChildTask) -> frozenset[str]:
        """The parent's tools for the task that need no permission or have it.

        Raises `NotFound` for a name that is no tool of the parent.
        """
        host = self._host
        assert host.tools is not None and host.runner is not None
        names, allowed = host.tool_names, host.runner.state.allowed
        for pattern in task.tools:
            if not any(sign in pattern for sign in "*?[") and pattern not in names:
                raise NotFound(f"no tool {pattern!r}", place=AGENT, way_out=f"there are {', '.join(names)}")
        without_permission = [
            name for name in names if name != AGENT and (name in allowed or not host.tools.asks(name))
        ]
        return frozenset(
            name for name in without_permission if any(fnmatchcase(name, pattern) for pattern in task.tools)
        )

    async def _forecaster_for(self, chat_model: ChatModel) -> RequestForecaster:
        async with self._forecaster_lock:
            forecaster = self._forecasters.get(chat_model.model)
            if forecaster is None:
                # In a thread, because tokenizer and prices load slowly and keys must not wait.
                forecaster = self._forecasters[chat_model.model] = await asyncio.to_thread(
                    _make_forecaster, self._host, chat_model
                )
            return forecaster


def _make_forecaster(host: Host, chat_model: ChatModel) -> RequestForecaster:
    counter = host.files.counter = host.files.counter or Counter()
    book = book_for(host.session, counter, host.config.settings)
    return make_forecaster(book, counter, chat_model, local_pricer(prices_for(host.config.settings)))


class NoAgents:
    """The caller for a sub-agent's own tools: it cannot start sub-agents."""

    async def start(self, task: ChildTask) -> ChildResult:
        raise CtxtuiError("a sub-agent cannot start agents", place=AGENT)

    async def start_all(self, tasks: Sequence[ChildTask], *, after_first: bool = False) -> list[ChildResult]:
        raise CtxtuiError("a sub-agent cannot start agents", place=AGENT)
