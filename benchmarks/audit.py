"""The audit table: forecasts held against reports on recordings with usage, per source, and with leave-one-out priors.

``python -m benchmarks audit`` prints the targets, ``python -m benchmarks.audit`` the whole table. The recordings are
those of `CTXTUI_CORPUS`, a folder with one folder per source; where there is none, nothing is measured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.measure import Result
from ctxtui.analysis.audit import Audited, audited, summary
from ctxtui.analysis.book import Book
from ctxtui.analysis.forecast import Forecaster, teaches
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.recordings.open import load
from ctxtui.tokens.calibrate import Calibration
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard

FINAL: Final = ("codex", "mini_swe_agent")
"""Sources whose output counts are final."""
SOURCES: Final = ("claude_code", *FINAL)
COLUMNS: Final = (
    ("median_abs_error_pct", "total med"),
    ("p95_abs_error_pct", "p95"),
    ("new_median_abs_error_pct", "new med"),
    ("new_p90_abs_error_pct", "p90"),
    ("interval_coverage_pct", "inside"),
    ("median_interval_width_pct", "±"),
)

Lesson = tuple[str, ModelCard, Features, float, int]
"""What one report taught: its family, card, features, tokens, answers taken from reports."""


class Recording(NamedTuple):
    """One recording of a source with its counts."""

    source: str
    name: str
    book: Book


def recordings(corpus: Path) -> Iterator[Recording]:
    """Every recording of `SOURCES` that holds a context."""
    counter = Counter()
    for source in SOURCES:
        for path in sorted(p for p in (corpus / source).glob("*") if p.is_file()):
            try:
                book = Book(load(path).session, model_table(), counter)
            except CtxtuiError:
                continue
            count_all(book, counter)
            yield Recording(source, path.name, book)


def lessons(book: Book) -> list[Lesson]:
    """What the reports of a recording teach, in order."""
    forecaster = Forecaster(book.session, book.cumulated, book.card)
    found = []
    for call in book.session.calls.values():
        forecast = forecaster.forecast(call) if call.usage else None
        if forecast and call.usage and teaches(forecast, call.usage.input):
            tokens = call.usage.input - forecast.known - forecast.added
            card = book.card(call.model)
            found.append((family(card), card, forecast.features, tokens, forecast.answers))
        forecaster.learn(call, forecast)
    return found


def family(card: ModelCard) -> str:
    """Cards of one family share a prior."""
    return f"{card.provider} {card.factors.text}"


def left_out(held: Recording, taught: dict[str, list[Lesson]]) -> list[Audited]:
    """The audit of `held` with the factors that the other recordings teach, instead of the shipped ones."""
    learnt: dict[str, Calibration] = {}
    for name, some in taught.items():
        for kind, card, features, tokens, answers in some if name != held.name else ():
            learnt.setdefault(kind, Calibration(card)).learn(features, tokens, answers)
    factors = {kind: one.factors for kind, one in learnt.items()}
    cards = {m: held.book.card(m) for m in {call.model for call in held.book.session.calls.values()}}
    fitted = {m: replace(c, factors=factors.get(family(c), c.factors)) for m, c in cards.items()}
    return audited(held.book, fitted.__getitem__)


def table(corpus: Path) -> dict[str, list[Audited]]:
    """Rows by line of the table: each source, the sources with final counts, and all of it left one out."""
    found: dict[str, list[Audited]] = {}
    known = list(recordings(corpus))
    taught = {one.name: lessons(one.book) for one in known}
    for one in known:
        lines = [one.source, *(["final counts"] if one.source in FINAL else [])]
        for suffix, rows in (("", audited(one.book)), (", left one out", left_out(one, taught))):
            for line in lines:
                found.setdefault(line + suffix, []).extend(rows)
            if one.source not in FINAL:
                found.setdefault(f"{one.source}, tool loop{suffix}", []).extend(r for r in rows if not r.asked)
    return found


def results(folder: Path, runs: int) -> list[Result]:
    """The targets of the audit; none without a corpus. `folder` and `runs` are not used: nothing varies."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    rows = table(Path(corpus)) if corpus else {}
    wanted = {
        "claude_code": (0.04, 0.8, 5.0, 25.0, 30.0),
        "claude_code, tool loop": (None, None, 4.0, 18.0, None),
        "final counts": (None, None, 1.0, 6.0, 5.0),
    }
    found = []
    for line, (median, p95, new, new_p90, width) in wanted.items():
        if line not in rows:
            continue
        got = summary(rows[line])
        keys = [key for key, _ in COLUMNS if key != "interval_coverage_pct"]
        aims = dict(zip(keys, (median, p95, new, new_p90, width), strict=True))
        found += [Result(f"{line}: {key}", got[key], aim, "%") for key, aim in aims.items() if aim is not None]
        if width is None:
            continue
        away = abs(got["interval_coverage_pct"] - 90)
        found.append(Result(f"{line}: interval coverage, away from 90 %", away, 3.0, "%", f"{len(rows[line])} calls"))
    return found


def main() -> int:
    """Print the whole table."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    if not corpus:
        print("CTXTUI_CORPUS names no folder of recordings")
        return 2
    print(f"{'':34} {'calls':>6} " + " ".join(f"{title:>10}" for _, title in COLUMNS))
    for line, rows in table(Path(corpus)).items():
        got = summary(rows)
        print(f"{line:34} {len(rows):6} " + " ".join(f"{got[key]:10.3f}" for key, _ in COLUMNS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
