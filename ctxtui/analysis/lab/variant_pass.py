"""One variant, call by call: edits by its policy, the request that leaves, what its cache reads, what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.misses import misses_of
from ctxtui.analysis.cache.prompts import CachePrompts
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.forecast import Forecaster
from ctxtui.analysis.lab.edited_path import EditedPath, Proposing
from ctxtui.analysis.lab.placed_marks import LIVES, SentRequestHere, marks_of
from ctxtui.analysis.lab.recorded import RecordedStep
from ctxtui.analysis.lab.shared_context import SharedContext
from ctxtui.analysis.lab.variant import Summaries, Variant, VariantCall, VariantRun
from ctxtui.analysis.money.block_costs import thread_costs
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.cache.marker_placement import KnownEnds
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_key import PrefixChains
from ctxtui.cache.prompt import build_prompt
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.block import HEADER, Block, text
from ctxtui.core.call import WINDOW, Call, answer_items, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.edit import Edit, active_edits
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.curation.policies.earlier import Earlier
from ctxtui.curation.policies.policy import after_all
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.dependence import Literals, find_quotes
from ctxtui.curation.provider_rules import rules_for
from ctxtui.pricing.price import Cost, known_usd
from ctxtui.tokens import weights

Counted = Callable[[int, int], int]
"""Tokens of the blocks up to a node in the request that ends at another one."""


class SentLengths:
    """Tokens up to a node of the request with the context `head` and `total` tokens, which leaves for a recorded one of
    `own` tokens.

    A prefix that both have is as long as reports before told, and what edits changed is counted. That is how the price
    tag has it (`curation.price.edited_prompt`): what is lacking of a recording, or counted wrong, stands where a
    report first told of it, not all of it in front. Where no report came before, or it was another model's (`told` is
    False), what is `hidden` does stand in front. `shared` is what other variants found of the recorded request, by
    node, as the same model counts it.
    """

    def __init__(
        self,
        step: RecordedStep,
        path: EditedPath,
        counted: Counted,
        *,
        head: int,
        total: int,
        own: int,
        hidden: int,
        told: bool,
        shared: dict[int, int] | None = None,
    ) -> None:
        self._step, self._path, self._counted = step, path, counted
        self._head, self._total, self._hidden = head, total, hidden
        self._known: dict[int, int] = {head: total}
        self._shared = shared if shared is not None else {}
        self._recorded = step.call.sent_head
        whole = self._reported(self._recorded) if told and step.reported(self._recorded) != (ROOT, 0) else 0
        # The request as a whole is as long as it is counted: of its parts each is so much more or less.
        self._share = own / whole if whole > 0 else 0.0

    def __call__(self, node: int) -> int:
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = max(0, min(self._total, self._length(node)))
        return found

    def _length(self, node: int) -> int:
        if not self._share:
            return self._hidden + (self._counted(node, self._head) if node != ROOT else 0)
        raw = self._path.raw(node)
        more = self._counted(node, self._head) - self._counted(raw, self._recorded) if node != raw else 0
        return round(self._share * self._reported(raw)) + more

    def _reported(self, node: int) -> int:
        """Tokens up to a node of the recorded request."""
        found = self._shared.get(node)
        if found is None:
            known, tokens = self._step.reported(node)
            # When that was reported, thinking of what is an earlier turn now was still read.
            found = tokens + self._counted(node, self._recorded) - self._counted(known, known)
            self._shared[node] = found
        return found


_THINKING: Final = INDEX["thinking"]
_EACH_QUOTED: Final = 1_000
"""Literals of one block that are looked at, at most."""
_BILLED: Final = ("usage", "iterations")
"""What of a recorded call's extras says how its own tokens were billed: under a variant there are others."""

Charge = Callable[[Call], float | None]
"""What a call costs in USD, by its usage; None where no price is known."""


