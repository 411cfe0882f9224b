"""Run tasks without a screen, in a hosted chat without a user.

It is recorded like any chat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
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
from ctxtui.curation.policies.builtin.sliding_window import NAME as SLIDING
from ctxtui.curation.policies.policy import Step
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.chat_news import TOOL_MESSAGE, ChatNews
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.model_choice import params_for
from ctxtui.services.chat.request_forecast import RequestForecast, RequestForecaster, hold_reason, make_forecaster
from ctxtui.services.chat.spending import SendPermit, Spending, limit_answer
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
from ctxtui.services.project.progress import ReadingProgress, report_progress
from ctxtui.services.project.report import RunPlan, RunReport, make_run_report
from ctxtui.tokens.weights import weigh
from ctxtui.views.lists.run_report import budget_lines
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import plain
from ctxtui.wire.request import Request, read_answer_limit
from ctxtui.wire.speech import user_message
from ctxtui.wire.translate.turns import SYSTEM

Say = Callable[[str], object]
Observe = Callable[[ChatNews], object]


class HeadlessRun:
    """Sends messages (`tell`) to the agent of `host`, which must not be open yet.

    `say` receives progress lines, `observe` all events after the session has applied them. Use it with ``async with``,
    or `go` alone.
    """

    _edits: RunEdits
    _forecaster: RequestForecaster

    def __init__(self, options: RunOptions, host: Host, say: Say, observe: Observe = lambda news: None) -> None:
        self._options = options
        self._host = host
        self._print = say
        self._observe = observe
        counts = LocalCounts()
        # Labels are only needed for the log folder.
        labels = Labels(host.config.settings.labels, counts) if options.log_dir is not None else None
        self._counter = Counter(counts, labels=labels)
        self._rested = asyncio.Event()
        self._ended: list[Call] = []
        self._size = RequestSize()
        self._answer_tokens: int | None = None
        """Tokens of the answer to the last request, 0 if not reported; None: no answer yet."""
        self._spending = Spending(options.budget_usd)
        self._refused: list[str] = []
        self._steps: tuple[Step, ...] = ()
        self._stop: tuple[Outcome, str] | None = None
        self._logs: JobLogs | None = None
        self._reported = False
        self._error: Exception | None = None
        """Raised by ``say`` or ``observe``."""

    @property
    def session(self) -> Session:
        return self._host.session

    @property
    def agents(self) -> Agents:
        """Starts sub-agents; they count towards the budget and the result of this run."""
        return self._host.children

    async def go(self) -> RunResult:
        """Run `options.task` and return its result. Raises `CtxtuiError` if it cannot begin, and what `tell` raises."""
        async with self:
            return await self.tell(self._options.task)

    async def __aenter__(self) -> Self:
        host = self._host
        session = await asyncio.to_thread(host.open)
        edits = self._edits = RunEdits(session, host.config.settings)
        overlay = await asyncio.to_thread(edits.of_thread, MAIN)
        host.overlay = lambda: overlay
        host.children.overlay_of = edits.of_thread
        host.children.may_spend, host.children.may_retry = self._may_spend, self._spending.retry_refusal
        host.profile = self._options.profile
        host.files.counter = self._counter
        host.judge = self._judge
        try:
            price = make_call_pricer(prices_for(host.config.settings))
            reporting = asyncio.create_task(self._report_starting_servers())
            try:
                await host.begin(self._handle_news, price, self._report_trouble)
            finally:
                reporting.cancel()
            self._check_options()
        except BaseException:
            await host.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._store_edits)
        host = self._host
        is_recorded = await host.close()
        if self._logs is not None:
            self._try_log(self._logs.close)
        if not is_recorded and host.writer is not None:
            why = host.writer.trouble or "it took too long"
            self._say(f"warning: the end of the run is not recorded: {why}")
        if kind is None:
            self._raise_error()

    async def tell(self, message: str) -> RunResult:
        """Send a message to the agent; returns the result so far when the turn has ended.

        Raises `BadConfig` if window and project leave no room, and errors of ``say`` and ``observe``.
        """
        self._rested.clear()
        self._stop, self._refused = None, []
        if not self._reported:
            await self._report_before_first(message)
            self._reported = True
        self._host.feed(events.UserSaid(message))
        try:
            await self._rested.wait()
            self._raise_error()
        except BaseException:
            self._host.feed(events.Interrupted())
            raise
        await asyncio.to_thread(self._store_edits)
        return self._make_result()

    def _say(self, line: str) -> None:
        try:
            self._print(line)
        except Exception as error:
            self._error = error  # may be caught on its way, as an error of the turn
            raise

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def instruct(self, *parts: str) -> None:
        """Change the resting agent's system prompt (one or several parts) from the next request on."""
        host = self._host
        assert host.runner is not None
        host.own.system = parts
        host.switch_to(with_system(host.runner.conversation, parts), "the system prompt has changed")

    # Before the first call

    def _check_options(self) -> None:
        host, options = self._host, self._options
        chat_model, runner = host.chat_model, host.runner
        assert chat_model is not None and runner is not None
        self._steps = options.steps(chat_model.window)
        why = f" ({chat_model.why})" if chat_model.why else ""
        model = f"{chat_model.model} of {chat_model.endpoint}"
        about = "the offline provider, no model" if chat_model.is_offline else model
        self._say(f"{about}{why}")
        if options.budget_usd is not None and not chat_model.endpoint.local and not has_price(host):
            raise BadConfig(
                f"no price is known for {chat_model.model}, so no budget can be enforced",
                place="--budget-usd",
                way_out="give its rates in the setting prices",
            )
        self._report_servers()
        allowed = self._allowed_tools()
        runner.state = replace(runner.state, attended=False, allowed=allowed, max_rounds=options.rounds)
        book = book_for(host.session, self._counter, host.config.settings)
        if options.log_dir is not None:
            self._logs = JobLogs(options.log_dir, book, self._counter)
        prices = local_pricer(prices_for(host.config.settings))
        self._forecaster = make_forecaster(book, self._counter, chat_model, prices)
        id_ = host.session.about.id
        self._say(f"session {id_}: `ctxtui open {id_}` shows it, also while it runs")

    async def _report_starting_servers(self) -> None:
        while self._host.tools is None:
            await asyncio.sleep(0.1)
        await self._host.tools.servers.report_starting(self._say)

    def _report_servers(self) -> None:
        assert self._host.tools is not None
        servers = self._host.tools.servers
        for failure in servers.failed:
            self._say(f"warning: the MCP server {failure.server.name} does not start: {failure.error}")
        for server in servers.unallowed:
            hint = f"`ctxtui mcp allow {server.name}` lets it start"
            self._say(f"the MCP server {server.name} of {server.place} was not allowed yet: {hint}")

    def _allowed_tools(self) -> frozenset[str]:
        names = self._host.tool_names
        for pattern in self._options.allow:
            if not any(fnmatchcase(name, pattern) for name in names):
                hint = f"there are {', '.join(names)}" if names else "no tool is offered at all"
                raise NotFound(f"no tool {pattern!r}", place="--allow", way_out=hint)
        return frozenset(n for n in names if any(fnmatchcase(n, pattern) for pattern in self._options.allow))

    async def _report_before_first(self, task: str) -> None:
        host = self._host
        assert host.chat_model is not None
        if host.files.usable_tokens:
            progress = ReadingProgress()
            finding = asyncio.to_thread(report_before_run, host, task, self._counter, progress)
            for line in _report_lines(await report_progress(finding, progress, self._say)):
                self._say(line)
        else:
            self._say(f"warning: the window of {host.chat_model.model} is not known: only limits in tokens are checked")
        if self._steps:
            self._say(f"policies: {', '.join(map(step_line, self._steps))}")

    # While it runs

    async def _judge(self, draft: Draft) -> str:
        """Report on the next request; returns the reason not to send it ("": send it)."""
        host, runner, forecaster = self._host, self._host.runner, self._forecaster
        assert runner is not None
        rounds, max_rounds = runner.state.rounds, self._options.rounds
        if max_rounds and rounds >= max_rounds:
            return ""  # the runner holds it
        forecast = await asyncio.to_thread(forecaster.forecast, draft, host.clock())
        context = Context(
            host.session.tree, draft.sent_head, draft.skeleton.dialect, Request((), draft.skeleton).params
        )
        messages, tokens = len(context.messages), forecast.total if forecast is not None else None
        self._report_trims(MAIN)
        # The policies count neither system messages nor the message with the memory.
        system = sum(message.role in SYSTEM for message in context.messages)
        self._report_widened(messages - system - (runner.conversation.memory is not None))
        self._say(round_line(rounds + 1, max_rounds, messages, tokens))
        level = self._report_level(tokens or 0)
        await asyncio.to_thread(self._store_edits)
        reason = hold_reason(forecast, host.config.settings)
        if reason:
            self._stop = Outcome.REFUSED, f"a rule of the settings holds the request: {reason}"
            return reason
        permit = await self._reserve(MAIN, forecaster.chat_model, forecast, draft)
        if permit.refused:
            self._stop = Outcome.BUDGET, permit.refused
            return permit.refused
        if permit.answer:
            runner.draft = limit_answer(draft, permit.answer)
        characters = len(draft.body.decode("utf-8", "replace"))
        self._size, self._answer_tokens = RequestSize(characters, tokens or 0, messages, level), None
        return ""

    async def _reserve(
        self, thread: str, chat_model: ChatModel, forecast: RequestForecast | None, draft: Draft
    ) -> SendPermit:
        permit = await self._spending.reserve(thread, chat_model, forecast, draft)
        if permit.answer:
            self._say(
                f"{_line_prefix(thread)}{self._spending.summary}: the answer gets {permit.answer:,} tokens at most"
            )
        return permit

    def _report_level(self, tokens: int) -> int:
        level = context_level(tokens, self._host.files.usable_tokens, self._host.config.settings)
        if level.number > self._size.level:
            lead = "critical" if level.number == CRITICAL else "warning"
            options = "--policy budget, --max-context-messages, --max-tool-result-length"
            self._say(f"{lead}: {level.description}: {REMEDY} ({options})")
        return level.number

    async def _may_spend(
        self, thread: str, chat_model: ChatModel, forecast: RequestForecast | None, draft: Draft
    ) -> SendPermit:
        self._report_trims(thread)
        size = f"~{forecast.total:,} tokens" if forecast is not None else "tokens not counted"
        self._say(f"{thread}: round {self._spending.agents[thread] + 1}: {size}")
        return await self._reserve(thread, chat_model, forecast, draft)

    def _report_trims(self, thread: str) -> None:
        lines, logs, lead = self._edits.new_lines(thread), self._logs, _line_prefix(thread)
        if lines and logs is not None:
            self._try_log(lambda: logs.log_for(thread).trims.extend(lines))
        for line in lines:
            self._say(f"{lead}{line}")

    def _report_widened(self, messages: int) -> None:
        for step in self._steps:
            if step.policy.name == SLIDING:
                settings = step.policy.settings(step.settings)
                limit = settings["n"] + settings["keep_first"] + settings["slack"]
                if messages > limit:
                    self._say(
                        f"the window of {limit} messages is widened to {messages}: calls keep their results, pins stay"
                    )

    def _store_edits(self) -> None:
        """Store the edits; for a worker thread. A failure is reported; the next call tries again."""
        try:
            self._edits.save(self._host.writer)
        except CtxtuiError as error:
            self._say(f"warning: edits are not recorded yet: {error}")

    def _handle_news(self, news: ChatNews) -> None:
        try:
            self._host.session.fold(news.events)
            if news.moment is not None:
                self._report_event(news.moment, news.thread)
                if news.thread == MAIN:
                    self._handle_main_event(news.moment)
            self._observe(news)
        except Exception as error:  # noqa: BLE001 - raised by `tell`, which would wait forever
            self._error = error
            self._rested.set()

    def _report_event(self, moment: progress.ProgressEvent, thread: str) -> None:
        lead = _line_prefix(thread)
        match moment:
            case progress.RequestSent(_, _, attempt) if attempt > 1:
                self._say(f"{lead}attempt {attempt}")
            case progress.CallEnded(call, _, _):
                self._report_call(call, lead)
            case progress.CallFailed(_, call) if call is not None:
                self._add_cost(call)
            case progress.ToolBegan(call):
                self._say(f"{lead}tool {describe_call(call)}")
            case progress.Notice("refused", text):
                self._say(f"{lead}refused: {text}")
            case progress.Notice("files", text):
                self._say(f"{lead}files: {text}")
            case progress.Notice("retry", text):
                self._say(f"{lead}{text}")
            case progress.Notice("error", text) if lead:
                self._say(f"{lead}error: {text}")
            case progress.DraftHeld(reason) if lead:
                self._say(f"{lead}ended: {reason}")
            case progress.TurnEnded():
                self._spending.release(thread)

    def _handle_main_event(self, moment: progress.ProgressEvent) -> None:
        match moment:
            case progress.CallBegan(call) if call.first_byte is not None:
                runner = self._host.runner
                assert runner is not None and runner.draft is not None
                self._forecaster.note_answer_begun(runner.draft, call.first_byte)
            case progress.CallEnded(call, _, _):
                self._ended.append(call)
                self._answer_tokens = call.usage.output if call.usage is not None else 0
            case progress.Notice("refused", text):
                self._refused.append(text)
            case progress.Notice("error", text):
                self._stop = Outcome.ERROR, text
            case progress.Notice(kind, text) if kind == TOOL_MESSAGE:
                self._say(text)
            case progress.DraftHeld(reason):
                self._end_turn(reason)
            case progress.RetryWaits() if why := self._spending.retry_refusal():
                self._stop = Outcome.BUDGET, why
                self._end_turn(why)
            case progress.TurnEnded():
                self._rested.set()

    def _try_log(self, work: Callable[[], None]) -> None:
        try:
            work()
        except CtxtuiError as error:
            self._say(f"warning: --log-dir: {error}")

    def _report_call(self, call: Call, lead: str) -> None:
        chat_model, logs = self._host.chat_model, self._logs
        assert chat_model is not None
        usd = self._add_cost(call)
        self._spending.note_answer(call.thread)
        if logs is not None:
            self._try_log(lambda: logs.log_for(call.thread).add_call(call, usd))
        window = chat_model.window if call.thread == MAIN else 0
        self._say(lead + tokens_line(call.usage, window))
        if full := full_line(call.usage, window):
            self._say(full)

    def _add_cost(self, call: Call) -> float | None:
        assert self._host.chat_model is not None
        return self._spending.add_call(call, self._host.chat_model, self._host.price)

    def _end_turn(self, reason: str) -> None:
        """End the turn: without a user, a held request would wait forever."""
        if self._stop is None:
            self._stop = Outcome.ROUNDS, reason
        # Later, when the state machine has finished this step.
        asyncio.get_running_loop().call_soon(self._host.feed, events.Interrupted(reason))

    def _report_trouble(self) -> None:
        writer = self._host.writer
        if writer is not None and writer.trouble is not None:
            self._say(f"warning: not recorded: {writer.trouble}")

    # The end

    def _make_result(self) -> RunResult:
        options, spending = self._options, self._spending
        edits = self._edits.by_policy()
        outcome, why = self._stop or (Outcome.DONE, "")
        if self._stop is None and self._refused:
            outcome, why = Outcome.REFUSED, self._refused[0]
        if options.budget_usd is not None:
            self._say(f"{spending.summary}, of ${options.budget_usd:g}")
        return RunResult(
            text=answer_text(self._host.session.tree, self._ended[-1]) if self._ended else "",
            outcome=outcome,
            why=why,
            rounds=len(self._ended),
            most=options.rounds,
            messages=self._size.messages + (self._answer_tokens is not None),
            slid=SLIDING in edits or "hybrid" in edits,
            estimated=self._size.tokens + (self._answer_tokens or 0),
            edits={step.policy.name: edits.get(step.policy.name, 0) for step in self._steps},
            usage=spending.usage,
            cost=None if spending.partial else spending.usd,
            least=spending.usd,
            agents=len(spending.agents),
            session=self._host.session.about.id,
            size=self._size,
        )


