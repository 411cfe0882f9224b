"""The list of policies: what each would do to the context shown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.core.edit import Edit
from ctxtui.curation.policies.risk import Risk
from ctxtui.views.lists.advice import STYLE
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.grid import fitted
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table
from ctxtui.views.transcript.staged_pane import paid, payback


class Setting(Struct, frozen=True):
    """A setting of a policy: its `value` as it is written, and what it means."""

    name: str
    value: str
    note: str = ""


class Proposed(Struct, frozen=True, dict=True):
    """What a policy would do besides what stands already: its new `edits`, tokens `freed` (None: not worked out yet),
    the `share` of the usable window that the context would fill (None: unknown), USD more `once` and `per_call` at the
    `moment` that is cheapest (None: unknown), after how many later calls it `pays_back`. `stands` are the ids of its
    edits that are in force. `why`: it cannot be worked out, or would be refused. `risk`: of its edits."""

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
    stands: tuple[str, ...] = field(default=())
    why: str = ""
    risk: Risk = Risk.NOTHING

    @property
    def worked(self) -> bool:
        """Whether it is worked out, or cannot be."""
        return self.freed is not None or bool(self.why)

    @property
    def gains(self) -> bool:
        """Whether it has edits that free tokens, or make later calls cheaper."""
        return bool(self.edits) and ((self.freed or 0) > 0 or (self.per_call or 0.0) < 0)


def ordered(rows: Sequence[Proposed]) -> list[Proposed]:
    """What frees most first, as soon as all of them are worked out; then what has edits in force, then the others."""
    if not all(row.worked for row in rows):
        return list(rows)
    return sorted(rows, key=lambda row: (bool(row.why), not row.gains, not row.stands, -(row.freed or 0)))


def spelled(row: Proposed) -> str:
    """The settings as they are typed: ``n=9 keep_first=1``."""
    return " ".join(shlex.quote(f"{one.name}={one.value}") for one in row.settings)


def _name(row: Proposed, room: int) -> Span:
    idle = row.freed is None or row.why or not (row.gains or row.stands)
    return Span(cells.fit(safe_text.one_line(row.name, 60), room - 1), "dim" if idle else "ink bold")


def _instead(row: Proposed) -> Spans:
    """What stands in place of the figures where there are none."""
    if row.why:
        return [Span("  "), MARK["error"].span, Span(f" {safe_text.one_line(row.why, 400)}", "warn")]
    if row.freed is None:
        return [Span(f"  {numbers.NONE}", "faint")]
    if row.gains:
        return ()
    if row.stands:
        count = len(row.stands)
        return [Span(f"  {count:,} edit{'' if count == 1 else 's'} of it stand{'s' if count == 1 else ''}", "ok")]
    return [Span("  its edits would free nothing here" if row.edits else "  nothing to do here", "faint")]


def _frees(row: Proposed, room: int) -> Span:
    freed = row.freed or 0
    return Span(numbers.signed(-freed), "add bold" if freed > 0 else "warn bold" if freed < 0 else "dim")


def _share(row: Proposed, room: int) -> Span:
    return Span(numbers.NONE if row.share is None else numbers.share(row.share, 0))


def _once(row: Proposed, room: int) -> Span:
    return Span(numbers.signed_money(row.once), paid(row.once))


def _per_call(row: Proposed, room: int) -> Span:
    return Span(numbers.signed_money(row.per_call), paid(row.per_call))


def _pays_back(row: Proposed, room: int) -> Span:
    told = numbers.NOT_APPLICABLE if row.once is None else payback(row.pays_back, room > _PAYS)
    return Span(told, "add" if row.pays_back == 0 else "dim")


def _risk(row: Proposed, room: int) -> Span:
    words = row.risk.description if cells.width(row.risk.description) <= room else row.risk.short
    return Span(words, STYLE[row.risk])


def _sum_of_freed(row: Proposed) -> str:
    count = len(row.edits)
    each = f"{(row.freed or 0):,} tokens less, by {count:,} edit{'' if count == 1 else 's'}"
    share = f"; the next call then fills {numbers.share(row.share, 0)} of the usable window" if row.share else ""
    return f"{each}{share}."


def sum_of_payback(once: float | None, per_call: float | None, calls: int | None, moment: str) -> str:
    """What is paid once, what each call then costs less, and after how many calls that is even."""
    if once is None or per_call is None:
        return ""
    when = f"{moment}: " if moment else ""
    paid = f"{when}{numbers.signed_money(once)} once and {numbers.signed_money(per_call)} for each call after it"
    if calls is None:
        return f"{paid}: that never pays back."
    return f"{paid}: {'at once' if calls == 0 else f'even after {calls:,} calls'}."


def _sum_of_price(row: Proposed) -> str:
    return sum_of_payback(row.once, row.per_call, row.pays_back, row.moment)


_WIDE: Final = 100
"""Cells of a line from which it has every column."""
_PAYS: Final = 8
TABLE: Final[Table[Proposed]] = Table(
    (
        Column("policy", 21, _name, "left"),
        Column("edits", 6, lambda row, _: Span(f"{len(row.edits):,}"), wider=((_WIDE, 7),), sum=_sum_of_freed),
        Column("frees", 8, _frees, wider=((_WIDE, 9),), sum=_sum_of_freed),
        Column("context", 9, _share, from_width=_WIDE, sum=_sum_of_freed),
        Column(
            "once",
            9,
            lambda row, _: Span(numbers.signed_money(row.once), paid(row.once)),
            wider=((_WIDE, 10),),
            sum=_sum_of_price,
        ),
        Column("a call", 9, _per_call, below=_WIDE, sum=_sum_of_price),
        Column("per call", 10, _per_call, from_width=_WIDE, sum=_sum_of_price),
        Column("pays", _PAYS, _pays_back, below=_WIDE, sum=_sum_of_price),
        Column("pays back", 11, _pays_back, from_width=_WIDE, sum=_sum_of_price),
        Column("risk", 0, _risk, "left", gap=2, least=1),
    ),
    mark=2,
    tail=0,
    instead=_instead,
)
"""The policies; their rows stand in their order."""


def details(row: Proposed, room: int, height: int) -> list[Spans]:
    """What the policy does and how it is set, in at most `height` lines."""
    lines: list[Spans] = [[Span(" "), Span(cells.fit(safe_text.one_line(row.about, 400), max(1, room - 2)))]]
    for one in row.settings:
        value = safe_text.one_line(one.value, 60)
        note = f"  {safe_text.one_line(one.note, 200)}" if one.note else ""
        words = [Span("   "), Span(f"{one.name} = {value}", "dim"), Span(note, "faint")]
        lines.append(fitted(words, max(1, room - 1)))
    return lines[: max(0, height)]


def sum_of_notes(rows: Sequence[Proposed]) -> str:
    """What the figures of the rule are made of."""
    able, idle = sum(row.gains for row in rows), sum(bool(row.why) for row in rows)
    rest = len(rows) - able - idle
    return (
        f"{len(rows):,} policies = {able:,} that would gain something + {idle:,} refused + {rest:,} with nothing to do."
    )


def notes(rows: Sequence[Proposed]) -> list[Span]:
    """How many are worked out, for the rule."""
    done = sum(row.freed is not None or bool(row.why) for row in rows)
    able = sum(row.gains for row in rows)
    if done < len(rows):
        return [Span(f"{done:,} of {len(rows):,} worked out", "dim")]
    return [Span(f"{able:,} of {len(rows):,} can do something", "dim")]
