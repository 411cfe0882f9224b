"""The list of policies: what each would do to the context shown."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.grid import fitted
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.staged_pane import paid, payback

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxtui.core.edit import Edit

_NAME: Final = 21
_WIDE: Final = 100
_HEADS: Final = (("edits", 7), ("frees", 9), ("context", 9), ("once", 10), ("per call", 10), ("pays back", 11))
_NARROW: Final = (("edits", 6), ("frees", 8), ("once", 9), ("a call", 9), ("pays", 8))


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a policy: its `value` as it is written, and what it means."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Proposed:
    """What a policy would do besides what stands already: its new `edits`, tokens `freed` (None: not worked out yet),
    the `share` of the usable window that the context would fill (None: unknown), USD more `once` and `per_call` at the
    `moment` that is cheapest (None: unknown), after how many later calls it `pays_back`. `stands` are the ids of its
    edits that are in force. `why`: it cannot be worked out, or would be refused."""

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


def spelled(row: Proposed) -> str:
    """The settings as they are typed: ``n=9 keep_first=1``."""
    return " ".join(shlex.quote(f"{one.name}={one.value}") for one in row.settings)


def heads(room: int) -> list[Span]:
    """The heads of the columns."""
    wide = room >= _WIDE
    names = [Span(cells.right(name, width), "dim") for name, width in (_HEADS if wide else _NARROW)]
    return [Span(cells.left("  policy", 2 + _NAME), "dim"), *names, Span("  at best" if wide else "", "dim")]


def draw(row: Proposed, room: int, *, here: bool) -> list[Span]:
    """A row of the list in `room` cells."""
    idle = row.freed is None or row.why or not (row.edits or row.stands)
    name = safe_text.one_line(row.name, 60)
    lead = [
        Span("▸ " if here else "  ", "accent"),
        Span(cells.left(cells.fit(name, _NAME - 1), _NAME), "dim" if idle else "ink bold"),
    ]
    if row.why:
        words = [Span("  "), MARK["refused"].span, Span(f" {safe_text.one_line(row.why, 400)}", "warn")]
    elif row.freed is None:
        words = [Span(f"  {numbers.NONE}", "faint")]
    elif row.edits:
        words = _figures(row, room >= _WIDE)
    elif row.stands:
        count = len(row.stands)
        words = [Span(f"  {count:,} edit{'' if count == 1 else 's'} of it stand{'s' if count == 1 else ''}", "ok")]
    else:
        words = [Span("  nothing to do here", "faint")]
    return [*lead, *fitted(words, max(1, room - 2 - _NAME))]


def _figures(row: Proposed, wide: bool) -> list[Span]:
    freed = row.freed or 0
    told = {
        "edits": Span(f"{len(row.edits):,}", "ink"),
        "frees": Span(numbers.signed(-freed), "add bold" if freed > 0 else "warn bold" if freed < 0 else "dim"),
        "context": Span(numbers.NONE if row.share is None else numbers.share(row.share, 0), "ink"),
        "once": Span(_money(row.once), paid(row.once)),
        "per call": Span(_money(row.per_call), paid(row.per_call)),
        "pays back": Span(_back(row, wide), "add" if row.pays_back == 0 else "dim"),
    }
    told |= {"a call": told["per call"], "pays": told["pays back"]}
    columns = [
        Span(cells.right(told[name].text, width), told[name].style) for name, width in (_HEADS if wide else _NARROW)
    ]
    return [*columns, Span(f"  {row.moment}", "dim")] if wide else columns


def _money(usd: float | None) -> str:
    return numbers.NONE if usd is None else numbers.signed_money(usd)


def _back(row: Proposed, wide: bool) -> str:
    return numbers.NONE if row.once is None else payback(row.pays_back, wide)


def details(row: Proposed, room: int, height: int) -> list[Spans]:
    """What the policy does and how it is set, in at most `height` lines."""
    lines: list[Spans] = [[Span(" "), Span(cells.fit(safe_text.one_line(row.about, 400), max(1, room - 2)), "ink")]]
    for one in row.settings:
        value = safe_text.one_line(one.value, 60)
        note = f"  {safe_text.one_line(one.note, 200)}" if one.note else ""
        words = [Span("   "), Span(f"{one.name} = {value}", "dim"), Span(note, "faint")]
        lines.append(fitted(words, max(1, room - 1)))
    return lines[: max(0, height)]


def notes(rows: Sequence[Proposed]) -> list[Span]:
    """How many are worked out, for the rule."""
    done = sum(row.freed is not None or bool(row.why) for row in rows)
    able = sum(bool(row.edits) for row in rows)
    if done < len(rows):
        return [Span(f"{done:,} of {len(rows):,} worked out", "dim")]
    return [Span(f"{able:,} of {len(rows):,} can do something", "dim")]
