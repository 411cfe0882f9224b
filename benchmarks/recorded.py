"""The recordings that forecasts are held against: by whom and with what they were made, each call once.

`CTXTUI_CORPUS` names their folder: one folder for each client, and an ``INDEX.csv`` that names the project from which
each file is. Recordings answered by `ctxtui offline` are not among them: its cache is ctxtui's own.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import CallSeen, Session
from ctxtui.core.usage import WRITES
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.recordings.open import load

CLIENTS: Final = {
    "claude_code": "Claude Code",
    "codex": "Codex",
    "pi": "pi",
    "mini_swe_agent": "mini-SWE-agent",
}
"""Folders of the clients whose recordings say of calls what was read from the cache, and how they are named."""


class Recording(NamedTuple):
    """One recording: its client's folder, the project that it is from, its file's name, its counts, and the ids of the
    calls that no recording before it has: forks repeat what they go on from."""

    client: str
    project: str
    name: str
    book: Book
    own: frozenset[str]


MUTED: Final = ("claude_code", "pi")
"""Those whose provider reports what was written to the cache, which can be left out to see what it was good for."""


def recordings(corpus: Path, *, muted: bool = False) -> Iterator[Recording]:
    """Every recording of `CLIENTS` that holds a context, in the order of names; `muted`: those of `MUTED`, as a
    provider would have reported them that says what was read and not what was written."""
    counter = Counter()
    projects = _projects(corpus)
    for client in MUTED if muted else CLIENTS:
        seen: set[str] = set()
        for path in sorted(p for p in (corpus / client).glob("*") if p.is_file()):
            try:
                session = load(path).session
            except CtxtuiError:
                continue
            if muted:
                _mute(session)
            book = Book(session, model_table(), counter)
            count_all(book, counter)
            own = frozenset(book.session.calls) - seen
            seen |= own
            yield Recording(client, projects.get(f"{client}/{path.name}", path.stem), path.name, book, own)


def _mute(session: Session) -> None:
    for call in list(session.calls.values()):
        if call.usage is not None:
            usage = call.usage
            silent = replace(usage, fresh=usage.fresh + usage.cache_write, **dict.fromkeys(WRITES, 0))
            session.apply(CallSeen(replace(call, provider="github-copilot", usage=silent)))


def _projects(corpus: Path) -> dict[str, str]:
    index = corpus / "INDEX.csv"
    if not index.is_file():
        return {}
    with index.open(newline="", encoding="utf-8") as rows:
        return {row["file"]: row["source_repo"] for row in csv.DictReader(rows)}
