"""The rows of the edit log: every action on a context, newest first, and what stands of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ctxtui.core.edit import APPLY, REVERT, WAIT, Edit, Target
from ctxtui.core.edit_kinds import ANNOTATE, BREAKPOINT
from ctxtui.core.edit_log import EXPIRY, MISS, standing, waiting
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table

_WORDS = {APPLY: "applied", WAIT: "set to wait", REVERT: "taken back"}
_UNTIL = {"": "they are applied", EXPIRY: "the cache expires", MISS: "a request misses"}


@dataclass(frozen=True, slots=True)
class EditRow:
    """One entry of the log: what stands of it is ``staged``, ``waiting``, ``applied``, ``taken back``, or "" for
    entries that apply others, let them wait or take them back."""

    edit: Edit
    state: str
    about: str


def rows(log: Sequence[Edit], label: Callable[[Target], str]) -> list[EditRow]:
    """The rows of `log`, newest first; `label` says what a target is."""
    applied, staged = ({edit.id for edit in part} for part in standing(log))
    waits = waiting(log)
    by_id = {edit.id: edit for edit in log}
    found = []
    for edit in reversed(log):
        state = "applied" if edit.id in applied else "staged" if edit.id in staged else "taken back"
        state = "waiting" if edit.id in waits else state
        if edit.kind in (APPLY, WAIT, REVERT):
            state = ""
        found.append(EditRow(edit, state, _about(edit, by_id, label)))
    return found


def _about(edit: Edit, by_id: dict[str, Edit], label: Callable[[Target], str]) -> str:
    if edit.kind == REVERT:
        other = by_id.get(edit.reverts)
        return "" if other is None else f"{_word(other)}: {_about(other, by_id, label)}"
    if edit.kind in (APPLY, WAIT):
        count = len(edit.given.get("ids") or ())
        until = f" until {_UNTIL.get(str(edit.given.get('until') or ''), 'later')}" if edit.kind == WAIT else ""
        return f"{count:,} edit{'' if count == 1 else 's'}{until}"
    first = label(edit.targets[0]) if edit.targets else ""
    more = f" and {len(edit.targets) - 1:,} more" if len(edit.targets) > 1 else ""
    if edit.kind == BREAKPOINT:
        return f"{edit.given.get('ttl') or '5m' if edit.given.get('on', True) else 'none'} behind {first}"
    if edit.kind == ANNOTATE:
        said = " ".join(safe_text.one_line(str(edit.given.get(key) or ""), 200) for key in ("rating", "text"))
        return f"{said.strip()} · {first}"
    by = edit.given.get("by")
    return first + more + (f" · by {safe_text.one_line(str(by), 60)}" if by else "")


def _word(edit: Edit) -> str:
    return _WORDS.get(edit.kind, edit.does.shown)


def table(zone: Callable[[float], datetime]) -> Table[EditRow]:
    """The table of the log; `zone` tells the local time of Unix seconds."""

    def mark(row: EditRow, room: int) -> Span:
        sign = MARK[row.edit.does.mark]
        return Span(sign.glyph, "faint" if _gone(row) or not row.state else sign.style)

    def state(row: EditRow, room: int) -> Span:
        return Span(row.state, "faint" if _gone(row) else "accent" if row.state in ("staged", "waiting") else "ok")

    def about(row: EditRow, room: int) -> list[Span]:
        return [Span(cells.fit(safe_text.one_line(row.about), room), "faint strike" if _gone(row) else "dim")]

    return Table(
        (
            Column(
                "", 9, lambda row, _: Span(numbers.clock(zone(row.edit.at)) if row.edit.at else "", "faint"), "left"
            ),
            Column("", 1, mark),
            Column("", 13, lambda row, _: Span(_word(row.edit), "faint" if _gone(row) else "ink"), "left", gap=1),
            Column("", 12, lambda row, _: Span(safe_text.one_line(row.edit.author), "dim"), "left"),
            Column("", 11, state, "left"),
            Column("", 0, about, "left", least=0),
        ),
        mark=2,
        tail=0,
    )


def _gone(row: EditRow) -> bool:
    return row.state == "taken back"
