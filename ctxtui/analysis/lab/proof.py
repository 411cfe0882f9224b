"""What a cure saves by the lab: the recording as it was, and with what the simulation says the cure changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from ctxtui.analysis.lab.lab import Experiment
from ctxtui.analysis.lab.on_record import on_record
from ctxtui.analysis.lab.variant import StagedEdits, Variant, VariantRun
from ctxtui.analysis.lab.variant_pass import Bench
from ctxtui.core.edit import Edit


class Trial(NamedTuple):
    """A cure to be tried: `edits` besides those that `stand` already, from behind the call `since` of `thread` on (0:
    from the first one), or the markers of the strategy `cache`. It is looked at up to call `last`."""

    thread: str
    last: int
    edits: tuple[Edit, ...] = ()
    stand: tuple[Edit, ...] = ()
    since: int = 0
    cache: str = ""

    def variants(self) -> tuple[Variant, Variant]:
        """Without the cure, and with it."""
        plain = Variant(staged=StagedEdits(self.thread, self.since, self.stand)) if self.stand else Variant()
        if self.cache:
            return plain, Variant(staged=plain.staged, cache=self.cache)
        return plain, Variant(staged=StagedEdits(self.thread, self.since, (*self.stand, *self.edits)))


class Proof(Struct, frozen=True, kw_only=True):
    """What the lab found of a trial: in each of the calls `numbers` (of their thread, from 1) the tokens that were not
    sent (`saved`), and USD that it cost less (`usd`; None where no price is known). Negative: more. `refused` says why
    the edits could not be made."""

    numbers: tuple[int, ...]
    saved: tuple[int, ...]
    usd: tuple[float | None, ...]
    refused: str = ""

    @property
    def calls(self) -> int:
        """How many calls were gone through."""
        return len(self.numbers)

    @property
    def tokens(self) -> int:
        """What all of them have less together."""
        return sum(self.saved)

    @property
    def money(self) -> float | None:
        """USD that all of them cost less; None where the price of one is not known."""
        return None if None in self.usd or not self.usd else sum(one for one in self.usd if one is not None)


def proofs(bench: Bench, trials: Sequence[Trial]) -> list[Proof]:
    """What each of the trials comes to, all tried at once; everything in the book of `bench` must be counted."""
    if not trials:
        return []
    pairs = [trial.variants() for trial in trials]
    wanted = list(dict.fromkeys((Variant(), *(variant for pair in pairs for variant in pair))))
    under_way = Experiment(bench, wanted)
    for _ in under_way:
        pass
    own = under_way.runs[0]
    by = {variant: on_record(bench, own, run) for variant, run in zip(wanted, under_way.runs, strict=True)}
    return [_proof(bench, trial, by[plain], by[cured]) for trial, (plain, cured) in zip(trials, pairs, strict=True)]


def _proof(bench: Bench, trial: Trial, plain: VariantRun, cured: VariantRun) -> Proof:
    rows = list(_rows(bench, trial, plain, cured))
    return Proof(
        numbers=tuple(number for number, _, _ in rows),
        saved=tuple(saved for _, saved, _ in rows),
        usd=tuple(usd for _, _, usd in rows),
        refused=cured.refused,
    )


def _rows(bench: Bench, trial: Trial, plain: VariantRun, cured: VariantRun) -> Iterator[tuple[int, int, float | None]]:
    numbers = {call.id: n for n, call in enumerate(bench.book.session.thread_calls(trial.thread), 1)}
    for without, under in zip(plain.calls, cured.calls, strict=True):
        number = numbers.get(without.id, 0)
        if trial.since < number <= trial.last:
            known = without.usd is not None and under.usd is not None
            yield number, without.context - under.context, (without.usd or 0.0) - (under.usd or 0.0) if known else None
