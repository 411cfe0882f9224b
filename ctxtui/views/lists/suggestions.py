"""The list of suggestions (findings and advice), and the blocks that the chosen one changes."""

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
from ctxtui.views.transcript.staged_pane import money_style

_WIDE: Final = 110


def title(suggestion: Suggestion) -> str:
    """The action: ``drop 12 unused tools``, ``externalize large + truncate results``."""
    if isinstance(suggestion.what, Advice):
        return advice.policy_names(suggestion.what)
    finding = suggestion.what.finding
    return findings.short(finding) if suggestion.is_warning else findings.fix(finding)


def _group(suggestion: Suggestion) -> Spans:
    if suggestion.is_warning:
        return [Span(" warnings", "crit bold"), Span("  check these first; each fix is staged separately", "dim")]
    if suggestion.is_safe:
        return [Span(" safe", "ok bold"), Span("  removes no text that the model may need again", "dim")]
    return [Span(" loses text", "warn bold"), Span("  keeps what later blocks quote", "dim")]


def _money(usd: float | None) -> Span:
    return Span(
        numbers.NONE if usd is None else numbers.signed_money(usd), money_style(usd) if usd is not None else "faint"
    )


def _once(suggestion: Suggestion, room: int) -> Span:
    return _money(suggestion.once)


def _per_call(suggestion: Suggestion, room: int) -> Span:
    return _money(suggestion.per_call)


def _frees(suggestion: Suggestion, room: int) -> Span:
    return Span(numbers.signed(-suggestion.freed), "add bold") if suggestion.freed else Span(numbers.NONE, "faint")


def _risk(suggestion: Suggestion, room: int) -> Span:
    risk = suggestion.what.risk
    if suggestion.is_warning:
        return Span("redacts" if suggestion.edits else "by hand", "dim")
    if risk is None:
        return Span("breakpoints" if suggestion.edits else "by hand", "dim")
    if suggestion.is_safe and risk > Risk.OUTSIDE:
        return Span("tools only", advice.RISK_STYLES[Risk.NOTHING])
    return Span(risk.description if cells.width(risk.description) <= room else risk.short, advice.RISK_STYLES[risk])


def explain(suggestion: Suggestion) -> str:
    return (
        advice.explain(suggestion.what, suggestion.staged)
        if isinstance(suggestion.what, Advice)
        else findings.explain(suggestion.what)
    )


def _columns() -> Iterator[Column[Suggestion]]:
    yield Column(
        "what", 0, lambda piece, _: Span(title(piece), "ink" if piece.edits else "dim"), "left", gap=1, least=20
    )
    yield Column("frees", 8, _frees, wider=((_WIDE, 9),), sum=explain)
    for name, wide, figure in (("once", 8, _once), ("a call", 8, _per_call)):
        yield Column(name, wide, figure, below=_WIDE, sum=explain)
    for name, wide, figure in (("costs once", 12, _once), ("per call after", 16, _per_call)):
        yield Column(name, wide, figure, from_width=_WIDE, sum=explain)
    yield Column("risk", 12, _risk, "left", gap=2, wider=((_WIDE, 28),))


TABLE: Final[Table[Suggestion]] = Table(tuple(_columns()), mark=2, tail=0, group=_group)


def detail(
    suggestion: Suggestion | None, all_findings: Findings | None, name: str, command_line: str, room: int
) -> list[Spans]:
    """A suggestion's effect and savings in full; then checks without a finding.

    `command_line` is shown for policies.
    """
    lines: list[Spans] = []
    if suggestion is not None:
        if isinstance(suggestion.what, Advice):
            lines = advice.detail(suggestion.what, command_line, room, suggestion.staged)
        elif all_findings is not None:
            lines = findings.detail(suggestion.what, all_findings, name, room)
    return [*lines, *(findings.checks_without_findings(all_findings, room) if all_findings is not None else [])]


class ChangedBlock(Struct, frozen=True):
    """A block changed by edits; `node` is 0 for an inserted block, whose text is `text`.

    - `tokens`: its size now; `after`: its size then (None: being counted).
    - `along`: the provider would refuse the other edits without this one.
    """

    node: int
    category: int
    mark: str
    tokens: int
    after: int | None
    along: bool = False
    text: str = ""


def changed_blocks(now: Staging, then: Staging) -> list[ChangedBlock]:
    """The blocks that the further edits of `then` change, in prompt order."""
    category = now.scene.running.category
    nodes, changed = then.applied.context.nodes, list[tuple[int, ChangedBlock]]()
    for position, change in then.applied.changes.items():
        node, fate = change.node, then.fates[change.node]
        before = now.fates.get(node)
        if fate != before and fate.tokens:
            size = fate.tokens if before is None else before.after or 0
            changed.append(
                (position, ChangedBlock(node, category(node), fate.mark, size, fate.after, along=fate.repair))
            )
    for position in then.applied.marks.keys() - now.applied.marks.keys():
        node = nodes[position]
        own = now.scene.running.block_tokens(node)
        changed.append((position, ChangedBlock(node, category(node), "breakpoint", own, own)))
    known_edits = {new.edit.id for new in now.inserted}
    for new in then.inserted:
        if new.edit.id not in known_edits:
            text = safe_text.one_line(read(new.item.block).text, 400)
            changed.append((new.at, ChangedBlock(0, new.category, new.edit.spec.mark, 0, new.tokens, text=text)))
    return [row for _, row in sorted(changed, key=lambda pair: pair[0])]


def changed_table(preview_of: Callable[[int], Preview]) -> Table[ChangedBlock]:
    def words(row: ChangedBlock, room: int) -> list[Span]:
        sign = CATEGORY[row.category]
        lead = [MARK[row.mark].span if row.mark else Span(" "), Span(" "), sign.span, Span(" ")]
        if not row.node:
            return [*lead, Span(row.text)]
        says = preview_of(row.node)
        return [*lead, *one_line.preview_spans(says, sign.style, "ink" if says.loud else "dim")]

    def becomes(row: ChangedBlock, room: int) -> Span:
        return Span(f"{row.mark}, as required" if row.along else row.mark, "dim")

    def after(row: ChangedBlock, room: int) -> Span:
        return Span(numbers.NONE if row.after is None else numbers.tokens(row.after))

    return Table(
        (
            Column("  block", 0, words, "left", least=8),
            Column("becomes", 14, becomes, "left", gap=2, wider=((100, 20),)),
            Column("now", 8, lambda row, _: Span(numbers.tokens(row.tokens), "dim"), sum=explain_block),
            Column("then", 8, after, sum=explain_block),
        )
    )


def explain_block(row: ChangedBlock) -> str:
    if row.after is None:
        return ""
    freed = row.tokens - row.after
    return sums.difference(row.after, row.tokens, freed, ("then", "now", "less" if freed >= 0 else "more"))


def changed_note(suggestion: Suggestion, rows: Sequence[ChangedBlock]) -> list[Span]:
    if not rows:
        return []
    frees = [Span(", frees ", "dim"), Span(numbers.tokens(suggestion.freed), "add bold")] if suggestion.freed else []
    return [Span(numbers.many(len(rows), "block"), "dim"), *frees]
