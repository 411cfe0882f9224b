"""The dashboard on record: docs/speed.json as measured, its tables in docs/speed.md and README.md."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks import table
from benchmarks.measure import Result

ROOT: Final = Path(__file__).resolve().parent.parent
RECORD: Final = ROOT / "docs" / "speed.json"
PLACES: Final = {"README.md": True, "docs/speed.md": False}
"""The documents with a table between ``<!-- speed -->`` and ``<!-- /speed -->``; True: of each goal only the figure
nearest to its limit."""
_BETWEEN: Final = re.compile(r"( *)<!-- speed -->\n.*?<!-- /speed -->", re.DOTALL)


def write(results: Sequence[Result], seconds: float, *, whole: bool = True) -> None:
    """Put what was measured on record and into the documents; where it is not the `whole` table, in the place of the
    same rows of the last one."""
    if not whole:
        before = on_record()
        results = merged([Result.of(row) for row in before["results"]], results)
        seconds = before["seconds"]
    record = {
        "measured": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "seconds": round(seconds),
        "results": [one.as_fields() for one in results],
    }
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, worst_only in PLACES.items():
        path = ROOT / name
        path.write_text(placed(path.read_text(encoding="utf-8"), record, worst_only=worst_only), encoding="utf-8")


def merged(before: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """The rows `before` with the `new` ones in their places; one that had no figure gives way to those of its goal."""
    fresh = {(one.goal, one.name, one.peer): one for one in new}
    there, out = {(one.goal, one.name, one.peer) for one in before}, list[Result]()
    more = [one for key, one in fresh.items() if key not in there]
    for one in before:
        found = fresh.get((one.goal, one.name, one.peer), one)
        if found.value is None and any(other.goal == one.goal for other in more):
            out += [other for other in more if other.goal == one.goal]
            more = [other for other in more if other.goal != one.goal]
        else:
            out.append(found)
    return [*out, *more]


def on_record() -> dict[str, Any]:
    """The last table that was put on record."""
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def lines(record: dict[str, Any], *, worst_only: bool) -> list[str]:
    """The table of a document."""
    results = [Result.of(row) for row in record["results"]]
    missed, idle = sum(not one.met for one in results), sum(one.value is None for one in results)
    told = f"{record['measured']}, {record['machine']}: {len(results)} figures, {missed} missed, {idle} not run."
    return [told, "", *table.markdown(results, worst_only=worst_only)]


def placed(text: str, record: dict[str, Any], *, worst_only: bool) -> str:
    """A document with the table in its place."""

    def block(found: re.Match[str]) -> str:
        indent = found[1]
        own = [f"{indent}{one}".rstrip() for one in lines(record, worst_only=worst_only)]
        return "\n".join([f"{indent}<!-- speed -->", *own, f"{indent}<!-- /speed -->"])

    return _BETWEEN.sub(block, text)
