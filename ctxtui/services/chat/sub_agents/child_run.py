"""The run of a sub-agent, recorded as a thread of the chat's session."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ctxtui.agent import events, progress
from ctxtui.agent.answer_reader import AnswerReader
from ctxtui.agent.child import ChildResult, ChildTask
from ctxtui.agent.conversation import CACHED, ConversationStart, Draft, begin
from ctxtui.agent.runner import Runner, Surroundings
from ctxtui.agent.turn import TurnState
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.services.agent_tools.agent_tools import AgentTools
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.chat_news import ChatNews
from ctxtui.services.chat.model_choice import params_for
from ctxtui.services.chat.opening import SYSTEM
from ctxtui.services.chat.recorder import ChatRecorder, make_reader
from ctxtui.services.chat.request_edits import RequestEditor
from ctxtui.services.chat.request_forecast import RequestForecast, RequestForecaster, hold_reason
from ctxtui.services.chat.spending import SendPermit, Spending, limit_answer
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.translate.turns import TEXT, to_part

if TYPE_CHECKING:
    from ctxtui.services.chat.host import Host


MaySpend = Callable[[str, ChatModel, RequestForecast | None, Draft], Awaitable[SendPermit]]
"""Reserves the cost of a sub-agent's request, or refuses it."""
MayRetry = Callable[[], str]
"""Returns the reason not to send an interrupted request again ("": send it)."""
_LABEL = 60
"""Characters of the prompt used as the default label."""


async def permit_all(thread: str, chat_model: ChatModel, forecast: RequestForecast | None, draft: Draft) -> SendPermit:
    return SendPermit()