class Bench:
    """What the variants of one session have in common. `rules` gives how a call is cached, `charge` prices it,
    `costs` are those of the recorded calls by id, `usable_share` is the part of a window that is filled."""

    def __init__(
        self,
        book: Book,
        rules: Callable[[Call], CacheRules],
        charge: Charge,
        costs: Mapping[str, Cost | None],
        usable_share: float,
    ) -> None:
        self.book = book
        self.rules = rules
        self.charge = charge
        self.costs = costs
        self.usable_share = usable_share
        self.prefixes = PrefixChains(book.session.tree)
        self._usable: dict[tuple[str, str], int] = {}
        self._sums: dict[str, dict[int, int]] = {}
        self._summed_of = -1
        self._lengths: dict[str, dict[int, int]] = {}
        self._lengths_of: tuple[RecordedStep | None, int] = None, -1

    def usable(self, call: Call) -> int:
        """What of the window in force for `call` is to be filled, in tokens (0: not known)."""
        key = (call.model, str(call.extra.get(WINDOW, "")))
        found = self._usable.get(key)
        if found is None:
            found = self._usable[key] = context_window(self.book, call, self.usable_share).usable
        return found

    def whole(self, model: str, node: int) -> int:
        """Whole tokens of the context `node`: most variants send much of what others send."""
        if self._summed_of != self.book.version:
            self._sums.clear()
            self._summed_of = self.book.version
        known = self._sums.setdefault(model, {})
        found = known.get(node)
        if found is None:
            found = known[node] = sum(self.book.sums(model, node))
        return found

    def lengths(self, step: RecordedStep, model: str) -> dict[int, int]:
        """Room for what the prefixes of the newest step's request come to as `model` counts them: the same for every
        variant."""
        known, version = self._lengths_of
        if known is not step or version != self.book.version:
            self._lengths, self._lengths_of = {}, (step, self.book.version)
        return self._lengths.setdefault(model, {})

    def part_ends(self, call: Call) -> tuple[int, int]:
        """How many blocks of a recorded call's context were read, and how many read or written, as reports tell."""
        ledger, number = self._ledgers[call.id]
        charged = ledger.charged(number)
        return charged.read, charged.write

    @cached_property
    def _ledgers(self) -> dict[str, tuple[CostLedger, int]]:
        """The ledger of each call's thread, and which of its calls it is, from 0."""
        threads = thread_costs(self.book, self.costs)
        return {call.id: (one.ledger, n) for one in threads for n, call in enumerate(one.calls[: one.ledger.done])}

    def paid(self, call: Call) -> float | None:
        """What a recorded call counts as in USD; None where that is not known."""
        return known_usd(call, self.costs.get(call.id))

    @cached_property
    def misses(self) -> int:
        """How many misses the recording has."""
        return len(misses_of(self.book, self.rules).found)

    def prompts(self) -> CachePrompts:
        """Where markers and what prefix keys begin with are read from."""
        book = self.book
        return CachePrompts(
            book.session.tree, self.rules, book.cumulated, Forecaster(book.session, book.cumulated, book.card)
        )

    def as_model(self, call: Call, model: str) -> Call:
        """`call` as it would go to `model` ("": as recorded)."""
        if not model or model == call.model:
            return call
        return replace(call, model=model, provider=self.book.card(model).provider or "")


class _Thread(Struct):
    """A thread under way: its `path`, how long the context was when the block at a raw position was changed, and what
    was worked out at the call before, with the tokens that it went by."""

    path: EditedPath
    since: dict[int, int] = field(default_factory=dict)
    earlier: tuple[tuple[str, int], Earlier] | None = None


