"""A hosted chat: turn runner, provider, recorder, and the session that screens study."""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path

from msgspec.structs import replace

from ctxtui import __version__
from ctxtui.agent import events, progress
from ctxtui.agent.answer_reader import AnswerReader
from ctxtui.agent.child import Caller
from ctxtui.agent.conversation import Conversation, ConversationStart, Draft, begin, resume, with_tools
from ctxtui.agent.replay import OPENED
from ctxtui.agent.runner import Runner, Surroundings
from ctxtui.agent.turn import TurnState
from ctxtui.analysis.growth.forks import CONTINUED
from ctxtui.core.call import Epoch, EpochStart
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN, TOOLS_CHANGED, Described, Session, ThreadSeen, TipMoved
from ctxtui.core.tree import Tree
from ctxtui.curation.policies.profile import Profile
from ctxtui.providers.rate_limits import Headroom
from ctxtui.providers.sdk_client import SdkClient
from ctxtui.services.agent_tools.agent_tools import AgentTools, ExternalContent, tools_for
from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
from ctxtui.services.chat.chat_news import TOOL_MESSAGE, ChatNews, Judge, Tell, no_rule
from ctxtui.services.chat.context_files import ContextFiles
from ctxtui.services.chat.context_window import change_model, learn_window
from ctxtui.services.chat.continue_from import CHAT, Continuation, claim_session, find_continuation, split_system
from ctxtui.services.chat.model_choice import add_listed_details, choose_to_continue, params_for
from ctxtui.services.chat.offline_provider import start_offline
from ctxtui.services.chat.opening import SYSTEM, CustomParts, add_missing_tools, tool_definitions
from ctxtui.services.chat.recorder import ChatRecorder, make_reader
from ctxtui.services.chat.request_edits import RequestEditor, chat_profile
from ctxtui.services.chat.resume import Recovered, dialect_of, record_recovered, restore_conversation
from ctxtui.services.chat.sub_agents.children import Children
from ctxtui.services.config.config import Config
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.paths import database
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import PricedRequest, next_call_of
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.services.editing.waiting_edits import apply_due, conditions_met
from ctxtui.services.project.progress import report_progress
from ctxtui.store import leases
from ctxtui.store.host_process import HostProcess, end_hosting
from ctxtui.store.rows import Price
from ctxtui.store.sessions.in_flight import abandoned_events
from ctxtui.store.store import Store
from ctxtui.store.writer import SessionBegun, SessionResumed, Writer
from ctxtui.views.inspector.header import CHAT_ID
from ctxtui.views.text import numbers
from ctxtui.wire.speech import Attachment


