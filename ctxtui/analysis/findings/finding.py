"""Findings, and the inputs of their search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.miss import CacheMiss
from ctxtui.analysis.content.guard import Guard
from ctxtui.analysis.lab.on_record import NO_MARKER_RUNS, MarkerRuns
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import freed_tokens
from ctxtui.analysis.money.savings import RatesOf
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit, make
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.policies.policy import Policy, Step, run_all
from ctxtui.curation.policies.policy_context import PolicyContext, Settings
from ctxtui.curation.policies.safe_edits import without_quoted


class Place(NamedTuple):
    """The block in which something was found.

    - `what`: the kind of secret or file, or the repeated tools.
    - `call`: the call that first sent the block; `block`: its position in the context (both from 1).
    - `origin`: the tool with its argument, or the author.
    """

    what: str
    call: int
    block: int
    origin: str


class Finding(Struct, frozen=True, kw_only=True):
    """A problem found in a thread, and its fix.

    - `problem`, `fix`: sentences. Placeholders: ``{tokens}``, ``{usd}``, ``{so_far}`` (``, $1.20 so far``),
      ``{calls}``, ``{count:tool}`` (``2 tools``), ``{names}``.
    - `tokens`: freed in each later call by the fix; for misses: written again; for risks: of their blocks.
    - `so_far`: USD paid for it in `calls` calls, or with `cache` the USD that its markers would have saved in them;
      None: unknown.
    - `count`: number of things found; `names`: their names.
    - `setting`: what the user can do, as a sentence.
    - `usd_per_call`: USD that the fix saves in each later call (None: unknown, or it is edits).
    - `policy`, `policy_settings`: a policy with settings that proposes such edits.
    - `cache`: the cache strategy of the lab whose markers fix it.
    - `by_hand`: why nothing can be staged, if there are neither edits nor a strategy.
    - `warning`: listed whatever the fix costs.
    """

    kind: str
    problem: str
    fix: str
    tokens: int = 0
    so_far: float | None = None
    calls: int = 0
    count: int = 0
    names: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    policy: str = ""
    policy_settings: Mapping[str, Json] = field(default_factory=dict)
    usd_per_call: float | None = None
    setting: str = ""
    cache: str = ""
    by_hand: str = ""
    warning: bool = False
    places: tuple[Place, ...] = ()


class FindingInputs(Struct, frozen=True, kw_only=True):
    """A thread up to the call shown, and the context after its answer.

    - `policy_context`: that context under the active edits.
    - `calls`: the thread's calls so far; `costs`: the cost of their blocks; `markers`: their cost under other cache
      markers.
    - `missed`: the misses of all threads and calls.
    - `rates`: gives the prices of a call's tokens (None: unknown).
    - `minimum`: gives a model's shortest cacheable prefix, in tokens.
    """

    book: Book
    policy_context: PolicyContext
    calls: Sequence[Call]
    costs: ThreadCosts
    missed: Sequence[CacheMiss] = ()
    rates: RatesOf
    markers: MarkerRuns = NO_MARKER_RUNS
    policies: Mapping[str, Policy] = field(default_factory=dict)
    priced: bool = True
    minimum: Callable[[str], int]
    guard: Guard

    def propose(self, policy: str, settings: Settings | None = None) -> list[Edit]:
        """Edits that a policy proposes here, filtered by `keep_unquoted`.

        Empty without such a policy. Raises `NothingToStage`.
        """
        if policy not in self.policies:
            return []
        try:
            return self.keep_unquoted(run_all((Step(self.policies[policy], settings or {}),), self.policy_context))
        except CtxtuiError as error:
            # A third-party policy of that name may fail.
            raise NothingToStage(error.message) from error

    def edit_each(self, positions: Iterable[int], kind: str, params: Mapping[str, Json]) -> list[Edit]:
        """Edits of `kind`, one for each of `positions` that may be edited.

        Those that the user changed, pinned or reverted get none.
        """
        here = self.policy_context
        return [
            make(kind, here.context.targets([p]), params)
            for p in sorted(set(positions))
            if here.is_unchanged(p) and p not in here.pinned and p not in here.reverted_by_user
        ]

    def keep_unquoted(self, edits: Sequence[Edit]) -> list[Edit]:
        """The `edits` that lose no text quoted later. Raises `NothingToStage` if all would."""
        unquoted = without_quoted(self.policy_context, edits)
        if edits and not unquoted:
            raise NothingToStage("later blocks quote all of it")
        return unquoted

    def saved_by_markers(self, cache: str) -> float | None:
        """USD that the markers of `cache` would have saved in the calls.

        None if unknown for any call.
        """
        edited_calls = self.markers.edited_calls(cache, self.calls)
        if edited_calls is None or edited_calls.usd is None or edited_calls.partial:
            return None
        return -edited_calls.usd

    def input_usd(self, call: Call) -> float:
        """USD of the input of `call`; 0 without a report or a known price."""
        usage, by = call.usage, self.rates(call)
        if usage is None or by is None:
            return 0.0
        return usage.fresh * by.fresh + usage.cache_read * by.read + by.write_cost(usage)

    def first_call(self, position: int) -> int:
        """Number (from 1) of the call that first sent the block at `position`.

        The next call's if none did.
        """
        first = self.costs.lifetimes.first_call(self.policy_context.context.nodes[position])
        return (len(self.calls) if first is None else first) + 1

    def position(self, node: int) -> int | None:
        """Current position of the block that first was `node`.

        None if it is not in the context any more.
        """
        current_node = self.costs.lifetimes.node_at_call(node, len(self.calls) - 1)
        nodes = self.policy_context.context.nodes
        depth = self.policy_context.context.tree[current_node].depth - 1 if current_node is not None else -1
        return depth if 0 <= depth < len(nodes) and nodes[depth] == current_node else None

    def name_blocks(self, edits: Sequence[Edit], name: Callable[[PolicyContext, int], str]) -> tuple[str, ...]:
        """Distinct non-empty names of the blocks that `edits` target, the largest block first."""
        context, size = self.policy_context.context, self.policy_context.size
        positions = [p for edit in edits for target in edit.targets if (p := context.find(target)) is not None]
        names = (name(self.policy_context, p) for p in sorted(positions, key=lambda p: -size(p)))
        return tuple(dict.fromkeys(filter(None, names)))


class NoFinding(NamedTuple):
    """A `kind` of finding that is not proposed, with the reason ("": there is no such problem)."""

    kind: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


class NothingToStage(Exception):
    """Raised if a problem has no fix to propose; the text gives the reason."""


class FindingKind(Protocol):
    """One kind of finding: a module with these members."""

    KIND: str

    def find(self, inputs: FindingInputs, /) -> Iterator[Finding]:
        """Yield the findings of the kind. Raises `NothingToStage`."""


class EditEffect(Struct, frozen=True):
    """Effect of edits: `tokens` freed in every later call, by making `count` blocks smaller.

    `calls`: number of calls so far that held one of these blocks.
    """

    tokens: int
    calls: int
    count: int


def measure_edits(inputs: FindingInputs, edits: Sequence[Edit], min_tokens: int = 1) -> EditEffect | None:
    """Effect of `edits`; None without edits.

    Raises `NothingToStage` if they are refused, or free fewer than `min_tokens` tokens.
    """
    if not edits:
        return None
    policy_context, lifetimes = inputs.policy_context, inputs.costs.lifetimes
    after = policy_context.under(edits).applied
    if after.refused:
        raise NothingToStage(f"the provider would refuse it: {after.refused}")
    freed = freed_tokens(policy_context, after)
    tokens = sum(freed.values())
    if tokens < min_tokens:
        raise NothingToStage("too small to matter" if tokens > 0 else "it frees nothing")
    smaller = [policy_context.context.nodes[at] for at, less in freed.items() if less > 0]
    return EditEffect(tokens, lifetimes.count_calls_with_any(smaller, len(inputs.calls)), len(smaller))


def finding_from_markers(inputs: FindingInputs, cache: str, **members: Any) -> Iterator[Finding]:
    """Yield the finding that the markers of `cache` fix; nothing if their saving is unknown.

    Raises `NothingToStage` if they save nothing.
    """
    edited_calls, saved = inputs.markers.edited_calls(cache, inputs.calls), inputs.saved_by_markers(cache)
    if edited_calls is not None and saved is not None:
        if saved <= 0:
            raise NothingToStage("it would cost more than it saves")
        yield Finding(
            cache=cache, so_far=saved, calls=edited_calls.calls, usd_per_call=saved / edited_calls.calls, **members
        )


def finding_from_edits(
    edits: Sequence[Edit], effect: EditEffect, *, kind: str, problem: str, fix: str, policy: str = "", **members: Any
) -> Finding:
    """Finding that `edits` fix, with their `effect`; `members` override it."""
    return Finding(
        kind=kind, problem=problem, fix=fix, edits=tuple(edits), policy=policy, **{**asdict(effect), **members}
    )
