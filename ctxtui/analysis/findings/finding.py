"""What a finding is, what its kinds are given, and what most of them are made with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.missed import Missed
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
    """Something that is the case in a thread, and what cures it.

    `says` is the sentence and `cure` what to do, with ``{tokens}``, ``{usd}``, ``{so_far}`` (``, $1.20 so far``),
    ``{calls}``, ``{count}``, ``{names}`` in the places of the figures: `tokens` are in every call now, `so_far` USD
    were paid for it in `calls` calls (None: not known), `count` of what `names` name. `edits` cure it from here on;
    where none does, `ahead` is what each later call costs less (USD; None: not known) once `setting` is followed.
    `policy` with `given` makes the same edits on the command line. `cache` is the strategy whose markers cure it, as
    the lab calls it; where neither is there, `by_hand` says why nothing can be staged.
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
    """A thread up to the call shown, and the context behind its answer.

    `situation` is that context under the edits that stand, `calls` are those of the thread so far, `costs` what their
    blocks cost, `missed` what they missed, `markers` what other cache markers would have cost.
    `policies` are all there are by name; `priced` says whether money is known at all, `minimum` gives a model's least
    cacheable prefix.
    """

    book: Book
    situation: PolicyContext
    calls: Sequence[Call]
    costs: ThreadCosts
    missed: Sequence[Missed] = ()
    rates: RatesOf
    markers: UnderMarkers = NOT_TRIED
    policies: Mapping[str, Policy] = field(default_factory=dict)
    priced: bool = True
    minimum: Callable[[str], int]

    def proposed(self, policy: str, settings: Settings | None = None) -> list[Edit]:
        """The edits that a policy proposes here and that lose nothing which is quoted later; none where there is no
        such policy. Raises `NothingToStage`."""
        found = self.policies.get(policy)
        if found is None:
            return []
        try:
            return self.unquoted(run_all((Step(found, settings or {}),), self.situation))
        except CtxtuiError as error:
            # A third party's policy of that name may fail.
            raise NothingToStage(error.message) from error

    def unquoted(self, edits: Sequence[Edit]) -> list[Edit]:
        """Those of `edits` that lose nothing which is quoted later. Raises `NothingToStage` where each does."""
        kept = without_quoted(self.situation, edits)
        if edits and not kept:
            raise NothingToStage("later blocks quote all of it")
        return kept

    def saved_by_markers(self, cache: str) -> float | None:
        """USD that the calls cost less with the markers of `cache`, by the lab; None where that is not known."""
        under = self.markers.of(cache, self.calls)
        return -under.usd if under is not None and under.usd is not None and not under.partial else None

    def input_usd(self, call: Call) -> float:
        """USD of what `call` sent; 0 where no price is known."""
        usage, by = call.usage, self.rates(call)
        if usage is None or by is None:
            return 0.0
        return usage.fresh * by.fresh + usage.cache_read * by.read + by.write_cost(usage)

    def position(self, node: int) -> int | None:
        """Where the block that `node` first was stands in the context now, if it still does as it was."""
        there = self.costs.stays.standing(node, len(self.calls) - 1)
        nodes = self.situation.context.nodes
        depth = self.situation.context.tree[there].depth - 1 if there is not None else -1
        return depth if 0 <= depth < len(nodes) and nodes[depth] == there else None


class Silent(NamedTuple):
    """A `kind` that proposes nothing: `why`; "" where it is not the case."""

    kind: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


class NothingToStage(Exception):
    """Something is the case, and no edit is proposed: says why."""


class FindingKind(Protocol):
    """A module of a kind: its `KIND` is the name that people read."""

    KIND: str

    def find(self, given: FindingInputs, /) -> Iterator[Finding]:
        """The findings of the kind. Raises `NothingToStage`."""


class Weight(Struct, frozen=True):
    """What edits are about: `tokens` that they free in every call, in how many `calls` any of it stood, how many blocks
    (`count`)."""

    tokens: int
    calls: int
    count: int


def weighed(given: FindingInputs, edits: Sequence[Edit], least: int = 1) -> Weight | None:
    """What `edits` are about; None where there are none. Raises `NothingToStage` where they cannot be applied, or free
    fewer than `least` tokens."""
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
    """The finding that the markers of `cache` cure, with what the lab says that they save; none where that is not
    known. `more` are its other members. Raises `NothingToStage` where they save nothing."""
    under, saved = given.markers.of(cache, given.calls), given.saved_by_markers(cache)
    if under is not None and saved is not None:
        if saved <= 0:
            raise NothingToStage("it would cost more than it saves")
        yield Finding(cache=cache, so_far=saved, calls=under.calls, ahead=saved / under.calls, **more)


def cured_by(
    edits: Sequence[Edit], about: Weight, *, kind: str, says: str, cure: str, policy: str = "", **more: Any
) -> Finding:
    """The finding that `edits`, which are `about` so much, cure; `more` are members that are others than its own."""
    return Finding(kind=kind, says=says, cure=cure, edits=tuple(edits), policy=policy, **{**asdict(about), **more})
