"""Tables of how far off forecasts were, made from the figures on record and put into the documents that show them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
RECORD: Final = ROOT / "docs" / "forecasts.json"
"""The figures on record, as `benchmarks.audit` wrote them."""
_HEADS: Final = (
    "calls",
    "input off by: median, p95",
    "new tokens off by: median, p90",
    "cache reads within",
    "hit or miss right",
    "misses foreseen",
    "false alarms",
)
_WORDS: Final = {
    "asked_nothing": "nothing was read when a person spoke",
    "asked_part": "only part was read when a person spoke",
    "loop_nothing": "nothing was read in a tool loop",
    "loop_part": "only part was read in a tool loop",
}


def page_table(record: dict[str, Any]) -> str:
    """The tables of the page: by client and project, ours and the naive rule's; then which misses nobody foresaw."""
    lines = [f"Measured on {record['measured']}.", "", *_head("recordings")]
    for one in record["clients"]:
        lines += _client_lines(one)
        for project in one["projects"] if len(one["projects"]) > 1 else ():
            lines.append(_line(f"… {project['project']}", _cells(project["input"], project["cache"], project["calls"])))
    return "\n".join([*lines, "", *missed_lines(record)])


def without_writes_table(record: dict[str, Any]) -> str:
    """The table of recordings whose writes are left out: by client, ours and the naive rule's."""
    return "\n".join(
        [*_head("writes not reported"), *(line for one in record["without_writes"] for line in _client_lines(one))]
    )


def _client_lines(one: dict[str, Any]) -> list[str]:
    return [
        _line(f"**{one['client']}**", _cells(one["input"], one["cache"], one["calls"])),
        _line("… the naive rule", _cells(one["naive"]["input"], one["naive"]["cache"], one["calls"])),
    ]


def missed_lines(record: dict[str, Any]) -> list[str]:
    """One line for each client with misses that were not foreseen: how many, and what the record shows of them."""
    lines = []
    for one in record["clients"]:
        some = {key: count for key, count in one["cache"].get("not_foreseen", {}).items() if count}
        if some:
            listed = ", ".join(f"{_WORDS[key]}: {count}" for key, count in some.items())
            lines.append(
                f"- {one['client']}, {sum(some.values())} of {one['cache']['misses']} misses not foreseen: {listed}."
            )
    return lines


PLACES: Final[tuple[tuple[Path, str, Callable[[dict[str, Any]], str]], ...]] = (
    (ROOT / "docs" / "forecasts.md", "forecasts", page_table),
    (ROOT / "docs" / "forecasts.md", "forecasts without writes", without_writes_table),
)
"""The documents that show figures of forecasts: where, between which comments, made by what."""


def on_record() -> dict[str, Any]:
    """The figures on record."""
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def shown(text: str, name: str) -> str:
    """What stands in `text` between the comments of `name`. Raises ValueError where they are missing."""
    found = re.search(_between(name), text)
    if found is None:
        raise ValueError(f"no comments <!-- {name} --> and <!-- /{name} -->")
    return "\n".join(line.strip() for line in found[2].strip().splitlines())


def put(record: dict[str, Any]) -> None:
    """Write the tables of `record` into every document."""
    for path, name, table in PLACES:
        text = path.read_text(encoding="utf-8")
        made = re.sub(_between(name), lambda m: _placed(m, table(record)), text)  # noqa: B023
        path.write_text(made, encoding="utf-8")


def _placed(found: re.Match[str], table: str) -> str:
    indent = found[3]
    body = "\n".join(indent + line if line else "" for line in table.splitlines())
    return f"{found[1]}\n{body}\n{indent}{found[4]}"


def _between(name: str) -> str:
    return rf"(?s)(<!-- {name} -->)\n(.*?)([ \t]*)(<!-- /{name} -->)"


def _head(first: str) -> list[str]:
    return [_line(first, list(_HEADS)), _line("---", ["---"] * len(_HEADS))]


def _line(name: str, cells: list[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def _cells(input_: dict[str, Any], cache: dict[str, Any], calls: int) -> list[str]:
    return [
        f"{calls:,}",
        f"{_short(input_['median'])}, {_short(input_['p95'])}",
        f"{_short(input_['new_median'])}, {_short(input_['new_p90'])}",
        _short(cache.get("within")),
        _short(cache.get("hit_or_miss")),
        f"{cache.get('foreseen', 0)} of {cache.get('misses', 0)}",
        f"{cache.get('false_alarms', 0)} of {cache.get('alarms', 0)}",
    ]


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"
