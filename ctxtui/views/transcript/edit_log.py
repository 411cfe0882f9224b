"""The rows of the edit log: every action on a context, newest first, and what stands of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from ctxtui.core.edit import APPLY, LEAVE, REVERT, WAIT, Edit, Target
from ctxtui.core.edit_kinds import ANNOTATE, BREAKPOINT
from ctxtui.core.edit_log import EXPIRY, MISS, edits_in_force, waiting_until
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans, width
from ctxtui.views.text.table import Column, Table

_WORDS = {APPLY: "applied", WAIT: "set to wait", LEAVE: "went out", REVERT: "taken back"}
_UNTIL = {"": "they are applied", EXPIRY: "the cache expires", MISS: "a request misses"}


class EditRow(Struct, frozen=True):
    """One entry of the log: what stands of it is ``staged``, ``waiting``, ``applied``, ``taken back``, or "" for
    entries that apply others, let them wait or take them back."""

    edit: Edit
    state: str
    about: str


def rows(log: Sequence[Edit], label: Callable[[Target], str]) -> list[EditRow]:
    """The rows of `log`, newest first; `label` says what a target is."""
    applied, staged = ({edit.id for edit in part} for part in edits_in_force(log))
    waits = waiting_until(log)
    by_id = {edit.id: edit for edit in log}
    found = []
    for edit in reversed(log):
        state = "applied" if edit.id in applied else "staged" if edit.id in staged else "taken back"
        state = "waiting" if edit.id in waits else state
        if edit.kind in (APPLY, WAIT, LEAVE, REVERT):
            state = ""
        found.append(EditRow(edit, state, _about(edit, by_id, label)))
    return found


def detail(row: EditRow, room: int) -> list[Spans]:
    """All that an entry says: of a context that left its command, where to type it, its file, what it went without, a
    line each, cut nowhere."""
    given = row.edit.params
    said = [("", row.about)]
    if row.edit.kind == LEAVE:
        lost = ", ".join(map(str, given.get("without") or ()))
        parts = (("command", "command"), ("type it in", "folder"), ("file", "place"))
        said = [*((name, str(given.get(key) or "")) for name, key in parts), ("without", lost)]
    out: list[Spans] = []
    for name, text in said:
        for n, line in enumerate(safe_text.wrap(safe_text.one_line(text, 1000), max(8, room - 14))):
            out.append([Span(f" {name if not n else '':<12}", "dim"), Span(line)])
    return out


_LEAST: Final = 12
"""Cells in which a folder or a command still says something."""


def copied(what: str, folder: str, file: str, without: Sequence[str], room: int) -> list[Span]:
    """What is said in `room` cells of a context that left by the command (or file) `what`, which was copied: the
    `folder` in which to type it ("": any), the `file` that was written ("": none), what it went `without`. What there
    is no room for stands in the edit log."""
    where = f"type it in {folder}" if folder else ""
    wrote = f"written to {file}" if file else ""
    lost = f"without {', '.join(without)}" if without else ""
    forms = ((what, where, wrote, lost), (what, where, "", lost), (what, where, "", ""))
    for form in forms if folder else forms[:1]:
        end = "keeps it" if form == forms[0] else "keeps the rest"
        told = _copied(*form, end)
        # Where it may be typed anywhere, the end of a line matters less than that it was copied.
        if width(told) <= room or not folder:
            return told
    # The command comes first: it is what one looks for; its folder as far as there is room, its end above all.
    left = room - width(_copied(what, "", "", "", "keeps all")) - 3
    if left >= _LEAST:
        return _copied(what, f"in …{cells.tail(safe_text.one_line(folder, 600), left - 4)}", "", "", "keeps all")
    short = cells.fit(what, max(_LEAST, room - width(_copied("x", "", "", "", "keeps all")) + 1)).rstrip()
    return _copied(short, "", "", "", "keeps all")


def _copied(what: str, where: str, wrote: str, lost: str, end: str) -> list[Span]:
    parts = [
        Span(f"copied: {what}" if what else "copied", "ink bold"),
        Span(safe_text.one_line(where, 600)),
        Span(safe_text.one_line(wrote, 600), "dim"),
        Span(safe_text.one_line(lost, 200), "warn"),
    ]
    out = [Span("✓ ", "ok")]
    for part in parts:
        out += [part, Span(" · ", "dim")] if part.text else []
    return [*out, Span("E", "accent bold"), Span(f" {end}")]


def _about(edit: Edit, by_id: dict[str, Edit], label: Callable[[Target], str]) -> str:
    if edit.kind == REVERT:
        other = by_id.get(edit.reverts)
        return "" if other is None else f"{_word(other)}: {_about(other, by_id, label)}"
    if edit.kind == LEAVE:
        command, folder, place = (str(edit.params.get(key) or "") for key in ("command", "folder", "place"))
        lost = ", ".join(map(str, edit.params.get("without") or ()))
        told = (command, f"in {folder}" if folder else "", place, f"without {lost}" if lost else "")
        return " · ".join(filter(None, told))
    if edit.kind in (APPLY, WAIT):
        count = len(edit.params.get("ids") or ())
        until = f" until {_UNTIL.get(str(edit.params.get('until') or ''), 'later')}" if edit.kind == WAIT else ""
        return f"{count:,} edit{'' if count == 1 else 's'}{until}"
    first = label(edit.targets[0]) if edit.targets else ""
    more = f" and {len(edit.targets) - 1:,} more" if len(edit.targets) > 1 else ""
    if edit.kind == BREAKPOINT:
        return f"{edit.params.get('ttl') or '5m' if edit.params.get('on', True) else 'none'} behind {first}"
    if edit.kind == ANNOTATE:
        said = " ".join(safe_text.one_line(str(edit.params.get(key) or ""), 200) for key in ("rating", "text"))
        return f"{said.strip()} · {first}"
    by = edit.params.get("by")
    return first + more + (f" · by {safe_text.one_line(str(by), 60)}" if by else "")


def _word(edit: Edit) -> str:
    return _WORDS.get(edit.kind, edit.spec.label)


def table(zone: Callable[[float], datetime]) -> Table[EditRow]:
    """The table of the log; `zone` tells the local time of Unix seconds."""

    def mark(row: EditRow, room: int) -> Span:
        sign = MARK[row.edit.spec.mark]
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
