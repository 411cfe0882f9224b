"""Does it still work: whether a model, asked again under other edits, takes the same next step as was recorded.

What it does on the unchanged request is the noise floor: a model does not always do the same twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.block_content import arguments_value, read
from ctxtui.core.canonical import Json
from ctxtui.core.category import category_of
from ctxtui.core.usage import Usage

UNCHANGED: Final = "unchanged"
"""The variant that sends what was recorded: the noise floor."""
NINETY: Final = 1.6448536269514722
"""Standard deviations of an interval that holds nine cases of ten."""
WORSE, BETTER, ALIKE, UNTOLD = "worse", "better", "not told apart", "not told"
"""What a variant is beside the noise floor: their intervals lie apart, or they do not; or nothing came back."""


class ToolCall(NamedTuple):
    """A tool that a model called, and its arguments as canonical JSON."""

    name: str
    arguments: str


class NextStep(NamedTuple):
    """What an answer does: the tools it calls (none: it says something and rests), and what it says."""

    calls: tuple[ToolCall, ...] = ()
    text: str = ""

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools, in their order."""
        return tuple(call.name for call in self.calls)

    def same_tools(self, other: NextStep) -> bool:
        """Whether the same tools are called in the same order; two answers that call none do the same."""
        return self.tools == other.tools

    def same_calls(self, other: NextStep) -> bool:
        """Whether the arguments are the same, too."""
        return self.calls == other.calls


def next_step(items: Iterable[Item]) -> NextStep:
    """What the blocks of an answer do."""
    calls, said = [], []
    for block, place in items:
        category = category_of(block, place)
        got = read(block)
        if category == "tool_call":
            calls.append(ToolCall(got.name, canonical.dumps(_sorted(arguments_value(got))).decode()))
        elif category == "assistant" and got.text.strip():
            said.append(got.text.strip())
    return NextStep(tuple(calls), "\n\n".join(said))


def _sorted(value: Json) -> Json:
    """The same value, its members in the order of their names: that order is no other argument."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


class Trial(Struct, frozen=True, kw_only=True):
    """Call `number` (from 1) sent again under `variant`: the step that was `recorded` and the one that came (`got`;
    None: none did, `error` says why), and what it was charged for."""

    variant: str
    number: int
    recorded: NextStep
    got: NextStep | None = None
    error: str = ""
    usage: Usage | None = None
    usd: float | None = None

    @property
    def tools_agree(self) -> bool:
        """Whether the same tools were called."""
        return self.got is not None and self.got.same_tools(self.recorded)

    @property
    def calls_agree(self) -> bool:
        """Whether they were called with the same arguments."""
        return self.got is not None and self.got.same_calls(self.recorded)


class Share(NamedTuple):
    """So many `hits` of `of`, and the 90 % interval of the share behind them (Wilson's)."""

    hits: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """The share that was seen; None where nothing was."""
        return self.hits / self.of if self.of else None


def wilson(hits: int, of: int, deviations: float = NINETY) -> Share:
    """The share behind `hits` of `of`, with its interval: that of Wilson, which holds at small counts, too."""
    if of <= 0:
        return Share(0, 0, 0.0, 1.0)
    share, square = hits / of, deviations * deviations
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = deviations / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    high = 1.0 if hits == of else min(1.0, middle + half)
    return Share(hits, of, low, high)


class Agreement(Struct, frozen=True, kw_only=True):
    """How often a variant took the recorded next step: the same `tools`, and the same `calls` with their arguments.
    `lost` are the calls whose tools agreed unchanged and not under the variant, `won` the other way round; `failed` so
    many that nothing came back of; `verdict` is what it is beside the noise floor."""

    variant: str
    tools: Share
    calls: Share
    lost: tuple[int, ...] = ()
    won: tuple[int, ...] = ()
    failed: int = 0
    usd: float | None = None
    verdict: str = UNTOLD


def agreements(trials: Sequence[Trial]) -> list[Agreement]:
    """Each variant's agreement, in the order in which they were first tried."""
    by_variant: dict[str, list[Trial]] = {}
    for one in trials:
        by_variant.setdefault(one.variant, []).append(one)
    floor = {one.number: one.tools_agree for one in by_variant.get(UNCHANGED, ()) if one.got is not None}
    noise = wilson(sum(floor.values()), len(floor))
    return [_agreement(variant, some, floor, noise) for variant, some in by_variant.items()]


def _agreement(variant: str, some: Sequence[Trial], floor: dict[int, bool], noise: Share) -> Agreement:
    came = [one for one in some if one.got is not None]
    tools = wilson(sum(one.tools_agree for one in came), len(came))
    charged = [one.usd for one in some if one.usd is not None]
    return Agreement(
        variant=variant,
        tools=tools,
        calls=wilson(sum(one.calls_agree for one in came), len(came)),
        lost=tuple(one.number for one in came if floor.get(one.number) and not one.tools_agree),
        won=tuple(one.number for one in came if floor.get(one.number) is False and one.tools_agree),
        failed=len(some) - len(came),
        usd=sum(charged) if charged else None,
        verdict=_verdict(tools, noise),
    )


def _verdict(tools: Share, noise: Share) -> str:
    if not tools.of or not noise.of:
        return UNTOLD
    if tools.high < noise.low:
        return WORSE
    return BETTER if tools.low > noise.high else ALIKE


def load_bearing(found: Iterable[Agreement], weights: dict[str, int]) -> list[Agreement]:
    """Of variants that leave one block out each: the one without which the model did otherwise most often first; of
    those alike the heavier one, by `weights`, last: it is the best to go."""
    left = [one for one in found if one.variant in weights]
    return sorted(left, key=lambda one: (_share(one.tools), _share(one.calls), weights[one.variant], one.variant))


def _share(one: Share) -> float:
    return one.share if one.share is not None else 1.0


def spread(numbers: Sequence[int], most: int) -> list[int]:
    """At most `most` of `numbers`, evenly spread, the last one among them: the same each time."""
    if len(numbers) <= most:
        return list(numbers)
    return [numbers[(n + 1) * len(numbers) // most - 1] for n in range(most)]