def _line_prefix(thread: str) -> str:
    return "" if thread == MAIN else f"{thread}: "


def report_before_run(host: Host, task: str, counter: Counter, progress: ReadingProgress) -> RunReport:
    """Report on window and project before `task`; for a worker thread.

    Raises `BadConfig` if nothing of the window is left.
    """
    chat_model, runner, settings = host.chat_model, host.runner, host.config.settings
    assert chat_model is not None and runner is not None
    book = book_for(host.session, counter, settings)
    card, weights = book.card(chat_model.model), book.weights(chat_model.model)
    tokens_by_part = {"system": 0, "tools": 0, "task": 0}
    task_blocks = [("task", item.block) for item in user_message(runner.conversation.dialect, task)]
    context_blocks = [(item.place.section, item.block) for item in host.session.tree.items(runner.conversation.head)]
    for part, block in (*context_blocks, *task_blocks):
        if part in tokens_by_part and block.kind != HEADER:
            tokens_by_part[part] += round(weigh(counter(card)(block), weights))
    limit = read_answer_limit(params_for(chat_model, settings), chat_model.endpoint.dialect)
    tokens_by_part |= {"answer": limit} if limit else {}
    memory, listed_card = host.files.memory_for(task), host.files.card
    plan = RunPlan(
        model=chat_model.model,
        task=task,
        takes=tokens_by_part,
        window=ModelWindow(
            chat_model.model,
            listed_card,
            chat_model.window or listed_card.window or 0,
            host.files.usable_tokens,
            chat_model.origin or "model table",
        ),
        apart=host.files.memory_paths,
        memory=memory.texts if memory is not None else (),
    )
    return make_run_report(plan, host.config, host.cwd, counter, progress)


def _report_lines(report: RunReport) -> Iterator[str]:
    yield f"context budget: {safe_text.one_line(report.budget.model, 120)}"
    yield from (f"  {plain(line).rstrip()}" for line in budget_lines(report.budget, report.kilobytes))
    if report.project is not None:
        yield "repository:"
        yield from (f"  {plain(line).rstrip()}" for line in report.project_lines() if line)
    yield from (f"warning: {safe_text.one_line(warning.text, 300)}" for warning in report.warnings)


def has_price(host: Host) -> bool:
    chat_model = host.chat_model
    assert chat_model is not None
    call = Call("", "", provider=chat_model.endpoint.name, model=chat_model.model, usage=Usage(1), started=host.clock())
    return local_pricer(prices_for(host.config.settings))([call])[0][0] is not None
