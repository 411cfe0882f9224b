"""Forecasts held against reports, each project's recordings by what those of the others taught, beside a naive rule.

``python -m benchmarks.audit`` prints the figures, with ``--write`` it puts them on record (``docs/forecasts.json``) and
their tables into docs/forecasts.md; ``python -m benchmarks --only forecasts`` holds them against the
goals. The recordings are those of `CTXTUI_CORPUS`; where there is none, nothing is measured.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from benchmarks.forecast_tables import RECORD, put
from benchmarks.left_out import Pair, foretold, known
from benchmarks.measure import Result
from benchmarks.recorded import CLIENTS, recordings
from ctxtui.analysis.audit import AuditedCall, summarize
from ctxtui.analysis.cache.audit import AuditedRead

GOALS: Final = {"within": 1.7, "hit or miss": 0.7, "not foreseen": 20.0, "false alarms": 5.0}
"""The most that may be wrong of Claude Code's cache reads, in percent."""


def measured(corpus: Path) -> dict[str, Any]:
    """The figures by client, and of each client by project; and the same where writes are not reported."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    return {"measured": today, "clients": _clients(corpus), "without_writes": _clients(corpus, muted=True)}


def _clients(corpus: Path, *, muted: bool = False) -> list[dict[str, Any]]:
    every = [known(one) for one in recordings(corpus, muted=muted)]
    pairs: dict[str, dict[str, list[Pair]]] = {client: {} for client in CLIENTS}
    for one in every:
        held = one.recording
        others = [other for other in every if other.recording.project != held.project]
        pairs[held.client].setdefault(held.project, []).extend(foretold(held, others))
    clients = []
    for client, by in pairs.items():
        rows = [pair for some in by.values() for pair in some]
        if rows:
            projects = [{"project": project, **figures(some)} for project, some in sorted(by.items()) if some]
            clients.append({"client": CLIENTS[client], **figures(rows), "projects": projects})
    return clients


def figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    """What was foretold of some calls, and what the naive rule says, held against reports: in percent, or counts."""
    reads = [(pair, pair.read) for pair in pairs if pair.read is not None]
    naive_reads = [replace(read, predicted=pair.naive_read) for pair, read in reads]
    return {
        "calls": len(pairs),
        "input": _inputs([pair.input for pair in pairs]),
        "cache": {**_reads([read for _, read in reads]), "not_foreseen": _unforeseen(reads)},
        "naive": {"input": _inputs([_naive(pair) for pair in pairs]), "cache": _reads(naive_reads)},
    }


def _naive(pair: Pair) -> AuditedCall:
    row = pair.input
    more = pair.naive_input - row.predicted
    return replace(row, predicted=pair.naive_input, new_predicted=row.new_predicted + more)


def _inputs(rows: Sequence[AuditedCall]) -> dict[str, Any]:
    found = summarize(rows)
    return {
        "median": found["median_abs_error_pct"],
        "p95": found["p95_abs_error_pct"],
        "new_median": found["new_median_abs_error_pct"],
        "new_p90": found["new_p90_abs_error_pct"],
    }


def _reads(rows: Sequence[AuditedRead]) -> dict[str, Any]:
    if not rows:
        return {"calls": 0}
    missed, alarms = [row for row in rows if _missed(row)], [row for row in rows if _alarm(row)]
    return {
        "calls": len(rows),
        "within": _percent(sum(row.within for row in rows), len(rows)),
        "hit_or_miss": _percent(sum(_missed(row) == _alarm(row) for row in rows), len(rows)),
        "misses": len(missed),
        "foreseen": sum(_alarm(row) for row in missed),
        "alarms": len(alarms),
        "false_alarms": sum(not _missed(row) for row in alarms),
    }


def _missed(row: AuditedRead) -> bool:
    """Whether a call read at most half of the previous input: a rule that asks nothing of the forecast, so that it is
    the same for every forecaster."""
    return row.reported * 2 <= row.previous


def _alarm(row: AuditedRead) -> bool:
    """Whether that was foretold."""
    return row.predicted * 2 <= row.previous


def _unforeseen(reads: Sequence[tuple[Pair, AuditedRead]]) -> dict[str, int]:
    """Misses that were not foreseen, by what came before them and by what was read."""
    found = {"asked_nothing": 0, "asked_part": 0, "loop_nothing": 0, "loop_part": 0}
    for pair, read in reads:
        if _missed(read) and not _alarm(read):
            found[f"{'asked' if pair.input.follows_user else 'loop'}_{'part' if read.reported else 'nothing'}"] += 1
    return found


def _percent(part: int, of: int) -> float:
    return round(100 * part / of, 2)


def results(folder: Path, runs: int) -> list[Result]:
    """The goals for Claude Code's cache reads; none without a corpus. Neither argument is used: nothing varies."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    clients = _clients(Path(corpus)) if corpus else []
    found = []
    for client in clients:
        got = client["cache"]
        if client["client"] != CLIENTS["claude_code"] or not got["calls"]:
            continue
        wrong = {
            "within": 100 - got["within"],
            "hit or miss": 100 - got["hit_or_miss"],
            "not foreseen": _percent(got["misses"] - got["foreseen"], max(1, got["misses"])),
            "false alarms": _percent(got["false_alarms"], max(1, got["alarms"])),
        }
        note = f"{got['calls']} calls, {got['misses']} misses"
        found = [
            Result(
                "forecasts",
                f"{client['client']}'s cache reads, {k}: wrong",
                "the provider's reports",
                wrong[k],
                goal,
                "%",
                note,
            )
            for k, goal in GOALS.items()
        ]
    return found


def main() -> int:
    """Print the figures; with ``--write`` put them on record."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    if not corpus:
        print("CTXTUI_CORPUS names no folder of recordings")
        return 2
    record = measured(Path(corpus))
    text = json.dumps(record, indent=1, ensure_ascii=False)
    print(text)
    if "--write" in sys.argv[1:]:
        RECORD.write_text(text + "\n", encoding="utf-8")
        put(record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
