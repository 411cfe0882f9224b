"""Tasks done without a screen: a hosted chat whose user is not there. It is on record as any chat is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from ctxtui.agent import events, progress
from ctxtui.agent.child import Agents
from ctxtui.agent.conversation import Draft, with_system
from ctxtui.agent.tools.command_tool import describe_call
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound
from ctxtui.core.session import MAIN, Session
from ctxtui.core.usage import Usage
from ctxtui.curation.context import Context
from ctxtui.curation.policies.policy import Step
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.chat_news import TOOL_MESSAGE, ChatNews
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.model_choice import params_for
from ctxtui.services.chat.request_forecast import RequestForecast, RequestForecaster, hold_reason, make_forecaster
from ctxtui.services.chat.spending import SendPermit, Spending, with_answer_limit
from ctxtui.services.chat.sub_agents.child_run import answer_text
from ctxtui.services.config.window_checks import CRITICAL, REMEDY, context_level
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, LocalCounts
from ctxtui.services.counting.labels import Labels
from ctxtui.services.counting.pricing import local_pricer, make_call_pricer, prices_for
from ctxtui.services.headless.job_log import JobLogs
from ctxtui.services.headless.run_options import Outcome, RequestSize, RunOptions, RunResult
from ctxtui.services.headless.run_progress import RunEdits, full_line, round_line, step_line, tokens_line
from ctxtui.services.project.model_window import ModelWindow
from ctxtui.services.project.progress import ReadingProgress
from ctxtui.services.project.progress import report_progress as wait_told
from ctxtui.services.project.report import RunPlan, RunReport, make_run_report
from ctxtui.tokens.weights import weigh
from ctxtui.views.lists.run_report import plain_lines as report_lines
from ctxtui.wire.request import ANSWER_LIMITS, Request
from ctxtui.wire.speech import user_message

Say = Callable[[str], object]
Observe = Callable[[ChatNews], object]


def unobserved(_: ChatNews) -> None:
    """Nobody looks on."""


class HeadlessRun:
    """Does what it is told (`tell`) with `host`, which nobody has opened yet, under the limits of `options`. `say`
    hears a line for people as things happen, `observe` everything, after the session has taken it in. Used with
    ``async with``; `go` does all of it for `options.task`."""

    def __init__(self, options: RunOptions, host: Host, say: Say, observe: Observe = unobserved) -> None:
        self._options = options
        self._host = host
        self._say = say
        self._observe = observe
        here = LocalCounts()
        # Labels are looked for where somebody reads of them.
        labels = Labels(host.config.settings.labels, here) if options.log_dir is not None else None
        self._counter = Counter(here, labels=labels)
        self._edits: RunEdits | None = None
        self._teller: RequestForecaster | None = None
        self._over = asyncio.Event()
        self._ended: list[Call] = []
        self._last: tuple[int, int] = (0, 0)
        """Messages and tokens of the last request."""
        self._size = RequestSize()
        self._spending = Spending(options.budget_usd)
        self._refused: list[str] = []
        self._steps: tuple[Step, ...] = ()
        self._stop: tuple[Outcome, str] | None = None
        self._logs: JobLogs | None = None
        self._reported = False

    @property
    def session(self) -> Session:
        """The session as it stands."""
        return self._host.session

    @property
    def agents(self) -> Agents:
        """Starts sub-agents, which count into the budget and the result of this run."""
        return self._host.children

    async def go(self) -> RunResult:
        """Do the task; what came of it. Raises `CtxtuiError` where it cannot begin: no model, no room for the task."""
        async with self:
            return await self.tell(self._options.task)

    async def __aenter__(self) -> Self:
        host = self._host
        session = await asyncio.to_thread(host.open)
        edits = self._edits = RunEdits(session, host.config.settings)
        overlay = await asyncio.to_thread(edits.of, MAIN)
        host.overlay = lambda: overlay
        host.children.overlay_of = edits.of
        host.children.may_spend, host.children.may_retry = self._may_spend, self._spending.retry_refusal
        host.profile = self._options.profile
        host.files.counter = self._counter
        host.judge = self._judge
        try:
            price = make_call_pricer(prices_for(host.config.settings))
            await host.begin(self._hear, price, self._trouble)
            self._prepare()
        except BaseException:
            await host.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._save)
        host = self._host
        whole = await host.close()
        if self._logs is not None:
            self._logged(self._logs.close)
        if not whole:
            self._say(f"warning: the end of the run is not on record: {host.writer and host.writer.trouble}")

    async def tell(self, words: str) -> RunResult:
        """Say `words` to the agent and wait until it rests; what came of it, in the figures of all so far. The first
        time what the window and the project come to is reported before. Raises `BadConfig` where they leave no room."""
        self._over.clear()
        self._stop, self._refused = None, []
        if not self._reported:
            await self._report(words)
            self._reported = True
        self._host.feed(events.UserSaid(words))
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            self._host.feed(events.Interrupted())
            raise
        await asyncio.to_thread(self._save)
        return self._result()

    def instruct(self, *parts: str) -> None:
        """The system prompt of the agent from the next request on, in one part or several; for when it rests."""
        host = self._host
        assert host.runner is not None
        host.own.system = parts
        host.switch_to(with_system(host.runner.conversation, parts), "the system prompt is another one")

    # Before the first call

    def _prepare(self) -> None:
        """What nobody is asked for later. Raises `BadConfig`, `NotFound`."""
        host, options = self._host, self._options
        chat_model, runner = host.chat_model, host.runner
        assert chat_model is not None and runner is not None
        self._steps = options.steps(chat_model.window)
        why = f" ({chat_model.why})" if chat_model.why else ""
        about = (
            "the offline provider, no model"
            if chat_model.is_offline
            else f"{chat_model.model} of {chat_model.endpoint}"
        )
        self._say(f"{about}{why}")
        if options.budget_usd is not None and not chat_model.endpoint.local and not has_price(host):
            raise BadConfig(
                f"no price is known for {chat_model.model}, so that no budget can be held",
                place="--budget-usd",
                way_out="give its rates in the setting prices",
            )
        self._tell_servers()
        allowed = self._allowed()
        runner.state = replace(runner.state, attended=False, allowed=allowed, most=options.rounds)
        book = book_for(host.session, self._counter, host.config.settings)
        if options.log_dir is not None:
            self._logs = JobLogs(options.log_dir, book, self._counter)
        prices = local_pricer(prices_for(host.config.settings))
        self._teller = make_forecaster(book, self._counter, chat_model, prices)
        id_ = host.session.about.id
        self._say(f"session {id_}: `ctxtui open {id_}` shows it, also while it runs")

    def _tell_servers(self) -> None:
        """Which MCP servers are not there."""
        if self._host.tools is None:
            return
        servers = self._host.tools.servers
        for one in servers.failed:
            self._say(f"warning: the MCP server {one.server.name} does not start: {one.error}")
        for server in servers.unallowed:
            leave = f"`ctxtui mcp allow {server.name}` lets it start"
            self._say(f"the MCP server {server.name} of {server.place} was not allowed yet: {leave}")

    def _allowed(self) -> frozenset[str]:
        """The tools that need no leave. Raises `NotFound` for a name that fits none."""
        names = self._host.tool_names
        for wanted in self._options.allow:
            if not any(fnmatchcase(name, wanted) for name in names):
                known = f"there are {', '.join(names)}" if names else "no tool is offered at all"
                raise NotFound(f"no tool {wanted!r}", place="--allow", way_out=known)
        return frozenset(n for n in names if any(fnmatchcase(n, wanted) for wanted in self._options.allow))

    async def _report(self, task: str) -> None:
        host = self._host
        assert host.chat_model is not None
        if host.files.usable_tokens:
            progress = ReadingProgress()
            finding = asyncio.to_thread(found_before, host, task, self._counter, progress)
            for line in report_lines(await wait_told(finding, progress, self._say)):
                self._say(line)
        else:
            self._say(f"warning: the window of {host.chat_model.model} is not known: nothing is held against it")
        if self._steps:
            self._say(f"policies: {', '.join(map(step_line, self._steps))}")

    # While it runs

    async def _judge(self, draft: Draft) -> str:
        """Tell of the request that is about to leave; why it may not."""
        host, runner, teller = self._host, self._host.runner, self._teller
        assert runner is not None and teller is not None
        found = await asyncio.to_thread(teller.forecast, draft, host.clock())
        context = Context(
            host.session.tree, draft.sent_head, draft.skeleton.dialect, Request((), draft.skeleton).params
        )
        self._last = len(context.messages), found.total if found is not None else self._last[1]
        state, most = runner.state, self._options.rounds
        if not (most and state.rounds >= most):
            self._tell_trims(MAIN)
            self._tell_widened()
            total = found.total if found is not None else None
            self._say(round_line(state.rounds + 1, most, self._last[0], total))
            self._tell_level(total or 0, len(draft.body.decode("utf-8", "replace")))
        await asyncio.to_thread(self._save)
        reason = hold_reason(found, host.config.settings)
        if reason:
            self._stop = Outcome.REFUSED, f"a rule of the settings holds the request: {reason}"
            return reason
        leave = await self._reserve(MAIN, teller.chat_model, found, draft)
        if leave.refused:
            self._stop = Outcome.BUDGET, leave.refused
        elif leave.answer:
            runner.draft = with_answer_limit(draft, leave.answer)
        return leave.refused

    async def _reserve(
        self, thread: str, chat_model: ChatModel, found: RequestForecast | None, draft: Draft
    ) -> SendPermit:
        leave = await self._spending.reserve(thread, chat_model, found, draft)
        if leave.answer:
            self._say(f"{_lead(thread)}{self._spending.summary}: the answer gets {leave.answer:,} tokens at most")
        return leave

    def _tell_level(self, total: int, characters: int) -> None:
        """Say that the request about to leave is large, when it has become so."""
        level = context_level(total, self._host.files.usable_tokens, self._host.config.settings)
        if level.number > self._size.level:
            lead = "critical" if level.number == CRITICAL else "warning"
            self._say(f"{lead}: {level.description}: {REMEDY} (--policy budget, --messages, --length)")
        self._size = RequestSize(characters, total, self._last[0], level.number)

    async def _may_spend(
        self, thread: str, chat_model: ChatModel, found: RequestForecast | None, draft: Draft
    ) -> SendPermit:
        """The same of a sub-agent's request."""
        self._tell_trims(thread)
        size = f"~{found.total:,} tokens" if found is not None else "tokens not counted"
        self._say(f"{thread}: round {self._spending.agents[thread] + 1}: {size}")
        return await self._reserve(thread, chat_model, found, draft)

    def _tell_trims(self, thread: str) -> None:
        assert self._edits is not None
        lead = _lead(thread)
        for line in self._edits.news(thread):
            if self._logs is not None:
                self._logs.of(thread).trims.append(line)
            self._say(f"{lead}{line}")

    def _tell_widened(self) -> None:
        window = next((s.settings["n"] + 1 for s in self._steps if s.policy.name == "sliding_window"), 0)
        if window and self._last[0] > window:
            self._say(f"the window of {window} messages is widened to {self._last[0]}: a call stays with its result")

    def _save(self) -> None:
        """Put the edits on record; for a worker thread. What cannot be written is tried with the next request."""
        if self._edits is not None:
            try:
                self._edits.save(self._host.writer)
            except CtxtuiError as error:
                self._say(f"warning: edits are not on record yet: {error}")

    def _hear(self, news: ChatNews) -> None:
        self._host.session.fold(news.events)
        if news.moment is not None:
            self._everywhere(news.moment, news.thread)
            if news.thread == MAIN:
                self._of_main(news.moment)
        self._observe(news)

    def _everywhere(self, moment: progress.Moment, thread: str) -> None:
        """What is told of every thread."""
        lead = _lead(thread)
        match moment:
            case progress.RequestSent(_, _, attempt) if attempt > 1:
                self._say(f"{lead}attempt {attempt}")
            case progress.CallEnded(call, _, _):
                self._call_ended(call, lead)
            case progress.CallFailed(_, call) if call is not None:
                self._paid(call)
            case progress.ToolBegan(call):
                self._say(f"{lead}tool {describe_call(call)}")
            case progress.Noted("refused", text):
                self._say(f"{lead}refused: {text}")
            case progress.Noted("files", text):
                self._say(f"{lead}files: {text}")
            case progress.Noted("retry", text):
                self._say(f"{lead}{text}")
            case progress.Noted("error", text) if lead:
                self._say(f"{lead}error: {text}")
            case progress.RequestHeld(reason) if lead:
                self._say(f"{lead}ended: {reason}")
            case progress.Rested():
                self._spending.release(thread)

    def _of_main(self, moment: progress.Moment) -> None:
        """What the run itself hangs on."""
        match moment:
            case progress.CallBegan(call) if call.first_byte is not None and self._teller is not None:
                runner = self._host.runner
                if runner is not None and runner.draft is not None:
                    self._teller.note_answer_begun(runner.draft, call.first_byte)
            case progress.CallEnded(call, _, _):
                self._ended.append(call)
            case progress.Noted("refused", text):
                self._refused.append(text)
            case progress.Noted("error", text):
                self._stop = Outcome.ERROR, text
            case progress.Noted(kind, text) if kind == TOOL_MESSAGE:
                self._say(text)
            case progress.RequestHeld(reason):
                self._held(reason)
            case progress.RetryWaits() if why := self._spending.retry_refusal(MAIN):
                self._stop = Outcome.BUDGET, why
                self._held(why)
            case progress.Rested():
                self._over.set()

    def _logged(self, work: Callable[[], None]) -> None:
        """Write the folder of the run; what cannot be written is said, and the run goes on."""
        try:
            work()
        except CtxtuiError as error:
            self._say(f"warning: --log-dir: {error}")

    def _call_ended(self, call: Call, lead: str) -> None:
        chat_model, logs = self._host.chat_model, self._logs
        usd = self._paid(call)
        self._spending.note_answer(call.thread)
        if logs is not None:
            self._logged(lambda: logs.of(call.thread).take(call, usd))
        window = chat_model.window if chat_model is not None and call.thread == MAIN else 0
        self._say(lead + tokens_line(call.usage, window))
        full = full_line(call.usage, window)
        if full:
            self._say(full)

    def _paid(self, call: Call) -> float | None:
        """What `call`, which is over, cost (None: not known)."""
        assert self._host.chat_model is not None
        return self._spending.add_call(call, self._host.chat_model, self._host.price)

    def _held(self, reason: str) -> None:
        """Nobody is there to let a request go that is held."""
        if self._stop is None:
            self._stop = Outcome.ROUNDS, reason
        # After the machine has done what it is at.
        asyncio.get_running_loop().call_soon(self._host.feed, events.Interrupted(reason))

    def _trouble(self) -> None:
        writer = self._host.writer
        if writer is not None and writer.trouble is not None:
            self._say(f"warning: not recorded: {writer.trouble}")

    # The end

    def _result(self) -> RunResult:
        options, spending = self._options, self._spending
        edits = self._edits.by_policy() if self._edits is not None else {}
        usages = [call.usage for call in self._ended if call.usage is not None]
        outcome, why = self._stop or (Outcome.DONE, "")
        if self._stop is None and self._refused:
            outcome, why = Outcome.REFUSED, self._refused[0]
        last = usages[-1].output if usages else 0
        if options.budget_usd is not None:
            self._say(f"{spending.summary}, of ${options.budget_usd:g}")
        return RunResult(
            text=answer_text(self._host.session.tree, self._ended[-1]) if self._ended else "",
            outcome=outcome,
            why=why,
            rounds=len(self._ended),
            most=options.rounds,
            messages=self._last[0] + bool(self._ended),
            slid="sliding_window" in edits or "hybrid" in edits,
            estimated=self._last[1] + last,
            edits={step.policy.name: edits.get(step.policy.name, 0) for step in self._steps},
            usage=spending.usage,
            cost=None if spending.partial else spending.usd,
            least=spending.usd,
            agents=len(spending.agents),
            session=self._host.session.about.id,
            size=self._size,
        )


