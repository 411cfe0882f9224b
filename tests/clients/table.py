"""The table of clients in docs/formats.md: read, made from what the tests held, written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.clients.client import COLUMNS, ROOT, Client

DOCUMENT = ROOT / "docs" / "formats.md"
BEGIN, END = "<!-- clients: written by make client-table -->\n", "<!-- end of clients -->"
YES, NO, NEVER, UNTRIED = "yes", "no", "—", "?"

Rows = dict[str, dict[str, str]]
"""Client -> column -> cell; the column `version` first."""


def region(document: Path = DOCUMENT) -> str:
    """What stands between the marks."""
    return document.read_text().split(BEGIN)[1].split(END)[0]


def rows(text: str) -> Rows:
    """The table's rows."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    if not lines:
        return {}
    return {line[0]: dict(zip(lines[0][1:], line[1:], strict=True)) for line in lines[2:]}


def made(clients: Sequence[Client], outcomes: Mapping[tuple[str, str], str], before: Rows) -> str:
    """The region anew: cells from `outcomes` (client, column), else as they were before for this version."""
    lines = [f"| client | version | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 2) + "|"]
    for client in clients:
        old = before.get(client.name, {})
        old = old if old.get("version") == client.version else {}
        cells = [
            NEVER if cell in client.lacks else outcomes.get((client.name, cell), old.get(cell, UNTRIED))
            for cell in COLUMNS
        ]
        lines.append(f"| {client.name} | {client.version} | {' | '.join(cells)} |")
    reasons = [
        f"- {one.name}, not {cell}: {one.lacks[cell]}" for one in clients for cell in COLUMNS if cell in one.lacks
    ]
    return "\n".join(["", *lines, "", *reasons, *([""] if reasons else [])]) + "\n"


def write(text: str, document: Path = DOCUMENT) -> None:
    """Put the region into the document."""
    whole = document.read_text()
    old = region(document)
    document.write_text(whole.replace(BEGIN + old + END, BEGIN + text + END))
