"""Rows of the edit log: every action on a context, newest first, with its state."""

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

_WORDS = {APPLY: "applied", WAIT: "set to wait", LEAVE: "exported", REVERT: "taken back"}
_UNTIL = {"": "they are applied", EXPIRY: "the cache expires", MISS: "a request misses"}


class EditRow(Struct, frozen=True):
    """One log entry; `about` describes its target.

    `state` is ``staged``, ``waiting``, ``applied`` or ``taken back``; "" for entries that apply, delay or revert
    others, or record an export.
    """

    edit: Edit
    state: str
    about: str


def rows(log: Sequence[Edit], label: Callable[[Target], str]) -> list[EditRow]:
    """The rows of `log`, newest first; `label` describes a target."""
    applied, staged = ({edit.id for edit in part} for part in edits_in_force(log))
    waits = waiting_until(log)
    by_id = {edit.id: edit for edit in log}
    edit_rows = []
    for edit in reversed(log):
        state = "applied" if edit.id in applied else "staged" if edit.id in staged else "taken back"
        state = "waiting" if edit.id in waits else state
        if edit.kind in (APPLY, WAIT, LEAVE, REVERT):
            state = ""
        edit_rows.append(EditRow(edit, state, _describe_target(edit, by_id, label)))
    return edit_rows


def detail(row: EditRow, room: int) -> list[Spans]:
    """An entry in full: for an exported context its command, folder, file and losses."""
    payload = row.edit.params
    fields = [("", row.about)]
    if row.edit.kind == LEAVE:
        lost = ", ".join(map(str, payload.get("without") or ()))
        parts = (("command", "command"), ("type it in", "folder"), ("file", "place"))
        fields = [*((name, str(payload.get(key) or "")) for name, key in parts), ("without", lost)]
    out: list[Spans] = []
    for name, text in fields:
        for n, line in enumerate(safe_text.wrap(safe_text.one_line(text, 1000), max(8, room - 14))):
            out.append([Span(f" {name if not n else '':<12}", "dim"), Span(line)])
    return out


MIN_CELLS: Final = 12


def copied_answer(command: str, folder: str, file: str, without: Sequence[str], room: int) -> list[Span]:
    """The answer after a context was exported and its `command` (or file) copied.

    `folder` is where to type the command ("": anywhere), `file` the written file ("": none), `without` its losses.
    Parts that do not fit in `room` cells are only in the edit log.
    """
    folder_text = f"type it in {folder}" if folder else ""
    file_text = f"written to {file}" if file else ""
    losses = f"without {', '.join(without)}" if without else ""
    forms = (
        (command, folder_text, file_text, losses),
        (command, folder_text, "", losses),
        (command, folder_text, "", ""),
    )
    for form in forms if folder else forms[:1]:
        end = "keeps it" if form == forms[0] else "keeps the rest"
        spans = _copied_spans(*form, end)
        # Without a folder the line may be cut: the command works anywhere.
        if width(spans) <= room or not folder:
            return spans
    # The command comes first, then as much of the folder's end as fits.
    free = room - width(_copied_spans(command, "", "", "", "keeps all")) - 3
    if free >= MIN_CELLS:
        return _copied_spans(
            command, f"in …{cells.tail(safe_text.one_line(folder, 600), free - 4)}", "", "", "keeps all"
        )
    short_command = cells.fit(
        command, max(MIN_CELLS, room - width(_copied_spans("x", "", "", "", "keeps all")) + 1)
    ).rstrip()
    return _copied_spans(short_command, "", "", "", "keeps all")


def _copied_spans(command: str, folder_text: str, file_text: str, losses: str, end: str) -> list[Span]:
    parts = [
        Span(f"copied: {command}" if command else "copied", "ink bold"),
        Span(safe_text.one_line(folder_text, 600)),
        Span(safe_text.one_line(file_text, 600), "dim"),
        Span(safe_text.one_line(losses, 200), "warn"),
    ]
    out = [Span("✓ ", "ok")]
    for part in parts:
        out += [part, Span(" · ", "dim")] if part.text else []
    return [*out, Span("E", "accent bold"), Span(f" {end}")]


def _describe_target(edit: Edit, by_id: dict[str, Edit], label: Callable[[Target], str]) -> str:
    if edit.kind == REVERT:
        reverted = by_id.get(edit.reverts)
        return "" if reverted is None else f"{_describe_kind(reverted)}: {_describe_target(reverted, by_id, label)}"
    if edit.kind == LEAVE:
        command, folder, place = (str(edit.params.get(key) or "") for key in ("command", "folder", "place"))
        lost = ", ".join(map(str, edit.params.get("without") or ()))
        parts = (command, f"in {folder}" if folder else "", place, f"without {lost}" if lost else "")
        return " · ".join(filter(None, parts))
    if edit.kind in (APPLY, WAIT):
        count = len(edit.params.get("ids") or ())
        until = f" until {_UNTIL.get(str(edit.params.get('until') or ''), 'later')}" if edit.kind == WAIT else ""
        return f"{numbers.many(count, 'edit')}{until}"
    first = label(edit.targets[0]) if edit.targets else ""
    more = f" and {len(edit.targets) - 1:,} more" if len(edit.targets) > 1 else ""
    if edit.kind == BREAKPOINT:
        return f"{edit.params.get('ttl') or '5m' if edit.params.get('on', True) else 'none'} after {first}"
    if edit.kind == ANNOTATE:
        annotation = " ".join(safe_text.one_line(str(edit.params.get(key) or ""), 200) for key in ("rating", "text"))
        return f"{annotation.strip()} · {first}"
    by = edit.params.get("by")
    return first + more + (f" · by {safe_text.one_line(str(by), 60)}" if by else "")


def _describe_kind(edit: Edit) -> str:
    return _WORDS.get(edit.kind, edit.spec.label)


def table(zone: Callable[[float], datetime]) -> Table[EditRow]:
    """The table of the log; `zone` converts Unix seconds to local time."""

    def mark(row: EditRow, room: int) -> Span:
        sign = MARK[row.edit.spec.mark]
        return Span(sign.glyph, "faint" if _is_reverted(row) or not row.state else sign.style)

    def state(row: EditRow, room: int) -> Span:
        return Span(
            row.state, "faint" if _is_reverted(row) else "accent" if row.state in ("staged", "waiting") else "ok"
        )

    def about(row: EditRow, room: int) -> list[Span]:
        return [Span(cells.fit(safe_text.one_line(row.about), room), "faint strike" if _is_reverted(row) else "dim")]

    return Table(
        (
            Column(
                "", 9, lambda row, _: Span(numbers.clock(zone(row.edit.at)) if row.edit.at else "", "faint"), "left"
            ),
            Column("", 1, mark),
            Column(
                "",
                13,
                lambda row, _: Span(_describe_kind(row.edit), "faint" if _is_reverted(row) else "ink"),
                "left",
                gap=1,
            ),
            Column("", 12, lambda row, _: Span(safe_text.one_line(row.edit.author), "dim"), "left"),
            Column("", 11, state, "left"),
            Column("", 0, about, "left", least=0),
        ),
        mark=2,
        tail=0,
    )


def _is_reverted(row: EditRow) -> bool:
    return row.state == "taken back"
