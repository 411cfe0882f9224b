"""How well compositions explain their reports, each source by what was decided on the others.

``python -m benchmarks.composition`` prints the table of docs/counting.md. Two things were decided with recordings in
view: that system prompt and tools are taken to be less at a fall that no block explains (*fall*,
`analysis.shortfall.Shortfalls.less`), and that requests on record as they left teach that their blocks come to at most
their report (*at most*, `analysis.forecast`). For each source (a client, whatever its version) both are decided anew on
all other sources, by the share of calls whose residual is beyond 2 % of the report, and held against its own calls. The
recordings are those of `CTXTUI_CORPUS`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import mean
from typing import Final, NamedTuple
from unittest.mock import patch

from benchmarks.preflight import source_of
from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import figures
from ctxtui.analysis.forecast import Forecaster
from ctxtui.analysis.read.shortfall import Shortfalls
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.recordings.open import load

FAR: Final = 0.02
"""Share of a report from which on a residual is too large to pass over."""
Variant = tuple[bool, bool]
"""Whether *fall* and *at most* are done."""
SHIPPED: Final[Variant] = (True, True)
VARIANTS: Final[tuple[Variant, ...]] = (SHIPPED, (True, False), (False, True), (False, False))


class Explained(NamedTuple):
    """Calls of one source with a report: how many, how many with a residual of more than 2 % of it, above and below."""

    calls: int = 0
    over: int = 0
    under: int = 0

    def plus(self, other: Explained) -> Explained:
        """Both together."""
        return Explained(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def far(self) -> float:
        """The share of calls that are not explained."""
        return (self.over + self.under) / self.calls if self.calls else 0.0


def measured(corpus: Path) -> dict[str, dict[Variant, Explained]]:
    """Every source under every variant."""
    found: dict[str, dict[Variant, Explained]] = {}
    counter = Counter()
    for path in sorted(path for path in corpus.rglob("*") if path.is_file()):
        try:
            session = load(path).session
        except CtxtuiError:
            continue
        of = found.setdefault(source_of(path, corpus), {})
        for variant in VARIANTS:
            of[variant] = of.get(variant, Explained()).plus(explained(session, counter, variant))
    return {source: of for source, of in found.items() if of[SHIPPED].calls}


def explained(session: Session, counter: Counter, variant: Variant) -> Explained:
    """How the compositions of one session hold under a variant."""
    fall, at_most = variant
    with ExitStack() as stack:
        if not fall:
            stack.enter_context(patch.object(Shortfalls, "find_decrease", lambda *_, **_options: 0))
        if not at_most:
            stack.enter_context(patch.object(Forecaster, "_learn_whole", lambda *_, **_options: None))
        book = Book(session, model_table(), counter)
        count_all(book, counter)
        calls = [call for call in session.calls.values() if call.usage is not None and call.usage.input]
        shares = [figures(book, call).residual / call.usage.input for call in calls if call.usage is not None]
    return Explained(len(shares), sum(one > FAR for one in shares), sum(one < -FAR for one in shares))


def decided(every: dict[str, dict[Variant, Explained]], without: str) -> Variant:
    """What the other sources decide, each counting the same: what leaves least unexplained; where two do as well, what
    ships first."""
    others = [of for source, of in every.items() if source != without]
    return min(VARIANTS, key=lambda variant: round(mean(of[variant].far for of in others), 6))


def lines(every: dict[str, dict[Variant, Explained]]) -> Iterator[str]:
    """The table."""
    yield "| source | calls | decided on the others | not explained | of them too much | as shipped | neither |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    total, shipped, neither = Explained(), Explained(), Explained()
    for source, of in sorted(every.items()):
        chosen = decided(every, source)
        said = ", ".join(name for name, on in zip(("fall", "at most"), chosen, strict=True) if on) or "neither"
        here, ours, bare = of[chosen], of[SHIPPED], of[False, False]
        total, shipped, neither = total.plus(here), shipped.plus(ours), neither.plus(bare)
        figures_of = f"{here.far:.1%} | {here.under} | {ours.far:.1%} | {bare.far:.1%}"
        yield f"| {source} | {here.calls:,} | {said} | {figures_of} |"
    yield (f"| **all** | {total.calls:,} | | {total.far:.1%} | {total.under} | {shipped.far:.1%} | {neither.far:.1%} |")


def main() -> int:
    """Print the table."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    if not corpus:
        print("CTXTUI_CORPUS names no folder of recordings")
        return 2
    for line in lines(measured(Path(corpus))):
        print(line.replace("%", " %"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
