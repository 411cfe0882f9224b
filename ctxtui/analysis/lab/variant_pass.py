"""Simulates one variant call by call: policy edits, sent request, cache reads, cost.

A *variant* is a recorded session under other policies, another cache strategy or another model. Answers stay as they
were recorded: only requests change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.miss_finder import session_misses
from ctxtui.analysis.cache.prompts import CachePrompts
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.forecast import Forecaster
from ctxtui.analysis.lab.edited_path import EditedPath, Propose
from ctxtui.analysis.lab.placed_markers import LIFETIMES, VariantRequest, place_markers
from ctxtui.analysis.lab.recorded_steps import RecordedStep
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
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.price.dependence import Literals, find_quotes
from ctxtui.curation.provider_rules import rules_for
from ctxtui.pricing.price import Cost, known_usd
from ctxtui.tokens import weights

Counted = Callable[[int, int], int]
"""Counts the blocks up to the first node, in the request whose context ends at the second."""


class SentLengths:
    """Gives the length of a simulated request up to a node, in tokens.

    - `step`, `own`: the recorded request that it replaces, and that one's length.
    - `path`: maps its nodes to recorded ones.
    - `head`, `total`: the node at which it ends, and its whole length.
    - `use_report`: the model is the recorded one, so unchanged blocks have their reported length; others are counted.
    - `hidden`: unrecorded tokens before all blocks, added if no report gives lengths.
    - `shared`: a cache of lengths of the recorded request, by node.
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
        use_report: bool,
        shared: dict[int, int] | None = None,
    ) -> None:
        self._step, self._path, self._counted = step, path, counted
        self._head, self._total, self._hidden_tokens = head, total, hidden
        self._lengths: dict[int, int] = {head: total}
        self._shared = shared if shared is not None else {}
        self._recorded = step.call.sent_head
        recorded_tokens = (
            self._reported_length(self._recorded) if use_report and step.reported(self._recorded) != (ROOT, 0) else 0
        )
        # The total is the counted one: each part is scaled by the same factor.
        self._share = own / recorded_tokens if recorded_tokens > 0 else 0.0

    def __call__(self, node: int) -> int:
        length = self._lengths.get(node)
        if length is None:
            length = self._lengths[node] = max(0, min(self._total, self._compute_length(node)))
        return length

    def _compute_length(self, node: int) -> int:
        if not self._share:
            return self._hidden_tokens + (self._counted(node, self._head) if node != ROOT else 0)
        raw = self._path.recorded_node(node)
        more = self._counted(node, self._head) - self._counted(raw, self._recorded) if node != raw else 0
        return round(self._share * self._reported_length(raw)) + more

    def _reported_length(self, node: int) -> int:
        length = self._shared.get(node)
        if length is None:
            pinned, tokens = self._step.reported(node)
            # At that report, thinking of a turn that is now an earlier one was still read.
            length = tokens + self._counted(node, self._recorded) - self._counted(pinned, pinned)
            self._shared[node] = length
        return length


_THINKING: Final = INDEX["thinking"]
_MAX_LITERALS: Final = 1_000
"""Literals checked per block."""
_BILLING_KEYS: Final = ("usage", "iterations")
"""Keys of a recorded call's extras that do not apply to a variant."""

Charge = Callable[[Call], float | None]
"""Gives the cost of a call in USD, by its usage; None if no price is known."""


class LabInputs:
    """Data that the variants of one session share.

    `costs` are those of the recorded calls by id; `charge` prices simulated calls.
    """

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
        self._sent_lengths: dict[str, dict[int, int]] = {}
        self._lengths_of: tuple[RecordedStep | None, int] = None, -1

    def usable(self, call: Call) -> int:
        """Usable tokens of the window in force for `call` (0: unknown)."""
        key = (call.model, str(call.extra.get(WINDOW, "")))
        usable = self._usable.get(key)
        if usable is None:
            usable = self._usable[key] = context_window(self.book, call, self.usable_share).usable
        return usable

    def whole_tokens(self, model: str, node: int) -> int:
        """Tokens of all blocks up to `node`, as `model` counts."""
        if self._summed_of != self.book.version:
            self._sums.clear()
            self._summed_of = self.book.version
        sums = self._sums.setdefault(model, {})
        total = sums.get(node)
        if total is None:
            total = sums[node] = sum(self.book.sums(model, node))
        return total

    def lengths(self, step: RecordedStep, model: str) -> dict[int, int]:
        """Cache of prefix lengths of `step` as `model` counts; that of an earlier step is lost."""
        cached_step, version = self._lengths_of
        if cached_step is not step or version != self.book.version:
            self._sent_lengths, self._lengths_of = {}, (step, self.book.version)
        return self._sent_lengths.setdefault(model, {})

    def part_ends(self, call: Call) -> tuple[int, int]:
        """Numbers of blocks of a recorded call that were read, and that were read or written."""
        ledger, number = self._ledgers[call.id]
        charged = ledger.rates_of(number)
        return charged.read, charged.write

    @cached_property
    def _ledgers(self) -> dict[str, tuple[CostLedger, int]]:
        threads = thread_costs(self.book, self.costs)
        return {
            call.id: (costs.ledger, n) for costs in threads for n, call in enumerate(costs.calls[: costs.ledger.done])
        }

    def paid_usd(self, call: Call) -> float | None:
        return known_usd(call, self.costs.get(call.id))

    @cached_property
    def misses(self) -> int:
        return len(session_misses(self.book, self.rules).misses)

    def prompts(self) -> CachePrompts:
        book = self.book
        return CachePrompts(
            book.session.tree, self.rules, book.cumulated, Forecaster(book.session, book.cumulated, book.card)
        )

    def as_model(self, call: Call, model: str) -> Call:
        """`call` as sent to `model` ("": as recorded)."""
        if not model or model == call.model:
            return call
        return replace(call, model=model, provider=self.book.card(model).provider or "")


