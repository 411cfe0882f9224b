"""Tests whether a model takes the recorded next step again (``ctxtui agree``).

A variant has other edits or another model. Variants are compared with the *noise floor*: the answers to the unchanged
request.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.content.normalized import sort_members
from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.block_content import arguments_value, read
from ctxtui.core.category import category_of
from ctxtui.core.usage import Usage

UNCHANGED: Final = "unchanged"
"""The variant that sends the recorded request: the noise floor."""
_DEVIATIONS_90: Final = 1.6448536269514722
"""Standard deviations from the centre of a 90 % interval to its ends."""
WORSE, BETTER, ALIKE, UNTOLD = "worse", "better", "not told apart", "not told"
"""Verdicts on a variant against the noise floor: disjoint intervals (worse, better), overlapping ones, no answers."""


class ToolCall(NamedTuple):
    """A tool that a model called, and its arguments as JSON with sorted members."""

    name: str
    arguments: str


class NextStep(NamedTuple):
    """The step of an answer: the tools that it calls, and its text."""

    calls: tuple[ToolCall, ...] = ()
    text: str = ""

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(call.name for call in self.calls)


def extract_step(items: Iterable[Item]) -> NextStep:
    """The step of the answer whose blocks are `items`."""
    calls, texts = [], []
    for block, place in items:
        category = category_of(block, place)
        content = read(block)
        if category == "tool_call":
            calls.append(ToolCall(content.name, canonical.dumps(sort_members(arguments_value(content))).decode()))
        elif category == "assistant" and content.text.strip():
            texts.append(content.text.strip())
    return NextStep(tuple(calls), "\n\n".join(texts))


class Trial(Struct, frozen=True, kw_only=True):
    """Call `number` (from 1), sent again under `variant`.

    `new` is the step of the new answer (None: see `error`).
    """

    variant: str
    number: int
    recorded: NextStep
    new: NextStep | None = None
    error: str = ""
    usage: Usage | None = None
    usd: float | None = None

    @property
    def tools_agree(self) -> bool:
        """Whether the same tools were called in the same order, or none both times."""
        return self.new is not None and self.new.tools == self.recorded.tools

    @property
    def calls_agree(self) -> bool:
        """Whether they were called with the same arguments."""
        return self.new is not None and self.new.calls == self.recorded.calls


class Share(NamedTuple):
    """`hits` in `cases`; `low` to `high` is the 90 % interval of the underlying share."""

    hits: int
    cases: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        return self.hits / self.cases if self.cases else None


def wilson_interval(hits: int, cases: int) -> Share:
    """Estimate a share with Wilson's 90 % interval, which is valid for small counts too."""
    if cases <= 0:
        return Share(0, 0, 0.0, 1.0)
    share, square = hits / cases, _DEVIATIONS_90**2
    middle = (share + square / (2 * cases)) / (1 + square / cases)
    spread = math.sqrt(share * (1 - share) / cases + square / (4 * cases * cases))
    half = _DEVIATIONS_90 / (1 + square / cases) * spread
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    high = 1.0 if hits == cases else min(1.0, middle + half)
    return Share(hits, cases, low, high)


class Agreement(Struct, frozen=True, kw_only=True):
    """Agreement of a variant's answers with the recorded next steps.

    - `tools` is the share of answers that call the same tools, `calls` the share that also pass the same arguments.
    - `lost` has the numbers of the recorded calls that only the unchanged request answers with the same tools, `won`
      of those that only the variant does.
    - `failed` is the number of trials without an answer.
    - `verdict` compares `tools` with the noise floor.
    - `usd` is the sum of the known costs of the trials.
    """

    variant: str
    tools: Share
    calls: Share
    lost: tuple[int, ...] = ()
    won: tuple[int, ...] = ()
    failed: int = 0
    usd: float | None = None
    verdict: str = UNTOLD


def compare_variants(trials: Sequence[Trial]) -> list[Agreement]:
    """Agreement of each variant, in the order of their first trials."""
    by_variant: dict[str, list[Trial]] = {}
    for trial in trials:
        by_variant.setdefault(trial.variant, []).append(trial)
    floor = {trial.number: trial.tools_agree for trial in by_variant.get(UNCHANGED, ()) if trial.new is not None}
    noise = wilson_interval(sum(floor.values()), len(floor))
    return [_measure_agreement(variant, variant_trials, floor, noise) for variant, variant_trials in by_variant.items()]


def _measure_agreement(
    variant: str, variant_trials: Sequence[Trial], floor: dict[int, bool], noise: Share
) -> Agreement:
    answered = [trial for trial in variant_trials if trial.new is not None]
    tools = wilson_interval(sum(trial.tools_agree for trial in answered), len(answered))
    charged = [trial.usd for trial in variant_trials if trial.usd is not None]
    return Agreement(
        variant=variant,
        tools=tools,
        calls=wilson_interval(sum(trial.calls_agree for trial in answered), len(answered)),
        lost=tuple(trial.number for trial in answered if floor.get(trial.number) and not trial.tools_agree),
        won=tuple(trial.number for trial in answered if floor.get(trial.number) is False and trial.tools_agree),
        failed=len(variant_trials) - len(answered),
        usd=sum(charged) if charged else None,
        verdict=_judge(tools, noise),
    )


def _judge(tools: Share, noise: Share) -> str:
    if not tools.cases or not noise.cases:
        return UNTOLD
    if tools.high < noise.low:
        return WORSE
    return BETTER if tools.low > noise.high else ALIKE


def rank_by_importance(agreements: Iterable[Agreement], weights: dict[str, int]) -> list[Agreement]:
    """Rank variants that leave out one block each, the most important block first.

    Without it, the model most often acts differently. Of equally important blocks the heavier one (by `weights`) is
    last. A variant without an answer is unimportant.
    """
    ranked = [agreement for agreement in agreements if agreement.variant in weights]
    return sorted(
        ranked, key=lambda row: (_share_or_one(row.tools), _share_or_one(row.calls), weights[row.variant], row.variant)
    )


def _share_or_one(share: Share) -> float:
    return share.share if share.share is not None else 1.0


def spread_evenly(numbers: Sequence[int], limit: int) -> list[int]:
    """Choose at most `limit` of `numbers`, evenly spread and including the last one."""
    if len(numbers) <= limit:
        return list(numbers)
    return [numbers[(n + 1) * len(numbers) // limit - 1] for n in range(limit)]
