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
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ctxtui import __version__
from ctxtui.agent import events, progress
from ctxtui.agent.conversation import Conversation, ConversationStart, Draft, begin, go_on
from ctxtui.agent.exchange import AnswerReader
from ctxtui.agent.runner import Runner, Surroundings
from ctxtui.agent.tools.registry import Toolbox
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.agent.turn import TurnState
from ctxtui.analysis.growth.forks import CONTINUED
from ctxtui.core.call import Epoch, EpochStart
from ctxtui.core.errors import CtxtuiError, InUse, NotFound
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Session, ThreadSeen, TipMoved
from ctxtui.core.tree import Tree
from ctxtui.services.chat.chat_model import OFFLINE, ChatModel, ModelChoice
from ctxtui.services.chat.context_window import told_by, windowed
from ctxtui.services.chat.continue_from import CHAT, Continuation, past_of
from ctxtui.services.chat.model_choice import choose, params_for, refined
from ctxtui.services.chat.recorder import Recording
from ctxtui.services.chat.request_edits import Edited
from ctxtui.services.chat.resume import OPENED, Recovered, dialect_of, recover
from ctxtui.services.chat.tool_process import ToolProcess
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.paths import database
from ctxtui.store import leases
from ctxtui.store.host_process import HostProcess, ended, hosting
from ctxtui.store.in_flight import left_over
from ctxtui.store.writer import Ended, SessionBegun, SessionResumed, Writer
from ctxtui.wire.registry import DIALECTS

if TYPE_CHECKING:
    from ctxtui.providers.rate_limits import Headroom
    from ctxtui.providers.sdk_client import SdkLine
    from ctxtui.services.config.config import Config
    from ctxtui.services.editing.overlay import ThreadEdits
    from ctxtui.store.rows import Price
    from ctxtui.tokens.models import ModelCard

SYSTEM: Final = (
    "You are an assistant in a terminal. Your tools read, search and write files in the workspace, whose paths are "
    "relative. Look before you answer; say plainly what you found and what you did not. Be brief."
)


_PATIENCE: Final = 2.0
"""Seconds for which a chat of this program that is being left may take to be over."""


@dataclass(frozen=True, slots=True)
class ChatNews:
    """Something happened: a `moment` of the turn (None: something else), and what of it is new in the session."""

    moment: progress.Moment | None
    events: tuple[Event, ...] = ()


Tell = Callable[[ChatNews], None]
Judge = Callable[[Draft], Awaitable[str]]


