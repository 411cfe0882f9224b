"""One sub-agent at work: its talk and turn, put on record as a thread of the chat's session."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ctxtui.agent import events, progress
from ctxtui.agent.child import ChildResult, ChildTask
from ctxtui.agent.conversation import CACHED, ConversationStart, Draft, begin
from ctxtui.agent.exchange import AnswerReader
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
from ctxtui.services.chat.recorder import Recording, reader_for
from ctxtui.services.chat.request_edits import Edited
from ctxtui.services.chat.request_forecast import Foreteller, RequestForecast, held_because
from ctxtui.services.chat.spending import Leave, Spending, with_answer_limit
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.translate.turns import TEXT, to_part

if TYPE_CHECKING:
    from ctxtui.services.chat.host import Host


MaySpend = Callable[[str, "ChatModel", "RequestForecast | None", Draft], Awaitable[Leave]]
MayRetry = Callable[[str], str]
_LABEL = 60
"""Characters of a prompt that stand for a missing label."""


async def free_to_go(thread: str, partner: ChatModel, found: RequestForecast | None, draft: Draft) -> Leave:
    """Nothing is held against it."""
    return Leave()


class ChildRun:
    """Lets a sub-agent do `task` as the thread `thread` of `host`'s session; its requests leave in
    `shape`. `begin`, then `go` once: whoever waits for it and is cancelled ends it, and what it had heard is kept.
    `began` is set when its first answer begins."""

    def __init__(
        self, host: Host, task: ChildTask, thread: str, partner: ChatModel, tools: AgentTools, shape: Edited
    ) -> None:
        assert host.writer is not None and host.line is not None
        self._host = host
        self._task = task
        self._thread = thread
        self._partner = partner
        self.began = asyncio.Event()
        self.teller: Foreteller | None = None
        """Foretells its requests."""
        self.may_spend: MaySpend = free_to_go
        self.may_retry: MayRetry = lambda thread: ""
        self._spending = Spending(task.budget_usd)
        self._unpaid: list[Call] = []
        """Calls whose cost is not in `_spending` yet."""
        self._over = asyncio.Event()
        self._calls: list[Call] = []
        self._why = ""
        self._record = Recording(host.session, host.writer.put, host.clock, thread)
        settings = host.config.settings
        tokens = task.answer_tokens or settings.answer_tokens
        params = params_for(partner, dataclasses.replace(settings, answer_tokens=tokens))
        system = host.own.system or SYSTEM if task.system is None else task.system
        start = ConversationStart(partner.endpoint.dialect, params, tools.definitions, system)
        self._talk = begin(host.session.tree, start)
        if partner.endpoint.dialect == ANTHROPIC:
            # Its end is read by nobody else; the system text is, by those with the same one.
            self._talk.static = CACHED
        self._talk.shape = shape
        around = Surroundings(
            tell=self._moment,
            judge=self._judge,
            exchange=self._exchange,
            clock=host.clock,
            recorded=host.recorded,
        )
        self._runner = Runner(self._talk, tools, host.line, around)
        allowed = frozenset(tools.names)
        self._runner.state = TurnState(attended=False, allowed=allowed, most=task.rounds)

    def begin(self) -> None:
        """The thread is there."""
        label = self._task.label or " ".join(self._task.prompt.split())[:_LABEL]
        seen = ThreadSeen(self._thread, label, MAIN)
        assert self._host.writer is not None
        self._host.writer.put(seen)
        self._host.tell(ChatNews(None, (seen, TipMoved(self._thread, self._talk.head)), thread=self._thread))

    async def go(self) -> ChildResult:
        """Do the task; what came of it."""
        try:
            self._runner.feed(events.UserSaid(self._task.prompt))
            await self._over.wait()
        finally:
            await self._runner.close()
        await asyncio.to_thread(self._pay)
        spent = self._spending
        return ChildResult(
            text=last_words(self._host.session.tree, self._calls[-1]) if self._calls else "",
            thread=self._thread,
            why=self._why,
            rounds=len(self._calls),
            usage=spent.usage,
            cost_usd=None if spent.partial else spent.usd,
        )

    def _pay(self) -> None:
        """Count what its calls cost; for a worker thread: the first price takes a moment."""
        while self._unpaid:
            self._spending.took(self._unpaid.pop(0), self._partner, self._host.price)

    async def _judge(self, draft: Draft) -> str:
        """Why a request may not leave; nobody is there to let it go that is held."""
        teller, settings = self.teller, self._host.config.settings
        assert teller is not None
        found = await asyncio.to_thread(teller.foretell, draft, self._host.clock(), self._thread)
        # Who starts several at once lets them miss.
        held = held_because(found, dataclasses.replace(settings, hold_on_miss=False))
        if held:
            return held
        await asyncio.to_thread(self._pay)
        for reserve in (self._spending.reserve, self.may_spend):
            leave = await reserve(self._thread, self._partner, found, draft)
            if leave.refused:
                return leave.refused
            if leave.answer:
                draft = self._runner.draft = with_answer_limit(draft, leave.answer)
        return ""

    def _over_budget(self) -> str:
        """Why a request that broke off may not leave a second time."""
        if self._task.budget_usd is not None:
            self._pay()
        return self._spending.again(self._thread) or self.may_retry(self._thread)

    def _exchange(self, draft: Draft, attempt: int) -> AnswerReader:
        session, at = self._host.session, self._host.clock()
        own_id = f"{session.about.id}.{self._thread}.{len(self._calls) + 1}"
        return reader_for(session, self._partner, draft, own_id, attempt, at=at, thread=self._thread)

    def _moment(self, moment: progress.Moment) -> None:
        match moment:
            case progress.UserSaid():
                # Its system prompt and tools are on record nowhere else before the first answer.
                moment = replace(moment, before=ROOT)
            case progress.CallBegan(call):
                self.began.set()
                if self._runner.draft is not None and call.first_byte is not None and self.teller is not None:
                    self.teller.began(self._runner.draft, call.first_byte, self._thread)
            case progress.CallEnded(call, _, _):
                self._calls.append(call)
                self._unpaid.append(call)
            case progress.CallFailed(_, call) if call is not None:
                self._unpaid.append(call)
            case progress.RetryWaits() if why := self._over_budget():
                asyncio.get_running_loop().call_soon(self._runner.feed, events.Interrupted(why))
            case progress.Noted("error" | "interrupt", text):
                self._why = self._why or text
            case progress.RequestHeld(reason):
                # After the machine has done what it is at.
                asyncio.get_running_loop().call_soon(self._runner.feed, events.Interrupted(reason))
            case progress.Rested():
                self._over.set()
        self._host.tell(ChatNews(moment, tuple(self._record.take(moment)), thread=self._thread))


def last_words(tree: Tree, call: Call) -> str:
    """The words of the answer of `call`."""
    parts = [to_part(i.block) for i in tree.items(call.response_head, call.raw_head) if i.block.kind != HEADER]
    return "\n\n".join(part.reading.text for part in parts if part.category == TEXT and part.reading.text)
