"""The list of policies, and the effect of each on the context shown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ctxtui.core.edit import Edit
from ctxtui.curation.policies.risk import Risk
from ctxtui.views.lists.advice import RISK_STYLES
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans, fit_spans
from ctxtui.views.text.table import Column, Table
from ctxtui.views.transcript.staged_pane import format_payback, money_style, payback_clause


class Setting(Struct, frozen=True):
    """A policy setting: its `value` as written, and its meaning."""

    name: str
    value: str
    note: str = ""


class Proposed(Struct, frozen=True):
    """The effect of a policy on top of existing edits.

    - `edits`: new ones; `freed`: their tokens (None: not computed yet).
    - `share`: the share of the usable window afterwards.
    - `once`, `per_call`: extra USD at the cheapest `moment`; `pays_back`: in calls.
    - `active_ids`: ids of its active edits.
    - `why`: why it cannot be computed, or would be refused.
    """

    name: str
    about: str
    settings: tuple[Setting, ...] = ()
    edits: tuple[Edit, ...] = ()
    freed: int | None = None
    share: float | None = None
    moment: str = ""
    once: float | None = None
    per_call: float | None = None
    pays_back: int | None = None
    active_ids: tuple[str, ...] = ()
    why: str = ""
    risk: Risk = Risk.NOTHING

    @property
    def is_computed(self) -> bool:
        return self.freed is not None or bool(self.why)

    @property
    def has_gain(self) -> bool:
        """Whether it has edits that free tokens or make later calls cheaper, and is not refused."""
        return bool(self.edits) and not self.why and ((self.freed or 0) > 0 or (self.per_call or 0.0) < 0)


def sort_policies(rows: Sequence[Proposed]) -> list[Proposed]:
    """Sort the rows once all are computed: those with a gain, those without, refused ones.

    In each group those with active edits are first, then those that free most tokens.
    """
    if not all(row.is_computed for row in rows):
        return list(rows)
    return sorted(rows, key=lambda row: (bool(row.why), not row.has_gain, not row.active_ids, -(row.freed or 0)))


def format_settings(row: Proposed) -> str:
    return " ".join(shlex.quote(f"{setting.name}={setting.value}") for setting in row.settings)


def _name(row: Proposed, room: int) -> Span:
    is_idle = row.freed is None or row.why or not (row.has_gain or row.active_ids)
    return Span(cells.fit(safe_text.one_line(row.name, 60), room - 1), "dim" if is_idle else "ink bold")


def _placeholder(row: Proposed) -> Spans:
    if row.why:
        return [Span("  "), MARK["error"].span, Span(f" {safe_text.one_line(row.why, 400)}", "warn")]
    if row.freed is None:
        return [Span(f"  {numbers.NONE}", "faint")]
    if row.has_gain:
        return ()
    if row.active_ids:
        count = len(row.active_ids)
        return [Span(f"  {numbers.many(count, 'active edit')}", "ok")]
    return [Span("  its edits would free nothing here" if row.edits else "  nothing to do here", "faint")]


def _frees(row: Proposed, room: int) -> Span:
    freed = row.freed or 0
    return Span(numbers.signed(-freed), "add bold" if freed > 0 else "warn bold" if freed < 0 else "dim")


def _share(row: Proposed, room: int) -> Span:
    return Span(numbers.NONE if row.share is None else numbers.share(row.share, 0))


def _once(row: Proposed, room: int) -> Span:
    return Span(numbers.signed_money(row.once), money_style(row.once))


def _per_call(row: Proposed, room: int) -> Span:
    return Span(numbers.signed_money(row.per_call), money_style(row.per_call))


def _pays_back(row: Proposed, room: int) -> Span:
    text = numbers.NOT_APPLICABLE if row.once is None else format_payback(row.pays_back, room > PAYS_CELLS)
    return Span(text, "add" if row.pays_back == 0 else "dim")


def _risk(row: Proposed, room: int) -> Span:
    words = row.risk.description if cells.width(row.risk.description) <= room else row.risk.short
    return Span(words, RISK_STYLES[row.risk])


def _sum_of_freed(row: Proposed) -> str:
    count = len(row.edits)
    each = f"{(row.freed or 0):,} tokens less, by {numbers.many(count, 'edit')}"
    share = f"; the next call then fills {numbers.share(row.share, 0)} of the usable window" if row.share else ""
    return f"{each}{share}."


def explain_payback(once: float | None, per_call: float | None, calls: int | None, moment: str) -> str:
    if once is None or per_call is None:
        return ""
    when = f"{moment}: " if moment else ""
    price = f"{when}{numbers.signed_money(once)} once and {numbers.signed_money(per_call)} for each call after it"
    return f"{price}: {payback_clause(calls)}."


def _sum_of_price(row: Proposed) -> str:
    return explain_payback(row.once, row.per_call, row.pays_back, row.moment)


_WIDE: Final = 100
PAYS_CELLS: Final = 8
"""Cells of the narrow payback column, which has no room for the noun."""
TABLE: Final[Table[Proposed]] = Table(
    (
        Column("policy", 21, _name, "left"),
        Column("edits", 6, lambda row, _: Span(f"{len(row.edits):,}"), wider=((_WIDE, 7),), sum=_sum_of_freed),
        Column("frees", 8, _frees, wider=((_WIDE, 9),), sum=_sum_of_freed),
        Column("context", 9, _share, from_width=_WIDE, sum=_sum_of_freed),
        Column("once", 9, _once, wider=((_WIDE, 10),), sum=_sum_of_price),
        Column("a call", 9, _per_call, below=_WIDE, sum=_sum_of_price),
        Column("per call", 10, _per_call, from_width=_WIDE, sum=_sum_of_price),
        Column("pays", PAYS_CELLS, _pays_back, below=_WIDE, sum=_sum_of_price),
        Column("pays back", 11, _pays_back, from_width=_WIDE, sum=_sum_of_price),
        Column("risk", 0, _risk, "left", gap=2, least=1),
    ),
    mark=2,
    tail=0,
    instead=_placeholder,
)


def details(row: Proposed, room: int, height: int) -> list[Spans]:
    lines: list[Spans] = [[Span(" "), Span(cells.fit(safe_text.one_line(row.about, 400), max(1, room - 2)))]]
    for setting in row.settings:
        value = safe_text.one_line(setting.value, 60)
        note = f"  {safe_text.one_line(setting.note, 200)}" if setting.note else ""
        words = [Span("   "), Span(f"{setting.name} = {value}", "dim"), Span(note, "faint")]
        lines.append(fit_spans(words, max(1, room - 1)))
    return lines[: max(0, height)]


def explain_notes(rows: Sequence[Proposed]) -> str:
    if not all(row.is_computed for row in rows):
        return ""
    gaining, refused = sum(row.has_gain for row in rows), sum(bool(row.why) for row in rows)
    rest = len(rows) - gaining - refused
    return f"{len(rows):,} policies = {gaining:,} with a gain + {refused:,} refused + {rest:,} without a gain."


def notes(rows: Sequence[Proposed]) -> list[Span]:
    done = sum(row.is_computed for row in rows)
    gaining = sum(row.has_gain for row in rows)
    if done < len(rows):
        return [Span(f"{done:,} of {len(rows):,} computed", "dim")]
    return [Span(f"{gaining:,} of {len(rows):,} would gain", "dim")]
