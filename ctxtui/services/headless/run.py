"""One task done without a screen: a hosted chat whose user is not there. It is on record as any chat is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from ctxtui.agent import events, progress
from ctxtui.agent.conversation import Draft
from ctxtui.agent.tools.command_tool import told
from ctxtui.core.block import HEADER
from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound
from ctxtui.core.session import MAIN
from ctxtui.core.usage import Usage
from ctxtui.curation.context import Context
from ctxtui.services.chat.chat_news import ChatNews
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.model_choice import params_for
from ctxtui.services.chat.request_forecast import Foreteller, held_because
from ctxtui.services.counting.books import book_for, cache_rules
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import price_here, price_of, prices_for
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.headless.job_log import JobLog
from ctxtui.services.headless.run_options import Outcome, RunOptions, RunResult
from ctxtui.services.headless.run_progress import edits_by_policy, full_line, round_line, step_line, tokens_line, trims
from ctxtui.services.project.model_window import ModelWindow
from ctxtui.services.project.report import RunPlan, RunReport, analysed
from ctxtui.services.recordings.recording import Loaded
from ctxtui.tokens.weights import tokens
from ctxtui.views.lists.run_report import plain_lines as report_lines
from ctxtui.wire.request import Request
from ctxtui.wire.speech import user_message
from ctxtui.wire.translate.turns import TEXT, part_of

if TYPE_CHECKING:
    from ctxtui.core.block import Block
    from ctxtui.core.call import Call
    from ctxtui.curation.policies.policy import Step
    from ctxtui.pricing.price import Cost

Say = Callable[[str], object]
_OUTPUT_LIMITS: Final = ("max_tokens", "max_output_tokens", "max_completion_tokens")


class HeadlessRun:
    """Does `options.task` with `host`, which nobody has opened yet. `say` hears a line for people as things happen.
    `go` is called once."""

    def __init__(self, options: RunOptions, host: Host, say: Say) -> None:
        self._options = options
        self._host = host
        self._say = say
        self._table = prices_for(host.config.settings)
        self._counter = Counter()
        self._edits: SessionEdits | None = None
        self._overlay: ThreadEdits | None = None
        self._teller: Foreteller | None = None
        self._over = asyncio.Event()
        self._told = 0
        """Entries of the overlay that were told of."""
        self._ended: list[Call] = []
        self._last: tuple[int, int] = (0, 0)
        """Messages and tokens of the last request."""
        self._spent: float | None = 0.0
        self._refused: list[str] = []
        self._steps: tuple[Step, ...] = ()
        self._stop: tuple[Outcome, str] | None = None
        self._log: JobLog | None = None
        self._trims: list[str] = []
        """What policies did since the last call."""

    async def go(self) -> RunResult:
        """Do the task; what came of it. Raises `CtxtuiError` where it cannot begin: no model, no room for the task."""
        host = self._host
        session = await asyncio.to_thread(host.open)
        self._edits = SessionEdits(Loaded(session, session.about.id), host.config.settings)
        self._overlay = await asyncio.to_thread(self._edits.of, MAIN)
        host.overlay = lambda: self._overlay
        host.profile = self._options.profile
        host.files.counter = self._counter
        host.judge = self._judge
        try:
            await host.begin(self._hear, price_of(self._table), self._trouble)
            await self._prepare()
            host.feed(events.UserSaid(self._options.task))
            await self._over.wait()
            await asyncio.to_thread(self._save)
        finally:
            whole = await host.close()
            if self._log is not None:
                self._logged(self._log.close)
        if not whole:
            self._say(f"warning: the end of the run is not on record: {host.writer and host.writer.trouble}")
        return self._result()

    async def _prepare(self) -> None:
        """What nobody is asked for later, and the report before the first call. Raises `BadConfig`, `NotFound`."""
        host, options = self._host, self._options
        partner, runner = host.partner, host.runner
        assert partner is not None and runner is not None
        self._steps = options.steps(partner.window)
        why = f" ({partner.why})" if partner.why else ""
        told = "the offline provider, no model" if partner.is_offline else f"{partner.model} of {partner.endpoint}"
        self._say(f"{told}{why}")
        if options.budget_usd is not None and not partner.endpoint.local and not self._has_price():
            raise BadConfig(
                f"no price is known for {partner.model}, so that no budget can be held",
                place="--budget-usd",
                way_out="give its rates in the setting prices",
            )
        self._tell_servers()
        allowed = self._allowed()
        runner.state = replace(runner.state, attended=False, allowed=allowed, most=options.rounds)
        book = book_for(host.session, self._counter, host.config.settings)
        if options.log_dir is not None:
            self._log = JobLog(options.log_dir, book, self._counter)
        rules = cache_rules().rules(
            book.card(partner.model), "" if partner.is_offline else partner.endpoint.kind or partner.endpoint.name
        )
        self._teller = Foreteller(book, self._counter, rules, partner, price_here(self._table))
        await self._report()

    def _tell_servers(self) -> None:
        """Which MCP servers are not there."""
        if self._host.tools is None:
            return
        servers = self._host.tools.servers
        for one in servers.failed:
            self._say(f"warning: the MCP server {one.server.name} does not start: {one.why}")
        for server in servers.waiting:
            leave = f"`ctxtui mcp allow {server.name}` lets it start"
            self._say(f"the MCP server {server.name} of {server.place} was not allowed yet: {leave}")

    def _allowed(self) -> frozenset[str]:
        """The tools that need no leave. Raises `NotFound` for a name that fits none."""
        names = self._host.tool_names
        for wanted in self._options.allow:
            if not any(fnmatchcase(name, wanted) for name in names):
                raise NotFound(f"no tool {wanted!r}", place="--allow", way_out=f"there are {', '.join(names)}")
        return frozenset(n for n in names if any(fnmatchcase(n, wanted) for wanted in self._options.allow))

    def _has_price(self) -> bool:
        from ctxtui.core.call import Call

        partner = self._host.partner
        assert partner is not None
        one = Call(
            "", "", provider=partner.endpoint.name, model=partner.model, usage=Usage(1), started=self._host.clock()
        )
        return price_here(self._table)([one])[0][0] is not None

    # Before the first call

    async def _report(self) -> None:
        host = self._host
        assert host.partner is not None
        if host.files.usable:
            for line in report_lines(await asyncio.to_thread(self._found)):
                self._say(line)
        else:
            self._say(f"warning: the window of {host.partner.model} is not known: nothing is held against it")
        id_ = host.session.about.id
        self._say(f"session {id_}: `ctxtui open {id_}` shows it, also while it runs")
        if self._steps:
            self._say(f"policies: {', '.join(map(step_line, self._steps))}")

    def _found(self) -> RunReport:
        """The window and the project before the first call; for a worker thread. Raises `BadConfig` where nothing of
        the window is left."""
        host = self._host
        partner, runner = host.partner, host.runner
        assert partner is not None and runner is not None
        talk, task = runner.conversation, self._options.task
        takes = {"system": 0, "tools": 0}
        for item in host.session.tree.items(talk.head):
            if item.place.section in takes:
                takes[item.place.section] += self._size(item.block)
        params = params_for(partner, host.config.settings.answer_tokens)
        takes["task"] = sum(self._size(item.block) for item in user_message(talk.dialect, task))
        limits = [n for n in map(params.get, _OUTPUT_LIMITS) if isinstance(n, int)]
        takes |= {"answer": limits[0]} if limits else {}
        memory = host.files.memory_for(task)
        card = host.files.card
        window = ModelWindow(
            partner.model, card, partner.window or card.window or 0, host.files.usable, partner.origin or "model table"
        )
        plan = RunPlan(
            model=partner.model,
            task=task,
            takes=takes,
            window=window,
            apart=host.files.apart,
            memory=memory.texts if memory is not None else (),
        )
        return analysed(plan, host.config, host.cwd, self._counter)

    def _size(self, block: Block) -> int:
        partner = self._host.partner
        if block.kind == HEADER or partner is None:
            return 0
        book = book_for(self._host.session, self._counter, self._host.config.settings)
        card = book.card(partner.model)
        return round(tokens(self._counter(card)(block), book.weights(partner.model)))

    # While it runs

    async def _judge(self, draft: Draft) -> str:
        """Tell of the request that is about to leave; why it may not."""
        host, runner, teller = self._host, self._host.runner, self._teller
        assert runner is not None and teller is not None
        found = await asyncio.to_thread(teller.foretell, draft, host.clock())
        context = Context(
            host.session.tree, draft.sent_head, draft.skeleton.dialect, Request((), draft.skeleton).params
        )
        self._last = len(context.messages), found.total if found is not None else self._last[1]
        state, most = runner.state, self._options.rounds
        if not (most and state.rounds >= most):
            self._tell_trims()
            total = found.total if found is not None else None
            self._say(round_line(state.rounds + 1, most, self._last[0], total))
        await asyncio.to_thread(self._save)
        budget = self._options.budget_usd
        if budget is not None and self._spent is not None:
            coming = (found.usd if found is not None else None) or 0.0
            if self._spent + coming > budget:
                why = f"${self._spent:.4f} are spent, the next request reads for about ${coming:.4f}: over ${budget:g}"
                self._stop = Outcome.BUDGET, why
                return why
        reason = held_because(found, host.config.settings)
        if reason:
            self._stop = Outcome.REFUSED, f"a rule of the settings holds the request: {reason}"
        return reason

    def _tell_trims(self) -> None:
        overlay = self._overlay
        if overlay is None:
            return
        new, self._told = overlay.log[self._told :], len(overlay.log)
        for line in trims(new):
            self._trims.append(line)
            self._say(line)
        window = next((s.settings["n"] + 1 for s in self._steps if s.policy.name == "sliding_window"), 0)
        if window and self._last[0] > window:
            self._say(f"the window of {window} messages is widened to {self._last[0]}: a call stays with its result")

    def _save(self) -> None:
        """Put the edits on record; for a worker thread. What cannot be written is tried with the next request."""
        if self._edits is None or not self._edits.unsaved:
            return
        writer = self._host.writer
        if writer is not None:
            writer.wait(2.0, writer.last_ticket)
        try:
            self._edits.save()
        except CtxtuiError as error:
            self._say(f"warning: edits are not on record yet: {error}")

    def _hear(self, news: ChatNews) -> None:
        self._host.session.fold(news.events)
        match news.moment:
            case progress.RequestSent(_, _, attempt) if attempt > 1:
                self._say(f"attempt {attempt}")
            case progress.CallBegan(call) if call.first_byte is not None and self._teller is not None:
                runner = self._host.runner
                if runner is not None and runner.draft is not None:
                    self._teller.began(runner.draft, call.first_byte)
            case progress.CallEnded(call, _, _):
                self._call_ended(call)
            case progress.ToolBegan(call):
                self._say(f"tool {told(call)}")
            case progress.Noted("refused", text):
                self._refused.append(text)
                self._say(f"refused: {text}")
            case progress.Noted("files", text):
                self._say(f"files: {text}")
            case progress.Noted("error", text):
                self._stop = Outcome.ERROR, text
            case progress.Noted("retry", text):
                self._say(text)
            case progress.RequestHeld(reason):
                self._held(reason)
            case progress.Rested():
                self._over.set()

    def _logged(self, work: Callable[[], None]) -> None:
        """Write the folder of the run; what cannot be written is said, and the run goes on."""
        try:
            work()
        except CtxtuiError as error:
            self._say(f"warning: --log-dir: {error}")

    def _call_ended(self, call: Call) -> None:
        self._ended.append(call)
        cost = self._price(call)
        log, before, self._trims = self._log, self._trims, []
        if log is not None:
            self._logged(lambda: log.take(call, cost.usd if cost is not None else None, before))
        partner = self._host.partner
        free = partner is not None and partner.endpoint.local
        if cost is not None or free:
            self._spent = None if self._spent is None else self._spent + (cost.usd if cost is not None else 0.0)
        else:
            self._spent = None
        window = partner.window if partner is not None else 0
        self._say(tokens_line(call.usage, window))
        full = full_line(call.usage, window)
        if full:
            self._say(full)

    def _price(self, call: Call) -> Cost | None:
        return price_of(self._table)(call)

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
        overlay, options = self._overlay, self._options
        edits = edits_by_policy(overlay.log) if overlay is not None else {}
        usages = [call.usage for call in self._ended if call.usage is not None]
        outcome, why = self._stop or (Outcome.DONE, "")
        if self._stop is None and self._refused:
            outcome, why = Outcome.REFUSED, self._refused[0]
        last = usages[-1].output if usages else 0
        return RunResult(
            text=self._answer(),
            outcome=outcome,
            why=why,
            rounds=len(self._ended),
            most=options.rounds,
            messages=self._last[0] + bool(self._ended),
            slid="sliding_window" in edits or "hybrid" in edits,
            estimated=self._last[1] + last,
            edits={step.policy.name: edits.get(step.policy.name, 0) for step in self._steps},
            usage=sum(usages, Usage.nothing()),
            cost=self._spent,
            session=self._host.session.about.id,
        )

    def _answer(self) -> str:
        """The words of the last answer."""
        if not self._ended:
            return ""
        call, tree = self._ended[-1], self._host.session.tree
        parts = [part_of(i.block) for i in tree.items(call.response_head, call.raw_head) if i.block.kind != HEADER]
        return "\n\n".join(part.reading.text for part in parts if part.what == TEXT and part.reading.text)