class _Thread(Struct):
    """State of a thread.

    `since`: by raw position of a changed block, the length of the context when it was changed. `earlier`: the policy's
    result at the previous call, with the model and `BlockSizes.person_position` of that call.
    """

    path: EditedPath
    since: dict[int, int] = field(default_factory=dict)
    earlier: tuple[tuple[str, int], Earlier] | None = None


class VariantPass:
    """Simulates `variant`: use `add_call` for each recorded call in order, then `finish`."""

    def __init__(self, inputs: LabInputs, variant: Variant) -> None:
        self._inputs, self._book = inputs, inputs.book
        self._tree = inputs.book.session.tree
        self.variant = variant
        self._prompts = inputs.prompts()
        self._simulator = Simulator()
        self._ends = KnownEnds()
        self._threads: dict[str, _Thread] = {}
        self._last: dict[str, tuple[SharedContext, Context, Applied]] = {}
        self._heads: dict[str, int] = {}
        self._calls: list[VariantCall] = []
        self._models: dict[str, None] = {}
        self._quoted = 0

    def add_call(self, step: RecordedStep, shared: SharedContext, context: Context) -> None:
        """Simulate the call of `step`, whose recorded context is `context`.

        `shared` has that context's token counts and quotes, for all variants.
        """
        call = self._inputs.as_model(step.call, self.variant.model)
        self._models[call.model or self._book.session.model] = None
        last = self._last.get(call.thread)
        thread = self._threads.get(call.thread)
        if thread is None or (last is not None and last[1] is not context):
            self._count_quotes(call.thread)
            thread = self._start_thread(call, thread, context, shared.is_rebuilt)
        hidden = self._hidden_tokens(step, call)
        usable = self._inputs.usable(call)
        propose = self._make_propose(step, shared, call, thread, hidden, usable) if self.variant.steps else None
        head, applied = thread.path.add_call(context, propose, shared.unwritten)
        if last is None or last[2].changes is not applied.changes:
            thread.since.update(dict.fromkeys(applied.changes.keys() - thread.since.keys(), len(context)))
        self._last[call.thread] = shared, context, applied
        sent = VariantRequest(step.call, head, applied, thread.path, step.life, step.sets_markers)
        self._simulate(step, call, sent, hidden, usable)

    def _start_thread(self, call: Call, before: _Thread | None, context: Context, is_rebuilt: bool) -> _Thread:
        model = call.model or self._book.session.model
        rules = rules_for(context.dialect, self._book.card(model))
        path = EditedPath(self._tree, rules, is_rebuilt, self._book.copy_report)
        if before is not None:
            path.log, path.refused = before.path.log, before.path.refused
        thread = self._threads[call.thread] = _Thread(path)
        return thread

    def _hidden_tokens(self, step: RecordedStep, call: Call) -> int:
        if call.model == step.call.model:
            return step.unrecorded
        factor, recorded_factor = (self._book.card(model).factors.text for model in (call.model, step.call.model))
        return round(step.unrecorded * factor / recorded_factor) if factor and recorded_factor else step.unrecorded

    def _make_propose(
        self, step: RecordedStep, shared: SharedContext, call: Call, thread: _Thread, hidden: int, usable: int
    ) -> Propose:
        model = call.model or self._book.session.model
        sizes = shared.sizes(model)
        assert shared.context is not None and shared.literals is not None
        context, literals = shared.context, shared.literals
        rules = rules_for(context.dialect, self._book.card(model))
        basis = model, sizes.person_position

        def propose(applied: Applied, log: tuple[Edit, ...]) -> tuple[tuple[Edit, ...], Applied]:
            literals.advance()
            earlier_basis, earlier = thread.earlier or (None, None)
            if earlier is not None and (earlier.log is not log or not _is_same_result(earlier.applied, applied)):
                earlier = None
            if earlier is not None and earlier_basis != basis:
                # In a new turn only the freed tokens change.
                freed = earlier.freed if earlier_basis is not None and earlier_basis[0] == model else None
                removed_tokens = (
                    sizes.stripped_tokens(earlier_basis[1], applied.changes)
                    if earlier_basis is not None and freed is not None
                    else 0
                )
                earlier = replace(earlier, freed=freed - removed_tokens if freed is not None else None)
            policy_context = PolicyContext(
                context=context,
                log=log,
                tokens=sizes.tokens_at,
                count=sizes.block_tokens,
                usable=usable,
                rules=rules,
                literals=literals,
                cold=step.cold,
                hidden=hidden,
                computed=applied,
                raw=sizes.total,
                earlier=earlier,
            )
            after = after_all(self.variant.steps, policy_context)
            thread.earlier = basis, after.computed_so_far()
            return after.log, after.applied

        return propose

    def _simulate(self, step: RecordedStep, call: Call, here: VariantRequest, hidden: int, usable: int) -> None:
        model = call.model or self._book.session.model
        self._book.cumulated(model).advance()
        total = max(
            0, self._counted_tokens(model, here.head, here.head) - self._absent_tokens(step, model, here) + hidden
        )
        outcome = self._simulate_cache(step, call, here, hidden, total)
        recorded = step.call.usage
        output = recorded.output if recorded is not None else self._answer_tokens(call, model)
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
                usd=simulated_usd(self._inputs, call, usage) if output is not None and usage is not None else None,
                rewrites=before != ROOT and not self._tree.holds(here.head, before),
                over=0 < usable < total,
                less=self._freed_tokens(step, model, here, total - hidden),
            )
        )

    def _freed_tokens(
        self, step: RecordedStep, model: str, sent_request: VariantRequest, total: int
    ) -> tuple[int, int, int]:
        """Tokens that edits remove from the recorded request's reads, writes and fresh input."""
        call, nodes = step.call, sent_request.applied.context.nodes
        if self.variant.model or not sent_request.applied.is_changed:
            return 0, 0, 0
        freed = []
        for depth in self._inputs.part_ends(call):
            raw, node = (nodes[depth - 1], sent_request.path.sent_node(depth - 1)) if depth else (ROOT, ROOT)
            freed.append(
                self._counted_tokens(model, raw, call.sent_head) - self._counted_tokens(model, node, sent_request.head)
            )
        recorded_tokens = self._counted_tokens(model, call.sent_head, call.sent_head)
        whole = (
            recorded_tokens
            - sum(self._book.contexts.tokens(model, call.sent_head, step.gone) if step.gone else ())
            - total
        )
        return freed[0], freed[1] - freed[0], whole - freed[1]

    def _answer_tokens(self, call: Call, model: str) -> int | None:
        nodes = answer_path(self._tree, call)
        return sum(self._book.block_tokens(model, node) for node in nodes) if nodes else None

    def _counted_tokens(self, model: str, node: int, head: int) -> int:
        book, tree = self._book, self._tree
        sums = self._inputs.whole_tokens(model, node)
        start = tree[head].turn_start
        if start != ROOT and book.card(model).strips_thinking:
            before = tree[start].parent
            sums -= book.category_tokens(model, before if tree[before].depth <= tree[node].depth else node, _THINKING)
        return sums

    def _absent_tokens(self, step: RecordedStep, model: str, sent_request: VariantRequest) -> int:
        if not step.gone:
            return 0
        changed = {change.node for change in sent_request.applied.changes.values()}
        absences = step.gone.where(lambda node: node not in changed) if changed else step.gone
        tokens = sum(self._book.contexts.tokens(model, step.call.sent_head, absences)) if absences else 0
        # An edit of a block that its client removed has no effect.
        replacements = (
            change.after
            for change in sent_request.applied.changes.values()
            if change.after is not None and change.node in step.gone.by_node
        )
        return tokens + sum(self._block_tokens(model, block) for block in replacements)

    def _simulate_cache(
        self, step: RecordedStep, call: Call, sent_request: VariantRequest, hidden: int, total: int
    ) -> CacheOutcome | None:
        rules = self._inputs.rules(call)
        if step.at is None or not rules.is_known:
            return None
        tokens = self._sent_lengths(step, call, sent_request, hidden, total)
        salt = self._prompts.salt(call)
        start = step.at

        def deepest_cached(life: float = 0.0) -> int:
            # Computed on demand: few strategies need it.
            base = build_prompt(self._inputs.prefixes, rules, salt, sent_request.head, tokens, (), total=total)
            return self._simulator.deepest_cached(base, start, life)

        markers, explicit = place_markers(
            self.variant.cache, sent_request, self._prompts, self._tree, rules, deepest_cached, tokens, self._ends
        )
        answer = None
        if rules.answers or rules.mechanism.keeps_answers:
            answer = self._tree.extend(sent_request.head, answer_items(self._tree, step.call))
        prompt = build_prompt(
            self._inputs.prefixes,
            rules,
            salt,
            sent_request.head,
            tokens,
            markers,
            total=total,
            explicit=explicit,
            answer=answer,
        )
        time = step.at if step.asked_at is None else step.asked_at
        outcome = self._simulator.predict(prompt, time, why=False)
        self._simulator.record(outcome if time == step.at else self._simulator.predict(prompt, step.at, why=False))
        # If nothing expired, the prefix before the conversation is read even if the conversation differs.
        floor = (
            step.floors.unexpired_prefix
            if outcome.read or not self._is_expired(step, rules)
            else step.floors.shared_prefix
        )
        return outcome.with_min_read(min(floor, tokens(sent_request.path.common_prefix)) if floor else 0)

    def _sent_lengths(
        self, step: RecordedStep, call: Call, sent_request: VariantRequest, hidden: int, total: int
    ) -> SentLengths:
        model, head = call.model or self._book.session.model, step.call.sent_head
        own_tokens = self._counted_tokens(model, head, head) + hidden
        if step.gone:
            own_tokens -= sum(self._book.contexts.tokens(model, head, step.gone))
        return SentLengths(
            step,
            sent_request.path,
            partial(self._counted_tokens, model),
            head=sent_request.head,
            total=total,
            own=own_tokens,
            hidden=hidden,
            use_report=call.model == step.call.model,
            shared=self._inputs.lengths(step, model),
        )

    def _is_expired(self, step: RecordedStep, rules: CacheRules) -> bool:
        life = self.variant.cache if self.variant.cache in LIFETIMES else step.life
        return rules.mechanism.writes_at_markers and rules.seconds(life) < step.pause

    def _count_quotes(self, thread: str) -> None:
        last = self._last.pop(thread, None)
        if last is None or not self.variant.steps:
            return
        shared, _, applied = last
        assert shared.literals is not None
        self._quoted += _count_later_quotes(shared.literals_of(applied.context), applied, self._threads[thread].since)

    def finish(self) -> VariantRun:
        """The result, after the last call was added."""
        for thread in list(self._last):
            self._count_quotes(thread)
        edits = {name: tuple(thread.path.log) for name, thread in self._threads.items() if thread.path.log}
        summaries = [edit for log in edits.values() for edit in active_edits(log) if edit.spec.replaces_blocks]
        model = next(iter(self._models), "")
        sizes = [self._block_tokens(model, text(str(edit.params.get("text") or ""))) for edit in summaries]
        refused = next((thread.path.refused for thread in self._threads.values() if thread.path.refused), "")
        return VariantRun(
            variant=self.variant,
            calls=tuple(self._calls),
            models=tuple(self._models),
            dependence=self._quoted,
            summaries=Summaries(len(summaries), sum(sizes)),
            edits=edits,
            refused=refused,
        )

    def _block_tokens(self, model: str, block: Block) -> int:
        return round(weights.weigh(self._book.measure(model)(block), self._book.weights(model)))


def simulated_usd(inputs: LabInputs, call: Call, usage: Usage) -> float | None:
    """Cost of `call` in USD with another `usage`; None if no price is known."""
    other_extra = {key: value for key, value in call.extra.items() if key not in _BILLING_KEYS}
    return inputs.charge(replace(call, usage=usage, extra=other_extra))


def _is_same_result(first: Applied, second: Applied) -> bool:
    return first.context is second.context and first.changes is second.changes and first.inserts is second.inserts


def _count_later_quotes(literals: Literals, applied: Applied, since: Mapping[int, int]) -> int:
    """Count changed or removed blocks that are quoted in a block added after the change.

    `since` as in `_Thread`.
    """
    if not applied.changes:
        return 0
    literals.advance()
    quoted = set()
    for quote in find_quotes(literals, applied, limit=len(applied.changes) * _MAX_LITERALS):
        if quote.position not in quoted and any(by >= since.get(quote.position, 0) for by in quote.by):
            quoted.add(quote.position)
    return sum(applied.changes[position].before.kind != HEADER for position in quoted)
