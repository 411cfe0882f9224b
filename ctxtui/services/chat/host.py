"""A hosted session: a turn runner, its provider, its record, and the session that screens study.

Everything here happens in one event loop but for opening (a worker thread), tools (a child process) and the store's
writer.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from ctxtui import __version__
from ctxtui.agent import events, progress
from ctxtui.agent.child import Caller
from ctxtui.agent.conversation import Conversation, ConversationStart, Draft, begin, resume, with_tools
from ctxtui.agent.exchange import AnswerReader
from ctxtui.agent.replay import OPENED
from ctxtui.agent.runner import Runner, Surroundings
from ctxtui.agent.turn import TurnState
from ctxtui.analysis.growth.forks import CONTINUED
from ctxtui.core.call import Epoch, EpochStart
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import MAIN, TOOLS_CHANGED, Described, Session, ThreadSeen, TipMoved
from ctxtui.core.tree import Tree
from ctxtui.curation.policies.profile import Profile
from ctxtui.providers.rate_limits import Headroom
from ctxtui.providers.sdk_client import SdkLine
from ctxtui.services.agent_tools.agent_tools import AgentTools, Outside, tools_for
from ctxtui.services.chat.chat_model import OFFLINE, ChatModel, ModelChoice
from ctxtui.services.chat.chat_news import TOLD, ChatNews, Judge, Tell, no_rule
from ctxtui.services.chat.context_files import ContextFiles
from ctxtui.services.chat.context_window import told_by, windowed
from ctxtui.services.chat.continue_from import CHAT, Continuation, claimed, past_of
from ctxtui.services.chat.model_choice import choose, params_for, refined
from ctxtui.services.chat.offline_provider import start
from ctxtui.services.chat.opening import SYSTEM, OwnParts, tool_definitions
from ctxtui.services.chat.recorder import Recording, reader_for
from ctxtui.services.chat.request_edits import Edited, chat_profile
from ctxtui.services.chat.resume import Recovered, dialect_of, put_on_record, take_up
from ctxtui.services.chat.sub_agents.children import Children
from ctxtui.services.config.config import Config
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.paths import database
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import Next, next_call_of
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.services.editing.waiting_edits import due, released
from ctxtui.services.project.progress import told
from ctxtui.store import leases
from ctxtui.store.host_process import HostProcess, end_hosting
from ctxtui.store.rows import Price
from ctxtui.store.sessions.in_flight import abandoned_events
from ctxtui.store.writer import SessionBegun, SessionResumed, Writer
from ctxtui.views.inspector.header import CHAT_ID
from ctxtui.wire.speech import Attachment


class Host:
    """One chat. `open` in a worker thread, then `begin` in the event loop; from then on `feed` takes what the user
    does, and `tell` hears what happens. `session` is the one that was opened; whoever shows it folds in the events."""

    def __init__(self, wish: ModelChoice, config: Config, cwd: Path, clock: Callable[[], float] = time.time) -> None:
        self.wish = wish
        self.config = config
        self.cwd = cwd
        self.partner: ChatModel | None = None
        self.runner: Runner | None = None
        self.recovered = Recovered()
        self.writer: Writer | None = None
        self.session = Session(Tree())
        self.judge: Judge = no_rule
        self.overlay: Callable[[], ThreadEdits | None] = lambda: None
        """Gives the edits under which requests leave."""
        self.profile: Callable[[int], Profile | None] | None = None
        """Gives the policies that act on requests to a model with this window (tokens, 0: unknown), in place of those
        that the setting names."""
        self.tools: AgentTools | None = None
        """What the agent may use."""
        self.released: Callable[[], object] = lambda: None
        """Hears that edits which waited were applied."""
        self.clock = clock
        self._past: Continuation | None = None
        self._process: HostProcess | None = None
        """This process as the host of the stored session that goes on."""
        self._record: Recording | None = None
        self._queue: tuple[str, ...] = ()
        """What waits for the next request, as it is on record."""
        self.line: SdkLine | None = None
        """The way to the provider, once it is open."""
        self.tell: Tell = lambda news: None
        self.price: Price = lambda call: None
        self._epoch = Epoch()
        self._learned: ChatModel | None = None
        """The partner as its refusal tells of it, for the next turn."""
        self._close_partner: Callable[[], Awaitable[None]] | None = None
        self.files = ContextFiles(config, cwd)
        self.own = OwnParts()
        self.children = Children(self)

    # Opening

    def open(self) -> Session:
        """The session to show: that which goes on, or a new one. Raises what opening a recording raises, and `InUse`
        where another process hosts the session that is to go on."""
        wish = self.wish
        self.own.find(self.config.settings)
        if wish.name:
            self._past = past_of(wish.name, wish.thread, wish.call, self.config.settings, self.cwd, self._hold)
        past = self._past
        if past is not None and past.stored:
            self.session = past.session
            return self.session
        now = time.strftime("%Y%m%d-%H%M%S", time.localtime(self.clock()))
        id_ = f"{CHAT_ID}{now}-{uuid.uuid4().hex[:6]}"
        about = Described(id=id_, source="ctxtui", cwd=str(self.cwd), client=CHAT, version=__version__)
        self.session = Session(Tree()).fold([about, ThreadSeen(MAIN)])
        if past is not None:
            self.session.apply(Described(title=f"branch of {past.title}"))
        return self.session

    def _hold(self, id_: str) -> None:
        """Become the host of the stored session `id_`."""
        self._process = claimed(database(self.config.settings.data_dir), id_)

    async def begin(self, tell: Tell, price: Price, trouble: Callable[[], object]) -> None:
        """Find the partner, make the conversation, begin to record. Raises what `choose` raises."""
        self.tell, self.price = tell, price
        outside = Outside(self._outside, lambda: self.overlay())
        kept = self.files.tools
        tools = self.tools = tools_for(self.config, self.cwd, outside, tool_definitions(kept), kept, self.own.tools)
        tools.own.caller = Caller(self.cwd, self.children, self.say)
        partner, _ = await asyncio.gather(self._introduced(), tools.servers.start())
        await self.meet(partner)
        assert self.partner is not None
        conversation = self.shaped(self._conversation(self.partner))
        self._begin_record(conversation, price, trouble)
        around = Surroundings(
            tell=self._moment,
            judge=self._judged,
            exchange=self._exchange,
            clock=self.clock,
            recorded=self.recorded,
            before=self._before_request,
            attached=self._attached,
        )
        assert self.line is not None
        self.runner = Runner(conversation, tools, self.line, around)
        self._queue = self.recovered.queue
        self.runner.state = TurnState(most=self.config.settings.max_rounds, queue=self._queue)
        self.tell(ChatNews(None, (Described(window=self.partner.window), TipMoved(MAIN, conversation.head))))

    async def meet(self, partner: ChatModel) -> None:
        """Open the line to `partner`; the embedded provider is started."""
        if partner.is_offline:
            partner, self._close_partner = await start(partner)
        self.line = SdkLine(partner.endpoint, self.clock)
        await self.line.open()
        if not partner.endpoint.local:
            partner = await refined(partner, self.line, self.config)
        self.partner = partner
        self.files.meet(partner)
        self.tools.meet(local=partner.endpoint.local) if self.tools is not None else None

    async def _introduced(self) -> ChatModel:
        partner = await self._chosen()
        self.tell(ChatNews(None, (), partner))
        return partner

    async def _chosen(self) -> ChatModel:
        """A chat that goes on keeps its model where nothing else is asked for and the model is at hand."""
        wish, past = self.wish, self._past
        if past is not None and past.model not in ("", OFFLINE) and not (wish.model or wish.provider or wish.base_url):
            with suppress(NotFound):
                return await choose(replace(wish, model=past.model), self.config, os.environ)
        return await choose(wish, self.config, os.environ)

    def _conversation(self, partner: ChatModel) -> Conversation:
        past, session = self._past, self.session
        dialect, params = partner.endpoint.dialect, params_for(partner, self.config.settings)
        before = past.before if past is not None else ()
        if past is not None and past.stored:
            pending = abandoned_events(database(self.config.settings.data_dir), past.stored, self._process)
            spoken = dialect_of(pending, past.last) or dialect
            talk, self.recovered = take_up(session, pending, spoken, params, partner.endpoint.name)
            number = max((call.epoch.number for call in session.calls.values()), default=0)
            self._epoch = Epoch(number + 1, EpochStart.RESUME)
            if spoken == dialect:
                return self.own.offered_in(talk, self.tools) if self.tools is not None else talk
            before = tuple(item for item in session.tree.items(talk.head) if item.place.section == "messages")
        tools = self.tools.definitions if self.tools is not None else []
        system = (past.system if past is not None else "") or self.own.system or SYSTEM
        return begin(session.tree, ConversationStart(dialect, params, tools, system, before))

    def _shape(self, acts: bool = True) -> Edited:
        window, model = (self.partner.window, self.partner.model) if self.partner is not None else (0, "")
        profile = self.profile(window) if self.profile is not None else chat_profile(self.config, self.cwd)
        usable, card = self.files.usable, model_table().card(model)
        return Edited(self.session.tree, lambda: self.overlay(), card, profile if acts else None, usable)

    def _outside(self) -> dict[str, str]:
        """What edits put outside the conversation, by name."""
        shape = self.runner.conversation.shape if self.runner is not None else None
        return shape.outside() if isinstance(shape, Edited) else {}

    def _begin_record(self, talk: Conversation, price: Price, trouble: Callable[[], object]) -> None:
        path = database(self.config.settings.data_dir)
        writer = Writer(path, self.session.tree, price=price, changed=trouble, host=self._process)
        self.writer = writer
        self._record = Recording(self.session, writer.put, self.clock)
        if self._past is not None and self._past.stored:
            writer.put(SessionResumed(self._past.stored))
        else:
            window = self.partner.window if self.partner is not None else 0
            about = replace(self.session.about, window=window or self.session.about.window)
            first = (about, ThreadSeen(MAIN), TipMoved(MAIN, talk.head))
            writer.put(SessionBegun(Session(self.session.tree).fold(first)))
            if self._past is not None and self._past.origin is not None:
                noted = self._record.take(progress.Noted(CONTINUED, self._past.origin.text))
                self.tell(ChatNews(None, tuple(noted)))
            self._record.slot(OPENED, json.dumps({"dialect": talk.dialect, "model": talk.model}))
        found = self.recovered
        if seen := put_on_record(found, writer.put, self.clock):
            self.tell(ChatNews(None, seen))
        if found.stopped:
            self._record.take(progress.ResultsCame(found.stopped, talk.head))

    @property
    def lost(self) -> list[str]:
        """What of an earlier context the chat's dialect could not say."""
        return self.runner.conversation.lost if self.runner is not None else []

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools that the agent is offered."""
        return self.tools.names if self.tools is not None else ()

    def shaped(self, talk: Conversation, *, acts: bool = True) -> Conversation:
        """`talk`, whose requests leave under the applied edits; policies act on them where it `acts`."""
        talk.shape = self._shape(acts)
        return talk

    def go_on_in(self, talk: Conversation, told: str) -> None:
        """Go on in `talk`, another context of this session; the record says what was `told` of it."""
        if self.runner is not None:
            self.runner.conversation = self.shaped(talk)
            self._moment(progress.Noted(TOOLS_CHANGED, told))
            self.tell(ChatNews(None, (TipMoved(MAIN, talk.head),)))

    async def offer(self, server: str, on: bool) -> str:
        """Offer the tools of an MCP server from the next request on, or no longer; what was done, in words. The server
        is started where it has to be, and a project's is from now on allowed. Raises `ServerFailed`, `NotFound`, and
        `CtxtuiError` while a turn runs."""
        tools, runner = self.tools, self.runner
        if tools is None or runner is None:
            raise CtxtuiError("the chat has not begun")
        if runner.state.is_running:
            raise CtxtuiError("a turn runs: its tools stay as they are", way_out="end it with esc, or wait")
        if on:
            await tools.servers.on(server)
        else:
            tools.servers.off(server)
        count = len(tools.servers.of(server).tools)
        told = f"the model is offered {count:,} tools of the MCP server {server}" + ("" if on else " no longer")
        self.go_on_in(with_tools(runner.conversation, tools.definitions), told)
        return told

    def draft_with(self, servers: Collection[str]) -> Draft | None:
        """The next request if the tools of these MCP servers were offered, under the applied edits; None before the
        chat has begun. Raises what drafting raises."""
        tools, runner = self.tools, self.runner
        if tools is None or runner is None:
            return None
        return self.shaped(with_tools(runner.conversation, tools.definitions_with(servers)), acts=False).draft()

    def say(self, text: str) -> None:
        """Tell the user a line, which is not put on record."""
        self.tell(ChatNews(progress.Noted(TOLD, text)))

    # A turn

    def feed(self, event: events.Event) -> None:
        """What the user does."""
        if self.runner is None:
            return
        self.runner.feed(event)
        self._keep_queue()

    def _keep_queue(self) -> None:
        """What waits for the next request is on record as it is now."""
        runner = self.runner
        queue = (*runner.waiting_messages, *runner.state.queue) if runner is not None else self._queue
        if queue != self._queue and self._record is not None:
            self._queue = queue
            self._record.slot("queue", json.dumps(queue))

    @property
    def headroom(self) -> tuple[Headroom, ...]:
        """What the provider's rate limits left at the last answer, the tightest first."""
        return self.line.headroom if self.line is not None else ()

    def change_model(self, model: str) -> None:
        """Go on with another model of the same provider, from the next request on. Raises `BadConfig` where a window
        in the settings does not fit it."""
        if self.partner is None or self.runner is None or self.runner.state.is_running:
            return
        old = self.partner.model
        other = replace(self.partner, model=model, window=0, origin="", most_output=0)
        self._go_on_with(windowed(other, self.config))
        self._epoch = Epoch(self._epoch.number + 1, EpochStart.MODEL, f"{old} → {model}")

    def _go_on_with(self, partner: ChatModel) -> None:
        """The next request goes to `partner` (another model, another window) with what fits it."""
        if self.runner is None:
            return
        self.partner, talk = partner, self.runner.conversation
        self.files.meet(partner)
        self.tools.meet(local=partner.endpoint.local) if self.tools is not None else None
        params = params_for(partner, self.config.settings)
        self.runner.conversation = self.shaped(resume(self.session.tree, talk.head, talk.dialect, params))
        self.tell(ChatNews(None, (Described(window=partner.window),)))

    def keep_draft(self, text: str) -> None:
        """Keep what stands in the prompt."""
        if self._record is not None:
            self._record.slot("draft", text)

    def back_to(self, head: int) -> None:
        """Go on from an earlier context of the session: what is said next begins a branch."""
        if self.runner is not None and self._record is not None and not self.runner.state.is_running:
            self.runner.conversation.rewind_to(head)
            noted = self._record.moved(head, self.session.tree[head].depth)
            self.tell(ChatNews(None, tuple(noted)))

    def _moment(self, moment: progress.Moment) -> None:
        if isinstance(moment, progress.Noted) and moment.kind == "error" and self.partner is not None:
            learned, told = told_by(self.partner, moment.text, self.config)
            moment = replace(moment, text=told)
            self._learned = learned if learned != self.partner else None
        elif isinstance(moment, progress.Rested) and self._learned is not None:
            self._go_on_with(self._learned)
            self._learned = None
        noted = self._record.take(moment) if self._record is not None else []
        self._keep_queue()
        self.tell(ChatNews(moment, tuple(noted)))

    async def _before_request(self) -> None:
        """Edits that waited leave with the request that comes now, where it comes after what they waited for."""
        overlay, partner = self.overlay(), self.partner
        if overlay is None or partner is None or not overlay.waiting:
            return
        counter = self.files.counter = self.files.counter or Counter()
        calls = self.session.thread_calls(MAIN)
        other = bool(calls) and calls[-1].model != partner.model

        def asked(at: float | None) -> Next | None:
            return next_call_of(self.session, counter, self.config.settings, MAIN, overlay.applied, at)

        come = await asyncio.to_thread(due, frozenset(overlay.waiting.values()), asked, self.clock(), other)
        if told := released(overlay, come):
            self.released()
            self._moment(progress.Noted("edits", told))

    async def _attached(self, text: str) -> Sequence[Attachment]:
        """What goes in front of the user's message `text`; memory is put in place with it."""
        assert self.runner is not None
        head = self.runner.conversation.head
        reading = asyncio.to_thread(self.files.with_message, text, self.session, head)
        found = await told(reading, self.files.progress, self.say)
        self.runner.conversation.memory = found.memory
        if found.told:
            self._moment(progress.Noted("files", found.told))
        return found.attached

    async def _judged(self, draft: Draft) -> str:
        return await self.judge(draft)

    async def recorded(self, seconds: float) -> bool:
        """Wait at most so long until everything up to now is in the file; whether it is."""
        writer = self.writer
        if writer is None or not writer.pending:
            return True
        return await asyncio.to_thread(writer.wait, seconds, writer.last_ticket)

    def _exchange(self, draft: Draft, attempt: int) -> AnswerReader:
        assert self.partner is not None
        own_id = f"{self.session.about.id}.{len(self.session.calls) + 1}"
        made = self.partner, draft, own_id, attempt
        return reader_for(self.session, *made, at=self.clock(), epoch=self._epoch)

    async def close(self) -> bool:
        """End the turn (its partial answer is kept), the line and the record; whether everything got into the file."""
        if self.runner is not None:
            await self.runner.close()
        elif self.tools is not None:
            await self.tools.close()
        if self.line is not None:
            await self.line.close()
        if self._close_partner is not None:
            await self._close_partner()
        if self.writer is not None:
            return self.writer.close()
        if self._process is not None:
            end_hosting(self._process)
            with suppress(CtxtuiError):  # what says that it hosts is void already
                leases.release(database(self.config.settings.data_dir), self._process)
        return True