async def _no_rule(_: Draft) -> str:
    return ""


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
        self.lost: list[str] = []
        self.writer: Writer | None = None
        self.session = Session(Tree())
        self.judge: Judge = _no_rule
        self.overlay: Callable[[], ThreadEdits | None] = lambda: None
        """Gives the edits under which requests leave."""
        self._clock = clock
        self._past: Continuation | None = None
        self._process: HostProcess | None = None
        """This process as the host of the stored session that goes on."""
        self._record: Recording | None = None
        self._queue: tuple[str, ...] = ()
        """What waits for the next request, as it is on record."""
        self._line: SdkLine | None = None
        self._tell: Tell = lambda news: None
        self._epoch = Epoch()
        self._learned: ChatModel | None = None
        """The partner as its refusal tells of it, for the next turn."""
        self._close_partner: Callable[[], Awaitable[None]] | None = None

    # Opening

    def open(self) -> Session:
        """The session to show: that which goes on, or a new one. Raises what opening a recording raises, and `InUse`
        where another process hosts the session that is to go on."""
        wish = self.wish
        if wish.name:
            self._past = past_of(wish.name, wish.thread, wish.call, self.config.settings, self.cwd, self._hold)
        past = self._past
        if past is not None and past.stored:
            self.session = past.session
            return self.session
        now = time.strftime("%Y%m%d-%H%M%S", time.localtime(self._clock()))
        id_ = f"chat-{now}-{uuid.uuid4().hex[:6]}"
        about = Described(id=id_, source="ctxtui", cwd=str(self.cwd), client=CHAT, version=__version__)
        self.session = Session(Tree()).fold([about, ThreadSeen(MAIN)])
        if past is not None:
            self.session.apply(Described(title=f"branch of {past.title}"))
        return self.session

    def _hold(self, id_: str) -> None:
        """Become the host of the stored session `id_`."""
        self._process = hosting(time.time())
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                leases.claim(database(self.config.settings.data_dir), id_, self._process)
                return
            except InUse as error:
                if error.pid != os.getpid() or time.monotonic() > until:
                    ended(self._process)
                    self._process = None
                    raise
                time.sleep(0.05)
            except CtxtuiError:
                return  # nothing can be written now: the writer says so, and takes the session when it can be

    async def begin(self, tell: Tell, price: Price, trouble: Callable[[], object]) -> None:
        """Find the partner, make the conversation, begin to record. Raises what `choose` raises."""
        self._tell = tell
        partner = await self._chosen()
        await self.meet(partner)
        assert self.partner is not None
        conversation = self._conversation(self.partner)
        card = model_table().card(self.partner.model)
        conversation.shape = self._shape(card)
        self._begin_record(conversation, price, trouble)
        around = Surroundings(self._moment, self._judged, self._exchange, self._clock, self._recorded)
        assert self._line is not None
        self.runner = Runner(conversation, ToolProcess(self.cwd, known=self._outside), self._line, around)
        self._queue = self.recovered.queue
        self.runner.state = TurnState(most=self.config.settings.max_rounds, queue=self._queue)
        self._tell(ChatNews(None, (Described(window=self.partner.window), TipMoved(MAIN, conversation.head))))

    async def meet(self, partner: ChatModel) -> None:
        """Open the line to `partner`; the embedded provider is started."""
        from ctxtui.providers.sdk_client import SdkLine

        if partner.is_offline:
            from ctxtui.services.chat.offline_provider import start

            partner, self._close_partner = await start(partner)
        self._line = SdkLine(partner.endpoint, self._clock)
        await self._line.open()
        if not partner.endpoint.local:
            partner = await refined(partner, self._line, self.config)
        self.partner = partner

    async def _chosen(self) -> ChatModel:
        """A chat that goes on keeps its model where nothing else is asked for and the model is at hand."""
        wish, past = self.wish, self._past
        if past is not None and past.model not in ("", OFFLINE) and not (wish.model or wish.provider or wish.base_url):
            with suppress(NotFound):
                return await choose(replace(wish, model=past.model), self.config, os.environ)
        return await choose(wish, self.config, os.environ)

    def _conversation(self, partner: ChatModel) -> Conversation:
        past, session = self._past, self.session
        dialect, params = partner.endpoint.dialect, params_for(partner, self.config.settings.answer_tokens)
        before = past.before if past is not None else ()
        if past is not None and past.stored:
            pending = left_over(database(self.config.settings.data_dir), past.stored, self._process)
            spoken = dialect_of(pending, past.last) or dialect
            talk = go_on(session.tree, session.threads[MAIN].tip, spoken, params)
            self.recovered = recover(talk, pending, partner.endpoint.name, frozenset(session.calls), self._own_id())
            number = max((call.epoch.number for call in session.calls.values()), default=0)
            self._epoch = Epoch(number + 1, EpochStart.RESUME)
            if spoken == dialect:
                return talk
            before = tuple(item for item in session.tree.items(talk.head) if item.place.section == "messages")
        tools = [tool.definition() for tool in Toolbox(Workspace(self.cwd)).tools.values()]
        system = (past.system if past is not None else "") or SYSTEM
        made = begin(session.tree, ConversationStart(dialect, params, tools, system, before))
        self.lost = made.lost
        return made

    def _shape(self, card: ModelCard) -> Edited:
        settings = self.config.settings
        profile = None
        if settings.profile:
            from ctxtui.services.config.policy_registry import profile_at

            profile = profile_at(settings.profile, self.cwd)
            if profile is not None and self.config.from_project("profile"):
                # What a folder brings along proposes; only its user's own word lets it act.
                profile = replace(profile, armed=False)
        return Edited(self.session.tree, lambda: self.overlay(), card, profile, settings.usable_share)

    def _outside(self) -> dict[str, str]:
        """What edits put outside the conversation, by name."""
        shape = self.runner.conversation.shape if self.runner is not None else None
        return shape.outside() if isinstance(shape, Edited) else {}

    def _begin_record(self, talk: Conversation, price: Price, trouble: Callable[[], object]) -> None:
        path = database(self.config.settings.data_dir)
        writer = Writer(path, self.session.tree, price=price, changed=trouble, host=self._process)
        self.writer = writer
        self._record = Recording(self.session, writer.put, self._clock)
        if self._past is not None and self._past.stored:
            writer.put(SessionResumed(self._past.stored))
        else:
            first = (self.session.about, ThreadSeen(MAIN), TipMoved(MAIN, talk.head))
            writer.put(SessionBegun(Session(self.session.tree).fold(first)))
            if self._past is not None and self._past.origin is not None:
                noted = self._record.take(progress.Noted(CONTINUED, self._past.origin.text))
                self._tell(ChatNews(None, tuple(noted)))
            self._record.slot(OPENED, json.dumps({"dialect": talk.dialect, "model": talk.model}))
        found = self.recovered
        if found.partial is not None:
            writer.put(Ended(found.partial, found.head))
            self._tell(ChatNews(None, (CallSeen(found.partial),)))
        if found.stopped:
            self._record.take(progress.ResultsCame(found.stopped, talk.head))

    # A turn

    def feed(self, event: events.Event) -> None:
        """What the user does."""
        if self.runner is None:
            return
        self.runner.feed(event)
        self._keep_queue()

    def _keep_queue(self) -> None:
        """What waits for the next request is on record as it is now."""
        queue = self.runner.state.queue if self.runner is not None else self._queue
        if queue != self._queue and self._record is not None:
            self._queue = queue
            self._record.slot("queue", json.dumps(queue))

    @property
    def headroom(self) -> tuple[Headroom, ...]:
        """What the provider's rate limits left at the last answer, the tightest first."""
        return self._line.headroom if self._line is not None else ()

    async def counted(self, draft: Draft) -> int | None:
        """The input tokens of `draft` as the provider counts them; None where it does not say. Raises
        `ProviderError`."""
        from ctxtui.providers.token_counting import counted

        return await counted(self._line, draft.body) if self._line is not None else None

    def change_model(self, model: str) -> None:
        """Go on with another model of the same provider, from the next request on. Raises `BadConfig` where a window
        in the settings does not fit it."""
        if self.partner is None or self.runner is None or self.runner.state.running:
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
        params = params_for(partner, self.config.settings.answer_tokens)
        made = go_on(self.session.tree, talk.head, talk.dialect, params)
        made.shape = self._shape(model_table().card(partner.model))
        self.runner.conversation = made
        self._tell(ChatNews(None, (Described(window=partner.window),)))

    def keep_draft(self, text: str) -> None:
        """Keep what stands in the prompt."""
        if self._record is not None:
            self._record.slot("draft", text)

    def back_to(self, head: int) -> None:
        """Go on from an earlier context of the session: what is said next begins a branch."""
        if self.runner is not None and self._record is not None and not self.runner.state.running:
            self.runner.conversation.back_to(head)
            noted = self._record.moved(head, self.session.tree[head].depth)
            self._tell(ChatNews(None, tuple(noted)))

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
        self._tell(ChatNews(moment, tuple(noted)))

    async def _judged(self, draft: Draft) -> str:
        return await self.judge(draft)

    async def _recorded(self, seconds: float) -> bool:
        """Wait at most so long until everything up to now is in the file; whether it is."""
        writer = self.writer
        if writer is None or not writer.pending:
            return True
        return await asyncio.to_thread(writer.wait, seconds, writer.last_ticket)

    def _own_id(self) -> str:
        return f"{self.session.about.id}.{len(self.session.calls) + 1}"

    def _exchange(self, draft: Draft, attempt: int) -> AnswerReader:
        partner = self.partner
        assert partner is not None
        return AnswerReader(
            draft,
            DIALECTS[partner.endpoint.dialect].stream_reader(),
            thread=MAIN,
            provider=partner.endpoint.name,
            model=partner.model,
            own_id=self._own_id(),
            started=self._clock(),
            epoch=self._epoch,
            attempt=attempt,
            known=frozenset(self.session.calls),
        )

    async def close(self) -> bool:
        """End the turn (its partial answer is kept), the line and the record; whether everything got into the file."""
        if self.runner is not None:
            await self.runner.close()
        if self._line is not None:
            await self._line.close()
        if self._close_partner is not None:
            await self._close_partner()
        if self.writer is not None:
            return self.writer.close()
        if self._process is not None:
            ended(self._process)
            with suppress(CtxtuiError):  # what says that it hosts is void already
                leases.release(database(self.config.settings.data_dir), self._process)
        return True
