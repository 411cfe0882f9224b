"""Base of findings: the finding itself, the inputs of its kinds, and shared helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.miss import CacheMiss
from ctxtui.analysis.lab.on_record import NOT_TRIED, UnderMarkers
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import freed_by
from ctxtui.analysis.money.savings import RatesOf
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.policies.policy import Policy, Step, run_all
from ctxtui.curation.policies.safe_edits import without_quoted
from ctxtui.curation.policies.situation import PolicyContext, Settings


class Finding(Struct, frozen=True, kw_only=True, dict=True):
    """A problem found in a thread, and its cure.

    `says` is the sentence and `cure` the remedy, with ``{tokens}``, ``{usd}``, ``{so_far}`` (``, $1.20 so far``),
    ``{calls}``, ``{count}``, ``{names}`` as placeholders: `tokens` are in every call now, `so_far` USD were paid
    for it in
    `calls` calls (None: unknown), `count` of what `names` name. `edits` cure it from here on; if there are none,
    `ahead` is
    the saving of each later call (USD; None: unknown) once `setting` is followed. `policy` with `given` makes the
    same
    edits on the command line. `cache` is the strategy whose markers cure it, as named in the lab; without either,
    `by_hand`
    says why nothing can be staged.
    """

    kind: str
    says: str
    cure: str
    tokens: int = 0
    so_far: float | None = None
    calls: int = 0
    count: int = 0
    names: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    policy: str = ""
    given: Mapping[str, Json] = field(default_factory=dict)
    ahead: float | None = None
    setting: str = ""
    cache: str = ""
    by_hand: str = ""


class FindingInputs(Struct, frozen=True, kw_only=True, dict=True):
    """A thread up to the call shown, and the context after its answer.

    `situation` is that context under the active edits, `calls` are those of the thread so far, `costs` the cost
    of their
    blocks, `missed` their misses, `markers` their cost under other cache markers. `policies` are all policies by
    name;
    `priced` says whether money is known at all, `minimum` gives a model's shortest cacheable prefix.
    """

    book: Book
    situation: PolicyContext
    calls: Sequence[Call]
    costs: ThreadCosts
    missed: Sequence[CacheMiss] = ()
    rates: RatesOf
    markers: UnderMarkers = NOT_TRIED
    policies: Mapping[str, Policy] = field(default_factory=dict)
    priced: bool = True
    minimum: Callable[[str], int]

    def proposed(self, policy: str, settings: Settings | None = None) -> list[Edit]:
        """Edits that a policy proposes here without losing text that is quoted later; empty without such a policy.

        Raises `NothingToStage`.
        """
        found = self.policies.get(policy)
        if found is None:
            return []
        try:
            return self.unquoted(run_all((Step(found, settings or {}),), self.situation))
        except CtxtuiError as error:
            # A third-party policy of that name may fail.
            raise NothingToStage(error.message) from error

    def unquoted(self, edits: Sequence[Edit]) -> list[Edit]:
        """Filter `edits` to those that lose no text quoted later. Raises `NothingToStage` if each does."""
        kept = without_quoted(self.situation, edits)
        if edits and not kept:
            raise NothingToStage("later blocks quote all of it")
        return kept

    def saved_by_markers(self, cache: str) -> float | None:
        """USD saved in the calls by the markers of `cache`, from the lab; None if unknown."""
        under = self.markers.of(cache, self.calls)
        return -under.usd if under is not None and under.usd is not None and not under.partial else None

    def input_usd(self, call: Call) -> float:
        """USD of the input of `call`; 0 if no price is known."""
        usage, by = call.usage, self.rates(call)
        if usage is None or by is None:
            return 0.0
        return usage.fresh * by.fresh + usage.cache_read * by.read + by.write_cost(usage)

    def position(self, node: int) -> int | None:
        """Current position of the block that first was `node`; None if it is not in the context unchanged."""
        there = self.costs.stays.standing(node, len(self.calls) - 1)
        nodes = self.situation.context.nodes
        depth = self.situation.context.tree[there].depth - 1 if there is not None else -1
        return depth if 0 <= depth < len(nodes) and nodes[depth] == there else None


class Silent(NamedTuple):
    """A `kind` that proposes nothing, with the reason; "" if it was not found."""

    kind: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


class NothingToStage(Exception):
    """A finding for which no edit is proposed; the text gives the reason."""


class FindingKind(Protocol):
    """A module of a kind; its `KIND` is the displayed name."""

    KIND: str

    def find(self, given: FindingInputs, /) -> Iterator[Finding]:
        """Yield the findings of the kind. Raises `NothingToStage`."""


class Weight(Struct, frozen=True):
    """Effect of edits: `tokens` freed in every call, number of `calls` that held any of them, and number of blocks."""

    tokens: int
    calls: int
    count: int


def weighed(given: FindingInputs, edits: Sequence[Edit], least: int = 1) -> Weight | None:
    """Effect of `edits`; None without edits.

    Raises `NothingToStage` if they cannot be applied, or free fewer than `least` tokens.
    """
    if not edits:
        return None
    here, stays = given.situation, given.costs.stays
    after = here.under(edits).applied
    if after.refused:
        raise NothingToStage(f"the provider would refuse it: {after.refused}")
    freed = freed_by(here, after)
    tokens = sum(freed.values())
    if tokens < least:
        raise NothingToStage("too small to matter" if tokens > 0 else "it frees nothing")
    smaller = [here.context.nodes[at] for at, less in freed.items() if less > 0]
    return Weight(tokens, max(stays.count(node, len(given.calls)) for node in smaller), len(smaller))


def cured_by_markers(given: FindingInputs, cache: str, **more: Any) -> Iterator[Finding]:
    """Yield the finding cured by the markers of `cache`, with their saving from the lab; none if it is unknown.

    `more` are its other members. Raises `NothingToStage` if they save nothing.
    """
    under, saved = given.markers.of(cache, given.calls), given.saved_by_markers(cache)
    if under is not None and saved is not None:
        if saved <= 0:
            raise NothingToStage("it would cost more than it saves")
        yield Finding(cache=cache, so_far=saved, calls=under.calls, ahead=saved / under.calls, **more)


def cured_by(
    edits: Sequence[Edit], about: Weight, *, kind: str, says: str, cure: str, policy: str = "", **more: Any
) -> Finding:
    """Finding that `edits` cure, with their effect `about`; `more` are other members."""
    return Finding(kind=kind, says=says, cure=cure, edits=tuple(edits), policy=policy, **{**asdict(about), **more})