class ChildRun:
    """Runs a sub-agent on `task` as the thread `thread` of `host`'s session.

    `editor` edits its requests. Call `begin`, then `run_to_end` once. Cancelling `run_to_end` ends the sub-agent and
    keeps its partial answer. `began` is set when its first answer begins.
    """

    def __init__(
        self, host: Host, task: ChildTask, thread: str, chat_model: ChatModel, tools: AgentTools, editor: RequestEditor
    ) -> None:
        assert host.writer is not None and host.client is not None
        self._host = host
        self._task = task
        self._thread = thread
        self._chat_model = chat_model
        self.began = asyncio.Event()
        self.forecaster: RequestForecaster | None = None
        self.may_spend: MaySpend = permit_all
        self.may_retry: MayRetry = lambda: ""
        self._spending = Spending(task.budget_usd)
        self._unpaid: list[Call] = []
        """Calls not yet added to `_spending`."""
        self._finished = asyncio.Event()
        self._calls: list[Call] = []
        self._failure = ""
        self._record = ChatRecorder(host.session, host.writer.put, host.clock, thread)
        settings = host.config.settings
        tokens = task.answer_tokens or settings.answer_tokens
        params = params_for(chat_model, dataclasses.replace(settings, answer_tokens=tokens))
        system = host.own.system or SYSTEM if task.system is None else task.system
        start = ConversationStart(chat_model.endpoint.dialect, params, tools.definitions, system)
        self._conversation = begin(host.session.tree, start)
        if chat_model.endpoint.dialect == ANTHROPIC:
            # Other sub-agents with the same system text can read that from the cache, but not the rest.
            self._conversation.static = CACHED
        self._conversation.editor = editor
        surroundings = Surroundings(
            tell=self._handle_moment,
            judge=self._refusal_reason,
            make_reader=self._make_reader,
            clock=host.clock,
            recorded=host.wait_recorded,
        )
        self._runner = Runner(self._conversation, tools, host.client, surroundings)
        allowed = frozenset(tools.names)
        self._runner.state = TurnState(attended=False, allowed=allowed, max_rounds=task.rounds)

    def begin(self) -> None:
        label = self._task.label or " ".join(self._task.prompt.split())[:_LABEL]
        thread_event = ThreadSeen(self._thread, label, MAIN)
        assert self._host.writer is not None
        self._host.writer.put(thread_event)
        self._host.tell(
            ChatNews(None, (thread_event, TipMoved(self._thread, self._conversation.head)), thread=self._thread)
        )

    async def run_to_end(self) -> ChildResult:
        """Send the task, wait for the end of the turn, and return the result with its cost."""
        try:
            self._runner.feed(events.UserSaid(self._task.prompt))
            await self._finished.wait()
        finally:
            await self._runner.close()
        await asyncio.to_thread(self._add_costs)
        spent = self._spending
        return ChildResult(
            text=answer_text(self._host.session.tree, self._calls[-1]) if self._calls else "",
            thread=self._thread,
            why=self._failure,
            rounds=len(self._calls),
            usage=spent.usage,
            cost_usd=None if spent.partial else spent.usd,
        )

    def _add_costs(self) -> None:
        while self._unpaid:
            self._spending.add_call(self._unpaid.pop(0), self._chat_model, self._host.price)

    async def _refusal_reason(self, draft: Draft) -> str:
        """The reason not to send a request ("": send it).

        Its draft gets the answer limit that the budgets pay for. A request that a rule would hold is refused: it would
        wait forever without a user.
        """
        forecaster, settings = self.forecaster, self._host.config.settings
        assert forecaster is not None
        forecast = await asyncio.to_thread(forecaster.forecast, draft, self._host.clock(), self._thread)
        # Sub-agents that start together miss the cache by design.
        reason = hold_reason(forecast, dataclasses.replace(settings, hold_on_miss=False))
        if reason:
            return reason
        await asyncio.to_thread(self._add_costs)
        for reserve in (self._spending.reserve, self.may_spend):
            permit = await reserve(self._thread, self._chat_model, forecast, draft)
            if permit.refused:
                return permit.refused
            if permit.answer:
                draft = self._runner.draft = limit_answer(draft, permit.answer)
        return ""

    def _retry_refusal(self) -> str:
        if self._task.budget_usd is not None:
            self._add_costs()
        return self._spending.retry_refusal() or self.may_retry()

    def _make_reader(self, draft: Draft, attempt: int) -> AnswerReader:
        session, at = self._host.session, self._host.clock()
        own_id = f"{session.about.id}.{self._thread}.{len(self._calls) + 1}"
        return make_reader(session, self._chat_model, draft, own_id, attempt, at=at, thread=self._thread)

    def _handle_moment(self, moment: progress.ProgressEvent) -> None:
        match moment:
            case progress.UserMessageAdded():
                # Before the first answer, its system prompt and tools are recorded nowhere else.
                moment = replace(moment, before=ROOT)
            case progress.CallBegan(call):
                self.began.set()
                if self._runner.draft is not None and call.first_byte is not None and self.forecaster is not None:
                    self.forecaster.note_answer_begun(self._runner.draft, call.first_byte, self._thread)
            case progress.CallEnded(call, _, _):
                self._calls.append(call)
                self._unpaid.append(call)
            case progress.CallFailed(_, call) if call is not None:
                self._unpaid.append(call)
            case progress.RetryWaits() if why := self._retry_refusal():
                asyncio.get_running_loop().call_soon(self._runner.feed, events.Interrupted(why))
            case progress.Notice("error" | "interrupt", text):
                self._failure = self._failure or text
            case progress.DraftHeld(reason):
                # Later, when the state machine has finished this step.
                asyncio.get_running_loop().call_soon(self._runner.feed, events.Interrupted(reason))
            case progress.TurnEnded():
                self._finished.set()
        self._host.tell(ChatNews(moment, tuple(self._record.record(moment)), thread=self._thread))


def answer_text(tree: Tree, call: Call) -> str:
    parts = [to_part(i.block) for i in tree.items(call.response_head, call.raw_head) if i.block.kind != HEADER]
    return "\n\n".join(part.reading.text for part in parts if part.category == TEXT and part.reading.text)
