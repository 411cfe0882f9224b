"""The list of advice: what to do, what it frees, costs and risks; and the blocks that one of them changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.findings.priced import Findings
from ctxtui.analysis.findings.suggestions import Suggestion
from ctxtui.core.block_content import read
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.price.advice import Advice
from ctxtui.views.blocks import one_line
from ctxtui.views.lists import advice, findings
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.staging import Staging
from ctxtui.views.text import cells, numbers, safe_text, sums
from ctxtui.views.text.signs import CATEGORY, MARK
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table
from ctxtui.views.transcript.staged_pane import paid

_WIDE: Final = 110
"""Cells of a line from which heads are written out."""


def title(one: Suggestion) -> str:
    """What to do: ``drop 12 unused tools``, ``externalize large + truncate results``."""
    if isinstance(one.what, Advice):
        return advice.named(one.what)
    return findings.short(one.what.finding) if one.is_warning else findings.cure(one.what.finding)


def _group(one: Suggestion) -> Spans:
    if one.is_warning:
        return [Span(" warnings", "crit bold"), Span("  look at these first; a fix is staged for each alone", "dim")]
    if one.is_safe:
        return [Span(" safe", "ok bold"), Span("  no text goes that the model may need again", "dim")]
    return [Span(" loses text", "warn bold"), Span("  what later blocks quote stays", "dim")]


def _money(usd: float | None) -> Span:
    return Span(numbers.NONE if usd is None else numbers.signed_money(usd), paid(usd) if usd is not None else "faint")


def _once(one: Suggestion, room: int) -> Span:
    return _money(one.once)


def _per_call(one: Suggestion, room: int) -> Span:
    return _money(one.per_call)


def _frees(one: Suggestion, room: int) -> Span:
    return Span(numbers.signed(-one.freed), "add bold") if one.freed else Span(numbers.NONE, "faint")


def _risk(one: Suggestion, room: int) -> Span:
    risk = one.what.risk
    if one.is_warning:
        return Span("masks or takes out" if one.edits else "by hand", "dim")
    if risk is None:
        return Span("breakpoints" if one.edits else "by hand", "dim")
    if one.is_safe and risk > Risk.OUTSIDE:
        return Span("tools go", advice.STYLE[Risk.NOTHING])
    return Span(risk.description if cells.width(risk.description) <= room else risk.short, advice.STYLE[risk])


def sum_of(one: Suggestion) -> str:
    """What the figures of a row are made of."""
    return advice.sum_of(one.what, one.staged) if isinstance(one.what, Advice) else findings.sum_of(one.what)


def _columns() -> Iterator[Column[Suggestion]]:
    yield Column("what", 0, lambda one, _: Span(title(one), "ink" if one.edits else "dim"), "left", gap=1, least=20)
    yield Column("frees", 8, _frees, wider=((_WIDE, 9),), sum=sum_of)
    for name, wide, figure in (("once", 8, _once), ("a call", 8, _per_call)):
        yield Column(name, wide, figure, below=_WIDE, sum=sum_of)
    for name, wide, figure in (("costs once", 12, _once), ("per call after", 16, _per_call)):
        yield Column(name, wide, figure, from_width=_WIDE, sum=sum_of)
    yield Column("risk", 12, _risk, "left", gap=2, wider=((_WIDE, 28),))


TABLE: Final[Table[Suggestion]] = Table(tuple(_columns()), mark=2, tail=0, group=_group)


def detail(one: Suggestion | None, what: Findings | None, name: str, told: str, room: int) -> list[Spans]:
    """What it does and saves in whole, with its command line, `told` for what policies propose; then what nothing is
    proposed for."""
    lines: list[Spans] = []
    if one is not None:
        if isinstance(one.what, Advice):
            lines = advice.detail(one.what, told, room, one.staged)
        elif what is not None:
            lines = findings.detail(one.what, what, name, room)
    return [*lines, *(findings.not_told(what, room) if what is not None else [])]


class ChangedBlock(Struct, frozen=True):
    """A block that edits change: its `node` (0: it is put in), category, what becomes of it (the name of its `mark`),
    its tokens now and `after` (None: being counted). `along`: it goes only as the provider would refuse the rest.
    `text` is what is put in."""

    node: int
    category: int
    mark: str
    tokens: int
    after: int | None
    along: bool = False
    text: str = ""


def changed_blocks(now: Staging, then: Staging) -> list[ChangedBlock]:
    """The blocks that differ between two states of the edits, in prompt order."""
    category = now.scene.running.category
    nodes, found = then.applied.context.nodes, list[tuple[int, ChangedBlock]]()
    for position, change in then.applied.changes.items():
        node, fate = change.node, then.fates[change.node]
        before = now.fates.get(node)
        if fate != before and fate.tokens:
            size = fate.tokens if before is None else before.after or 0
            found.append((position, ChangedBlock(node, category(node), fate.mark, size, fate.after, along=fate.repair)))
    for position in then.applied.marks.keys() - now.applied.marks.keys():
        node = nodes[position]
        own = now.scene.running.block_tokens(node)
        found.append((position, ChangedBlock(node, category(node), "breakpoint", own, own)))
    known = {new.edit.id for new in now.news}
    for new in then.news:
        if new.edit.id not in known:
            text = safe_text.one_line(read(new.item.block).text, 400)
            found.append((new.at, ChangedBlock(0, new.category, new.edit.spec.mark, 0, new.tokens, text=text)))
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def changed_table(say: Callable[[int], Preview]) -> Table[ChangedBlock]:
    """The table of what edits change; `say` gives a node's block in words."""

    def words(row: ChangedBlock, room: int) -> list[Span]:
        sign = CATEGORY[row.category]
        lead = [MARK[row.mark].span if row.mark else Span(" "), Span(" "), sign.span, Span(" ")]
        if not row.node:
            return [*lead, Span(row.text)]
        says = say(row.node)
        return [*lead, *one_line.words(says, sign.style, "ink" if says.loud else "dim")]

    def becomes(row: ChangedBlock, room: int) -> Span:
        return Span(f"{row.mark}, goes along" if row.along else row.mark, "dim")

    def after(row: ChangedBlock, room: int) -> Span:
        return Span(numbers.NONE if row.after is None else numbers.tokens(row.after))

    return Table(
        (
            Column("  block", 0, words, "left", least=8),
            Column("becomes", 14, becomes, "left", gap=2, wider=((100, 20),)),
            Column("now", 8, lambda row, _: Span(numbers.tokens(row.tokens), "dim"), sum=sum_of_block),
            Column("then", 8, after, sum=sum_of_block),
        )
    )


def sum_of_block(row: ChangedBlock) -> str:
    """What a block loses."""
    return (
        "" if row.after is None else sums.less(row.after, row.tokens, row.tokens - row.after, ("then", "now", "less"))
    )


def changed_note(one: Suggestion, rows: Sequence[ChangedBlock]) -> list[Span]:
    """How many blocks, and what the next call is smaller by, for the rule."""
    if not rows:
        return []
    frees = [Span(", frees ", "dim"), Span(numbers.tokens(one.freed), "add bold")] if one.freed else []
    return [Span(numbers.many(len(rows), "block"), "dim"), *frees]
