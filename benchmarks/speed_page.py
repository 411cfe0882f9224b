"""The dashboard on record: docs/speed.json as measured, its table in docs/speed.md."""

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
PAGE: Final = ROOT / "docs" / "speed.md"
"""The document with the table between ``<!-- speed -->`` and ``<!-- /speed -->``."""
_BETWEEN: Final = re.compile(r"( *)<!-- speed -->\n.*?<!-- /speed -->", re.DOTALL)


def write(results: Sequence[Result], seconds: float) -> None:
    """Put the whole table on record and into the document."""
    record = {
        "measured": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "seconds": round(seconds),
        "results": [one.as_fields() for one in results],
    }
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")


def on_record() -> dict[str, Any]:
    """The last table that was put on record."""
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def lines(record: dict[str, Any]) -> list[str]:
    """The table of a document."""
    results = [Result.of(row) for row in record["results"]]
    missed, idle = sum(not one.met for one in results), sum(one.value is None for one in results)
    told = f"{record['measured']}, {record['machine']}: {len(results)} figures, {missed} missed, {idle} not run."
    return [told, "", *table.markdown(results)]


def placed(text: str, record: dict[str, Any]) -> str:
    """A document with the table in its place."""

    def block(found: re.Match[str]) -> str:
        indent = found[1]
        own = [f"{indent}{one}".rstrip() for one in lines(record)]
        return "\n".join([f"{indent}<!-- speed -->", *own, f"{indent}<!-- /speed -->"])

    return _BETWEEN.sub(block, text)