class VariantPass:
    """Takes the calls of a session one after the other under `variant`."""

    def __init__(self, bench: Bench, variant: Variant) -> None:
        self._bench, self._book = bench, bench.book
        self._tree = bench.book.session.tree
        self.variant = variant
        self._prompts = bench.prompts()
        self._simulator = Simulator()
        self._ends = KnownEnds()
        self._threads: dict[str, _Thread] = {}
        self._last: dict[str, tuple[SharedContext, Context, Applied]] = {}
        self._heads: dict[str, int] = {}
        self._calls: list[VariantCall] = []
        self._models: dict[str, None] = {}
        self._quoted = 0

    def take(self, step: RecordedStep, shared: SharedContext, context: Context) -> None:
        """The next call, whose recorded context is `context`."""
        call = self._bench.as_model(step.call, self.variant.model)
        self._models[call.model or self._book.session.model] = None
        last = self._last.get(call.thread)
        thread = self._threads.get(call.thread)
        if thread is None or (last is not None and last[1] is not context):
            self._end(call.thread)
            thread = self._thread(call, thread, context, shared.made)
        hidden = self._hidden(step, call)
        usable = self._bench.usable(call)
        propose = self._proposing(step, shared, call, thread, hidden, usable) if self.variant.steps else None
        head, applied = thread.path.take(context, propose, shared.unwritten)
        if last is None or last[2].changes is not applied.changes:
            thread.since.update(dict.fromkeys(applied.changes.keys() - thread.since.keys(), len(context)))
        self._last[call.thread] = shared, context, applied
        sent = SentRequestHere(step.call, head, applied, thread.path, step.life, step.marks)
        self._simulated(step, call, sent, hidden, usable)

    def _thread(self, call: Call, before: _Thread | None, context: Context, made: bool) -> _Thread:
        model = call.model or self._book.session.model
        rules = rules_for(context.dialect, self._book.card(model))
        path = EditedPath(self._tree, rules, made, self._book.told_as)
        if before is not None:
            path.log, path.refused = before.path.log, before.path.refused
        found = self._threads[call.thread] = _Thread(path)
        return found

    def _hidden(self, step: RecordedStep, call: Call) -> int:
        """Tokens that the recording lacks, as this variant's model would count them."""
        if call.model == step.call.model:
            return step.lacking
        own, other = self._book.card(call.model).factors.text, self._book.card(step.call.model).factors.text
        return round(step.lacking * own / other) if own and other else step.lacking

    def _proposing(
        self, step: RecordedStep, shared: SharedContext, call: Call, thread: _Thread, hidden: int, usable: int
    ) -> Proposing:
        model = call.model or self._book.session.model
        sizes = shared.sizes(model)
        assert shared.context is not None and shared.literals is not None
        context, literals = shared.context, shared.literals
        rules = rules_for(context.dialect, self._book.card(model))
        tokens = model, sizes.asked

        def propose(applied: Applied, log: tuple[Edit, ...]) -> tuple[tuple[Edit, ...], Applied]:
            literals.advance()
            known, earlier = thread.earlier or (None, None)
            if earlier is not None and (earlier.log is not log or not _same(earlier.applied, applied)):
                earlier = None
            if earlier is not None and known != tokens:
                # Of a new turn's context only what is freed comes to other tokens.
                freed = earlier.freed if known is not None and known[0] == model else None
                less = sizes.stripped(known[1], applied.changes) if known is not None and freed is not None else 0
                earlier = replace(earlier, freed=freed - less if freed is not None else None)
            situation = PolicyContext(
                context=context,
                log=log,
                tokens=sizes.at,
                count=sizes.of,
                usable=usable,
                rules=rules,
                literals=literals,
                cold=step.cold,
                hidden=hidden,
                known=applied,
                raw=sizes.whole,
                earlier=earlier,
            )
            after = after_all(self.variant.steps, situation)
            thread.earlier = tokens, after.computed_so_far()
            return after.log, after.applied

        return propose

    def _simulated(self, step: RecordedStep, call: Call, here: SentRequestHere, hidden: int, usable: int) -> None:
        model = call.model or self._book.session.model
        self._book.cumulated(model).advance()
        total = max(0, self._counted(model, here.head, here.head) - self._gone(step, model, here) + hidden)
        outcome = self._outcome(step, call, here, hidden, total)
        recorded = step.call.usage
        output = recorded.output if recorded is not None else self._answer(call, model)
        usage = outcome.to_usage(output or 0) if outcome is not None else None
        before = self._heads.get(call.thread, ROOT)
        self._heads[call.thread] = here.head
        self._calls.append(
            VariantCall(
                id=call.id,
                number=step.number,
                thread=call.thread,
                head=here.head,
                context=total,
                read=outcome.read if outcome is not None else None,
                write=outcome.written if outcome is not None else None,
                fresh=usage.fresh if usage is not None else None,
                output=output,
                usage=usage,
                usd=simulated_usd(self._bench, call, usage) if output is not None and usage is not None else None,
                rewrites=before != ROOT and not self._tree.holds(here.head, before),
                over=0 < usable < total,
                less=self._less(step, model, here, total - hidden),
            )
        )

    def _less(self, step: RecordedStep, model: str, here: SentRequestHere, total: int) -> tuple[int, int, int]:
        """The tokens that the request has less than the recorded one in what that read, wrote and sent."""
        call, nodes = step.call, here.applied.context.nodes
        if self.variant.model or not here.applied.is_changed:
            return 0, 0, 0
        found = []
        for depth in self._bench.part_ends(call):
            raw, node = (nodes[depth - 1], here.path.sent(depth - 1)) if depth else (ROOT, ROOT)
            found.append(self._counted(model, raw, call.sent_head) - self._counted(model, node, here.head))
        own = self._counted(model, call.sent_head, call.sent_head)
        whole = own - sum(self._book.contexts.tokens(model, call.sent_head, step.gone) if step.gone else ()) - total
        return found[0], found[1] - found[0], whole - found[1]

    def _answer(self, call: Call, model: str) -> int | None:
        """Tokens of what is recorded of an answer without a report; None where nothing is."""
        nodes = answer_path(self._tree, call)
        return sum(self._book.own(model, node) for node in nodes) if nodes else None

    def _counted(self, model: str, node: int, head: int) -> int:
        """Tokens of the blocks up to `node` in the request `head`, as `model` reads them."""
        book, tree = self._book, self._tree
        sums = self._bench.whole(model, node)
        start = tree[head].turn_start
        if start != ROOT and book.card(model).strips_thinking:
            before = tree[start].parent
            sums -= book.sum_of(model, before if tree[before].depth <= tree[node].depth else node, _THINKING)
        return sums

    def _gone(self, step: RecordedStep, model: str, here: SentRequestHere) -> int:
        """Tokens of blocks that reports show to be gone and that the variant has not changed."""
        if not step.gone:
            return 0
        changed = {change.node for change in here.applied.changes.values()}
        left = step.gone.where(lambda node: node not in changed) if changed else step.gone
        found = sum(self._book.contexts.tokens(model, step.call.sent_head, left)) if left else 0
        # An edit of a block that its client took out has nothing to change any more.
        stood = (
            one.after for one in here.applied.changes.values() if one.after is not None and one.node in step.gone.of
        )
        return found + sum(self._block_tokens(model, block) for block in stood)

    def _outcome(
        self, step: RecordedStep, call: Call, here: SentRequestHere, hidden: int, total: int
    ) -> CacheOutcome | None:
        rules = self._bench.rules(call)
        if step.at is None or not rules.is_known:
            return None
        tokens = self._lengths(step, call, here, hidden, total)
        seed = self._prompts.seed(call)
        start = step.at

        def held(life: float = 0.0) -> int:
            # Few strategies ask for it.
            base = build_prompt(self._bench.prefixes, rules, seed, here.head, tokens, (), total=total)
            return self._simulator.deepest_cached(base, start, life)

        marks, explicit = marks_of(self.variant.cache, here, self._prompts, self._tree, rules, held, tokens, self._ends)
        answer = None
        if rules.answers or rules.mechanism.keeps_answers:
            answer = self._tree.extend(here.head, answer_items(self._tree, step.call))
        made = build_prompt(
            self._bench.prefixes,
            rules,
            seed,
            here.head,
            tokens,
            marks,
            total=total,
            explicit=explicit,
            answer=answer,
        )
        at = step.at if step.asked_at is None else step.asked_at
        outcome = self._simulator.predict(made, at, why=False)
        self._simulator.record(outcome if at == step.at else self._simulator.predict(made, step.at, why=False))
        # Where nothing expired, what stands in front of the conversation is read also where that is another one.
        floor = step.floors.warm if outcome.read or not self._expired(step, rules) else step.floors.cold
        return outcome.with_min_read(min(floor, tokens(here.path.shared)) if floor else 0)

    def _lengths(self, step: RecordedStep, call: Call, here: SentRequestHere, hidden: int, total: int) -> SentLengths:
        model, head = call.model or self._book.session.model, step.call.sent_head
        own = self._counted(model, head, head) + hidden
        if step.gone:
            own -= sum(self._book.contexts.tokens(model, head, step.gone))
        return SentLengths(
            step,
            here.path,
            partial(self._counted, model),
            head=here.head,
            total=total,
            own=own,
            hidden=hidden,
            told=call.model == step.call.model,
            shared=self._bench.lengths(step, model),
        )

    def _expired(self, step: RecordedStep, rules: CacheRules) -> bool:
        """Whether the pause before a call was longer than what this variant writes lives."""
        life = self.variant.cache if self.variant.cache in LIVES else step.life
        return rules.mechanism.writes_at_markers and rules.seconds(life) < step.pause

    def _end(self, thread: str) -> None:
        """The context of `thread` ends here: what of it was taken out and quoted later is counted."""
        known = self._last.pop(thread, None)
        if known is None or not self.variant.steps:
            return
        shared, _, applied = known
        assert shared.literals is not None
        self._quoted += _later_quotes(shared.literals_of(applied.context), applied, self._threads[thread].since)

    def done(self) -> VariantRun:
        """What all calls came to."""
        for thread in list(self._last):
            self._end(thread)
        edits = {name: tuple(one.path.log) for name, one in self._threads.items() if one.path.log}
        made = [edit for log in edits.values() for edit in active_edits(log) if edit.spec.replaces_blocks]
        sizes = [self._tokens_of(str(edit.params.get("text") or "")) for edit in made]
        refused = next((one.path.refused for one in self._threads.values() if one.path.refused), "")
        return VariantRun(
            variant=self.variant,
            calls=tuple(self._calls),
            models=tuple(self._models),
            dependence=self._quoted,
            summaries=Summaries(len(made), sum(sizes)),
            edits=edits,
            refused=refused,
        )

    def _tokens_of(self, words: str) -> int:
        return self._block_tokens(next(iter(self._models), ""), text(words))

    def _block_tokens(self, model: str, block: Block) -> int:
        return round(weights.weigh(self._book.measure(model)(block), self._book.weights(model)))


def simulated_usd(bench: Bench, call: Call, usage: Usage) -> float | None:
    """What `call` costs in USD with another `usage`; None where no price is known."""
    extra = {key: value for key, value in call.extra.items() if key not in _BILLED}
    return bench.charge(replace(call, usage=usage, extra=extra))


def _same(one: Applied, other: Applied) -> bool:
    """Whether edits do the same: the context may have grown meanwhile."""
    return one.context is other.context and one.changes is other.changes and one.inserts is other.inserts


def _later_quotes(known: Literals, applied: Applied, since: Mapping[int, int]) -> int:
    """How many blocks that `applied` changes or takes out are quoted by a block that came after that. `since` is, by
    raw position, how long the context was when it was done; `known` is advanced as far as the context goes."""
    if not applied.changes:
        return 0
    known.advance()
    found = set()
    for quote in find_quotes(known, applied, most=len(applied.changes) * _EACH_QUOTED):
        if quote.position not in found and any(by >= since.get(quote.position, 0) for by in quote.by):
            found.add(quote.position)
    return sum(applied.changes[position].before.kind != HEADER for position in found)