class Host:
    """Hosts one chat.

    Call `open` in a worker thread, then `begin` in the event loop, then `feed`. The receiver of news (`tell`) must
    apply their events to `session`.
    """

    def __init__(self, choice: ModelChoice, config: Config, cwd: Path, clock: Callable[[], float] = time.time) -> None:
        self.choice = choice
        self.config = config
        self.cwd = cwd
        self.chat_model: ChatModel | None = None
        self.runner: Runner | None = None
        self.recovered = Recovered()
        self.writer: Writer | None = None
        self.session = Session(Tree())
        self.judge: Judge = no_rule
        self.overlay: Callable[[], ThreadEdits | None] = lambda: None
        """Returns the edits that apply to requests."""
        self.profile: Callable[[int], Profile | None] | None = None
        """Returns the policies for a model with this window (tokens, 0: unknown); overrides the setting."""
        self.tools: AgentTools | None = None
        self.on_released: Callable[[], object] = lambda: None
        """Called after waiting edits were applied."""
        self.clock = clock
        self._continuation: Continuation | None = None
        self._process: HostProcess | None = None
        """This process as the host of the stored session that continues."""
        self._record: ChatRecorder | None = None
        self._queue: tuple[str, ...] = ()
        """Waiting messages as last recorded."""
        self.client: SdkClient | None = None
        self.tell: Tell = lambda news: None
        self.price: Price = lambda call: None
        self._epoch = Epoch()
        self._learned_model: ChatModel | None = None
        """The model with the window learned from a refusal, for the next turn."""
        self._close_offline: Callable[[], Awaitable[None]] | None = None
        self.files = ContextFiles(config, cwd)
        self.own = CustomParts()
        self.children = Children(self)

    # Opening

    def open(self) -> Session:
        """The session to show: the stored one that continues, or a new one.

        Raises what `load_tools` and `find_continuation` raise, and `InUse` if another process hosts the session. After
        an error this process does not host it.
        """
        choice = self.choice
        self.own.load_tools(self.config.settings)
        if choice.session:
            try:
                self._continuation = find_continuation(
                    choice.session, choice.thread, choice.call, self.config.settings, self.cwd, self._claim
                )
            except BaseException:
                self._release()
                raise
        continuation = self._continuation
        if continuation is not None and continuation.stored:
            self.session = continuation.session
            return self.session
        now = time.strftime("%Y%m%d-%H%M%S", time.localtime(self.clock()))
        id_ = f"{CHAT_ID}{now}-{uuid.uuid4().hex[:6]}"
        about = Described(id=id_, source="ctxtui", cwd=str(self.cwd), client=CHAT, version=__version__)
        self.session = Session(Tree()).fold([about, ThreadSeen(MAIN)])
        if continuation is not None:
            self.session.apply(Described(title=f"branch of {continuation.title}"))
        return self.session

    def _claim(self, id_: str) -> None:
        self._process = claim_session(database(self.config.settings.data_dir), id_)

    async def begin(self, tell: Tell, price: Price, trouble: Callable[[], object]) -> None:
        """Choose the model and start recording; `trouble` is called when that fails, or works again.

        Raises `CtxtuiError`.
        """
        self.tell, self.price = tell, price
        external = ExternalContent(self._external_content, lambda: self.overlay())
        memory_tools = self.files.tools
        tools = self.tools = tools_for(
            self.config,
            self.cwd,
            external,
            tool_definitions(self.config.settings, memory_tools),
            memory_tools,
            self.own.tools,
        )
        tools.own.caller = Caller(self.cwd, self.children, self.say)
        chat_model, _ = await asyncio.gather(self._announce_model(), tools.servers.start())
        await self.connect_to(chat_model)
        assert self.chat_model is not None
        conversation = self.with_edits(self._build_conversation(self.chat_model))
        self._start_record(conversation, price, trouble)
        surroundings = Surroundings(
            tell=self._handle_moment,
            judge=self._judge_draft,
            make_reader=self._make_reader,
            clock=self.clock,
            recorded=self.wait_recorded,
            before=self._before_request,
            attached=self._read_attachments,
        )
        assert self.client is not None
        self.runner = Runner(conversation, tools, self.client, surroundings)
        self._queue = self.recovered.queue
        self.runner.state = TurnState(max_rounds=self.config.settings.max_rounds, queue=self._queue)
        self.tell(ChatNews(None, (Described(window=self.chat_model.window), TipMoved(MAIN, conversation.head))))

    async def connect_to(self, chat_model: ChatModel) -> None:
        if chat_model.is_offline:
            chat_model, self._close_offline = await start_offline(chat_model)
        self.client = SdkClient(chat_model.endpoint, self.clock)
        await self.client.open()
        if not chat_model.endpoint.local:
            chat_model = await add_listed_details(chat_model, self.client, self.config)
        self._use_model(chat_model)

    def _use_model(self, chat_model: ChatModel) -> None:
        self.chat_model = chat_model
        self.files.set_model(chat_model)
        if self.tools is not None:
            self.tools.adjust_to_model(local=chat_model.endpoint.local)

    async def _announce_model(self) -> ChatModel:
        chat_model = await self._choose_model()
        self.tell(ChatNews(None, (), chat_model))
        return chat_model

    async def _choose_model(self) -> ChatModel:
        recorded_model = self._continuation.model if self._continuation is not None else ""
        return await choose_to_continue(recorded_model, self.choice, self.config, os.environ)

    def _build_conversation(self, chat_model: ChatModel) -> Conversation:
        continuation, session = self._continuation, self.session
        dialect, params = chat_model.endpoint.dialect, params_for(chat_model, self.config.settings)
        system, history = (continuation.system, continuation.before) if continuation is not None else ("", ())
        if continuation is not None and continuation.stored:
            pending = abandoned_events(database(self.config.settings.data_dir), continuation.stored, self._process)
            dialect_ = dialect_of(pending, continuation.last) or dialect
            conversation, self.recovered = restore_conversation(
                session, pending, dialect_, params, chat_model.endpoint.name
            )
            number = max((call.epoch.number for call in session.calls.values()), default=0)
            self._epoch = Epoch(number + 1, EpochStart.RESUME)
            if self.tools is not None:
                with Store.open(database(self.config.settings.data_dir), readonly=True) as store:
                    self.tools.commands.load_outputs(store, continuation.stored)
            if dialect_ == dialect:
                return add_missing_tools(conversation, self.tools) if self.tools is not None else conversation
            system, history = split_system(session.tree.items(conversation.head))
        tools = self.tools.definitions if self.tools is not None else []
        start = ConversationStart(dialect, params, tools, system or self.own.system or SYSTEM, history)
        return begin(session.tree, start)

    def _make_request_editor(self, acts: bool = True) -> RequestEditor:
        window, model = (self.chat_model.window, self.chat_model.model) if self.chat_model is not None else (0, "")
        profile = self.profile(window) if self.profile is not None else chat_profile(self.config, self.cwd)
        usable, card = self.files.usable_tokens, model_table().card(model)
        return RequestEditor(self.session.tree, lambda: self.overlay(), card, profile if acts else None, usable)

    def _external_content(self) -> dict[str, str]:
        editor = self.runner.conversation.editor if self.runner is not None else None
        return editor.external_content() if isinstance(editor, RequestEditor) else {}

    def _start_record(self, conversation: Conversation, price: Price, trouble: Callable[[], object]) -> None:
        path = database(self.config.settings.data_dir)
        writer = Writer(path, self.session.tree, price=price, changed=trouble, host=self._process)
        self.writer = writer
        self._record = ChatRecorder(self.session, writer.put, self.clock)
        if self._continuation is not None and self._continuation.stored:
            writer.put(SessionResumed(self._continuation.stored))
        else:
            window = self.chat_model.window if self.chat_model is not None else 0
            about = replace(self.session.about, window=window or self.session.about.window)
            first = (about, ThreadSeen(MAIN), TipMoved(MAIN, conversation.head))
            writer.put(SessionBegun(Session(self.session.tree).fold(first)))
            if self._continuation is not None and self._continuation.origin is not None:
                noted = self._record.record(progress.Notice(CONTINUED, self._continuation.origin.text))
                self.tell(ChatNews(None, tuple(noted)))
            self._record.store_slot(OPENED, json.dumps({"dialect": conversation.dialect, "model": conversation.model}))
        recovered = self.recovered
        if recovered_calls := record_recovered(recovered, writer.put, self.clock):
            self.tell(ChatNews(None, recovered_calls))
        if recovered.stopped:
            self._record.record(progress.ToolResultsAdded(recovered.stopped, conversation.head))

    @property
    def lost(self) -> list[str]:
        """Parts of an earlier context that the chat's dialect cannot express."""
        return self.runner.conversation.lost if self.runner is not None else []

    @property
    def tool_names(self) -> tuple[str, ...]:
        return self.tools.names if self.tools is not None else ()

    def with_edits(self, conversation: Conversation, *, acts: bool = True) -> Conversation:
        conversation.editor = self._make_request_editor(acts)
        return conversation

    def switch_to(self, conversation: Conversation, note: str) -> None:
        """Continue in `conversation`, another context of this session; record `note`."""
        if self.runner is not None:
            self.runner.conversation = self.with_edits(conversation)
            self._handle_moment(progress.Notice(TOOLS_CHANGED, note))
            self.tell(ChatNews(None, (TipMoved(MAIN, conversation.head),)))

    async def offer_server(self, server: str, on: bool) -> str:
        """Offer the tools of an MCP server from the next request on, or no longer.

        Returns a message. The server is started if need be; a project's server is allowed from now on. Raises
        `ServerFailed`, `NotFound`, and `CtxtuiError` while a turn runs.
        """
        tools, runner = self.tools, self.runner
        if tools is None or runner is None:
            raise CtxtuiError("the chat has not started")
        if runner.state.is_running:
            raise CtxtuiError("tools cannot be changed during a turn", way_out="end it with esc, or wait")
        if on:
            await tools.servers.turn_on(server)
        else:
            tools.servers.turn_off(server)
        count = len(tools.definitions_with({server})) - len(tools.definitions_with(()))
        end = "" if on else " no longer"
        message = f"the model is offered {numbers.many(count, 'tool')} of the MCP server {server}{end}"
        self.switch_to(with_tools(runner.conversation, tools.definitions), message)
        return message

    def draft_next(self) -> Draft | None:
        """Draft the next request under the applied edits, without policies.

        None before the chat has begun. Raises what `Conversation.draft` raises.
        """
        runner = self.runner
        return self.with_edits(copy(runner.conversation), acts=False).draft() if runner is not None else None

    def draft_with(self, servers: Collection[str]) -> Draft | None:
        """Like `draft_next`, with the tools of these MCP `servers`."""
        tools, runner = self.tools, self.runner
        if tools is None or runner is None:
            return None
        return self.with_edits(with_tools(runner.conversation, tools.definitions_with(servers)), acts=False).draft()

    def say(self, text: str) -> None:
        """Show the user a message that is not recorded."""
        self.tell(ChatNews(progress.Notice(TOOL_MESSAGE, text)))

    # A turn

    def feed(self, event: events.Event) -> None:
        if self.runner is None:
            return
        self.runner.feed(event)
        self._record_queue()

    def _record_queue(self) -> None:
        runner = self.runner
        queue = (*runner.waiting_messages, *runner.state.queue) if runner is not None else self._queue
        if queue != self._queue and self._record is not None:
            self._queue = queue
            self._record.store_slot("queue", json.dumps(queue))

    @property
    def headroom(self) -> tuple[Headroom, ...]:
        """Remaining rate limits by the last answer that names any, the tightest first."""
        return self.client.headroom if self.client is not None else ()

    def change_model(self, model: str) -> None:
        """Continue with another model of the same provider from the next request on.

        Raises `BadConfig` if a window in the settings does not fit it, and `CtxtuiError` while a turn runs.
        """
        if self.chat_model is None or self.runner is None:
            raise CtxtuiError("the chat has not started")
        if self.runner.state.is_running:
            raise CtxtuiError("the model cannot be changed during a turn", way_out="end it with esc, or wait")
        old = self.chat_model.model
        self._set_model(change_model(self.chat_model, model, self.config))
        self._epoch = Epoch(self._epoch.number + 1, EpochStart.MODEL, f"{old} → {model}")

    def _set_model(self, chat_model: ChatModel) -> None:
        if self.runner is None:
            return
        self._use_model(chat_model)
        params, old = params_for(chat_model, self.config.settings), self.runner.conversation
        self.runner.conversation = self.with_edits(resume(self.session.tree, old.head, old.dialect, params))
        self.tell(ChatNews(None, (Described(window=chat_model.window),)))

    def keep_draft(self, text: str) -> None:
        if self._record is not None:
            self._record.store_slot("draft", text)

    def go_back_to(self, head: int) -> None:
        """Continue from an earlier context of the session, unless a turn runs."""
        if self.runner is not None and self._record is not None and not self.runner.state.is_running:
            self.runner.conversation.rewind_to(head)
            noted = self._record.record_move(head, self.session.tree[head].depth)
            self.tell(ChatNews(None, tuple(noted)))

    def _handle_moment(self, moment: progress.ProgressEvent) -> None:
        if isinstance(moment, progress.Notice) and moment.kind == "error" and self.chat_model is not None:
            learned, message = learn_window(self.chat_model, moment.text, self.config)
            moment = replace(moment, text=message)
            self._learned_model = learned if learned != self.chat_model else None
        elif isinstance(moment, progress.TurnEnded) and self._learned_model is not None:
            self._set_model(self._learned_model)
            self._learned_model = None
        noted = self._record.record(moment) if self._record is not None else []
        self._record_queue()
        self.tell(ChatNews(moment, tuple(noted)))

    async def _before_request(self) -> None:
        overlay, chat_model = self.overlay(), self.chat_model
        if overlay is None or chat_model is None or not overlay.waiting:
            return
        counter = self.files.counter = self.files.counter or Counter()
        calls = self.session.thread_calls(MAIN)
        is_other_model = bool(calls) and calls[-1].model != chat_model.model

        def next_call(at: float | None) -> PricedRequest | None:
            return next_call_of(self.session, counter, self.config.settings, MAIN, overlay.applied, at)

        due_times = await asyncio.to_thread(
            conditions_met, frozenset(overlay.waiting.values()), next_call, self.clock(), is_other_model
        )
        if message := apply_due(overlay, due_times):
            self.on_released()
            self._handle_moment(progress.Notice("edits", message))

    async def _read_attachments(self, text: str) -> Sequence[Attachment]:
        assert self.runner is not None
        head = self.runner.conversation.head
        read_files = asyncio.to_thread(self.files.content_for, text, self.session, head)
        content = await report_progress(read_files, self.files.progress, self.say)
        self.runner.conversation.memory = content.memory
        if content.note:
            self._handle_moment(progress.Notice("files", content.note))
        return content.attached

    async def _judge_draft(self, draft: Draft) -> str:
        return await self.judge(draft)

    async def wait_recorded(self, seconds: float) -> bool:
        """Wait at most `seconds` until everything so far is in the database; True if it is."""
        writer = self.writer
        if writer is None or not writer.pending:
            return True
        return await asyncio.to_thread(writer.wait, seconds, writer.last_ticket)

    def _make_reader(self, draft: Draft, attempt: int) -> AnswerReader:
        assert self.chat_model is not None
        own_id = f"{self.session.about.id}.{len(self.session.calls) + 1}"
        parts = self.chat_model, draft, own_id, attempt
        return make_reader(self.session, *parts, at=self.clock(), epoch=self._epoch)

    async def close(self) -> bool:
        """End the turn and the connection, and finish recording; True if everything was recorded."""
        if self.runner is not None:
            await self.runner.close()
        elif self.tools is not None:
            await self.tools.close()
        if self.client is not None:
            await self.client.close()
        if self._close_offline is not None:
            await self._close_offline()
        if self.writer is not None:
            return self.writer.close()
        self._release()
        return True

    def _release(self) -> None:
        """End the hosting of a stored session for which no writer was started."""
        if self._process is not None:
            end_hosting(self._process)
            with suppress(CtxtuiError):  # this process knows that the host has ended
                leases.release(database(self.config.settings.data_dir), self._process)
