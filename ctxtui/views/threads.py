"""The threads of a session: the main line of context and the agents it started."""

from __future__ import annotations

from dataclasses import dataclass

from ctxtui.core.session import MAIN, Session, Thread
from ctxtui.views import cells, numbers, safe_text
from ctxtui.views.span import Span


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One thread: `depth` below the main one, the calls it made, the tokens of its last call (None: no report)."""

    id: str
    label: str
    depth: int
    last: bool
    calls: int
    tokens: int | None


def thread_rows(session: Session) -> list[ThreadRow]:
    """The threads as a tree in order of appearance, the main one first; one whose parent is unknown belongs to it."""
    threads = dict(session.threads)
    threads.setdefault(MAIN, Thread(MAIN))
    children: dict[str, list[str]] = {}
    for thread in threads.values():
        if thread.id != MAIN:
            parent = thread.parent if thread.parent in threads and thread.parent != thread.id else MAIN
            children.setdefault(parent, []).append(thread.id)
    rows: list[ThreadRow] = []
    seen: set[str] = set()
    # Threads whose parents form a ring hang on nothing: they come last.
    waiting = [(id_, 1, True) for id_ in reversed(threads)] + [(MAIN, 0, True)]
    while waiting:
        id_, depth, last = waiting.pop()
        if id_ in seen:
            continue
        seen.add(id_)
        rows.append(_row(session, threads[id_], depth, last))
        below = children.get(id_, [])
        waiting += [(child, depth + 1, child == below[-1]) for child in reversed(below)]
    return rows


def _row(session: Session, thread: Thread, depth: int, last: bool) -> ThreadRow:
    order = session.order.get(thread.id, [])
    usage = next((u for i in reversed(order) if (u := session.calls[i].usage)), None)
    label = safe_text.one_line(thread.label, 200) or (thread.id if depth else "main")
    return ThreadRow(thread.id, label, depth, last, len(order), usage.input if usage else None)


def draw(row: ThreadRow, room: int, *, shown: bool, here: bool) -> list[Span]:
    """A row of the pane; `shown` marks the thread whose calls the screen shows."""
    lead = Span("●" if shown else "○", "ok" if shown else "dim")
    if row.depth:
        branch = "  " * (row.depth - 1) + ("└ " if row.last else "├ ")
        lead = Span("●" if shown else branch[-2], "ok" if shown else "hair")
        indent = Span(branch[:-2])
    else:
        indent = Span("")
    name = cells.left(row.label, max(1, room - 4 - len(indent.text) - 8))
    tokens = numbers.NONE if row.tokens is None else numbers.tokens(row.tokens)
    return [
        Span("▸" if here else " ", "accent"),
        indent,
        lead,
        Span(" "),
        Span(name, "ink" if shown else "dim"),
        Span(f"{tokens:>8} ", "ink" if shown else "dim"),
    ]