def _lead(thread: str) -> str:
    """What lines about `thread` begin with."""
    return "" if thread == MAIN else f"{thread}: "


def found_before(host: Host, task: str, counter: Counter, progress: ReadingProgress) -> RunReport:
    """The window and the project of `host`'s chat, which has begun, before it does `task`; for a worker thread, which
    tells `progress` how far it is. Raises
    `BadConfig` where nothing of the window is left."""
    chat_model, runner, settings = host.chat_model, host.runner, host.config.settings
    assert chat_model is not None and runner is not None
    book = book_for(host.session, counter, settings)
    card, weights = book.card(chat_model.model), book.weights(chat_model.model)
    takes = {"system": 0, "tools": 0, "task": 0}
    said = [("task", item.block) for item in user_message(runner.conversation.dialect, task)]
    there = [(item.place.section, item.block) for item in host.session.tree.items(runner.conversation.head)]
    for part, block in (*there, *said):
        if part in takes and block.kind != HEADER:
            takes[part] += round(weigh(counter(card)(block), weights))
    params = params_for(chat_model, settings)
    limits = [n for n in map(params.get, ANSWER_LIMITS) if isinstance(n, int)]
    takes |= {"answer": limits[0]} if limits else {}
    memory, own = host.files.memory_for(task), host.files.card
    plan = RunPlan(
        model=chat_model.model,
        task=task,
        takes=takes,
        window=ModelWindow(
            chat_model.model,
            own,
            chat_model.window or own.window or 0,
            host.files.usable_tokens,
            chat_model.origin or "model table",
        ),
        apart=host.files.memory_paths,
        memory=memory.texts if memory is not None else (),
    )
    return make_run_report(plan, host.config, host.cwd, counter, progress)


def has_price(host: Host) -> bool:
    """Whether it is known what the requests of `host`'s chat cost."""
    chat_model = host.chat_model
    assert chat_model is not None
    one = Call("", "", provider=chat_model.endpoint.name, model=chat_model.model, usage=Usage(1), started=host.clock())
    return local_pricer(prices_for(host.config.settings))([one])[0][0] is not None
