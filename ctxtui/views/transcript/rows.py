"""Rows of the transcript, blocks and rules, as frozen view models and as lines of spans.

A rule is a row between blocks: the start of an epoch, of the answer, or of what is not sent yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.figures import name_missing
from ctxtui.core.block import HEADER, UNREADABLE
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.views.blocks import one_line
from ctxtui.views.model.call_charge import Charge
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, numbers
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.signs import CATEGORY, GUTTER, MARK, Sign
from ctxtui.views.text.span import Span, fit_spans, right_aligned, width
from ctxtui.views.transcript.row_index import RuleRow

BAR_STEP: Final = 350
"""Tokens per cell of a row's bar: the same in every session, so that rows can be compared."""

EMPTY_SPAN: Final = Span("")
BLANK_SPAN: Final = Span(" ")

_USER: Final = INDEX["user"]
_CALL: Final = INDEX["tool_call"]
COMPACTION_HINT: Final = (
    Span("╌ ", "hair"),
    Span("⏎", "accent bold"),
    Span(" what it lost ", "faint"),
)
_SIGN_OF_RULE: Final = {
    "compaction": MARK["compaction"].span,
    "microcompaction": MARK["compaction"].span,
    "model": MARK["model"].span,
    "client": MARK["model"].span,
}
_WORD_OF_RULE: Final = {"model": "", "resume": "resumed", "client": "client changed", "rewind": "rewound"}
"""Words for the kinds of rules whose name is not shown as it is."""


class TranscriptRow(Struct, frozen=True, kw_only=True):
    """One block of the transcript, ready to draw.

    - `gutter`: the cache state; `turn`: the number of the turn that the block opens, else ""; `style`: its category's.
    - `weight`: tokens that the model read, the length of the bar.
    - `call`: the number of the call that brought the block; `cost`: its cost since then.
    - `note`: the sign of a note or bookmark; `mark`: that of a duplicate, or of a row that the user marked.
    """

    gutter: Span
    turn: str
    sign: Span
    words: tuple[Span, ...]
    tokens: Span
    weight: float
    style: str
    call: str = ""
    cost: Span = EMPTY_SPAN
    note: Span = BLANK_SPAN
    mark: Span = BLANK_SPAN


def block_row(
    scene: Scene, node: Node, preview: Preview, charge: Charge | None, *, sent: bool, call: str, cost: Span
) -> TranscriptRow:
    """The row of a block; one that the call shown did not send is neither charged nor unread."""
    tree = scene.session.tree
    read = not sent or scene.running.is_read(scene.head, node.id)
    sign = CATEGORY[scene.running.category(node.id)]
    glyph = MARK["warning"].span if node.block.kind == UNREADABLE else sign.span if read else _faint(sign)
    counted = scene.running.is_counted(node.id) and node.block.kind not in (HEADER, UNREADABLE)
    tokens = scene.running.block_tokens(node.id) if counted else 0
    if preview.detail and _follows_its_call(tree, node):
        preview = preview._replace(detail="")
    return TranscriptRow(
        gutter=_gutter(charge, node, sent and read),
        turn=str(scene.turns.number_of(node.id)) if node.opens_turn and not scene.partial else "",
        sign=glyph,
        words=(
            *_removal_label(scene, node),
            *_preview_spans(preview, sign.style, read=read, is_user=is_user_text(node)),
        ),
        tokens=_tokens(tokens, counted=counted, read=read),
        weight=tokens if read else 0,
        style=sign.style,
        call=call,
        cost=cost,
    )


def _removal_label(scene: Scene, node: Node) -> tuple[Span, ...]:
    removal = scene.running.absence(scene.head, node.id)
    return () if removal is None else (Span(f"gone since call {removal.since} ", "warn"),)


def is_user_text(node: Node) -> bool:
    return node.category == _USER and node.place.mark != "meta" and node.block.kind != UNREADABLE


def withheld_row(row: TranscriptRow, scene: Scene, nodes: Sequence[int]) -> TranscriptRow:
    """The row of the first encrypted reasoning block, for all such `nodes` of the context."""
    blocks = f"in {len(nodes):,} blocks, " if len(nodes) > 1 else ""
    words = (Span("encrypted reasoning ", "dim italic"), Span(f"{blocks}only its provider can read it", "faint"))
    counted = [node for node in nodes if scene.running.is_counted(node)]
    tip = scene.tip
    read = sum(scene.running.block_tokens(node) for node in counted if scene.running.is_read(tip, node))
    unread = sum(scene.running.block_tokens(node) for node in counted) - read
    figure = Span(numbers.tokens(read)) if read else Span(numbers.unread(unread), "faint")
    return replace(row, words=words, tokens=figure, weight=read)


def missing_row(scene: Scene, charge: Charge | None) -> TranscriptRow:
    """The row of unrecorded content, at the start of the context."""
    text = f"{name_missing(scene.book, scene.call, scene.figures.categories)}, inferred from the report"
    if scene.figures.attached:
        text = f"{numbers.guessed(scene.figures.not_recorded or 0)} {text}; "
        text += f"{numbers.guessed(scene.figures.attached)} re-attached after the compaction"
    words = (Span("not recorded ", "faint"), Span(text, "faint"))
    return TranscriptRow(
        gutter=GUTTER[charge.state_at(scene.missing / 2)].span if charge else Span(" "),
        turn="",
        sign=_faint(CATEGORY[0]),
        words=words,
        tokens=Span(numbers.guessed(scene.missing), "faint"),
        weight=scene.missing,
        style="faint",
    )


def _follows_its_call(tree: Tree, node: Node) -> bool:
    """Whether the row above is the only call that `node` can answer."""
    above: list[int] = []
    at = node.parent
    while at != ROOT and len(above) < 2:
        if tree[at].block.kind != HEADER:
            above.append(tree[at].category)
        at = tree[at].parent
    return above[:1] == [_CALL] and above[1:] != [_CALL]


def _faint(sign: Sign) -> Span:
    # The category stays the first word of the style: it selects the ASCII letter of the glyph.
    return Span(sign.glyph, f"{sign.style} faint")


def _gutter(charge: Charge | None, node: Node, charged: bool) -> Span:
    if charge is None or not charged:
        return Span(" ")
    if node.id in (charge.read_node, charge.write_node):
        return MARK["breakpoint" if charge.recorded else "automatic breakpoint"].span
    return GUTTER[charge.state(node.depth)].span


def _preview_spans(preview: Preview, style: str, *, read: bool, is_user: bool) -> tuple[Span, ...]:
    label, voice = style + (" bold" if preview.loud else ""), preview.voice
    if not read:
        label = "faint"
        voice = "faint italic" if "italic" in voice else "faint"
    elif is_user:
        voice = "ink bold"
    return tuple(one_line.preview_spans(preview, label, voice))


def _tokens(own: int, *, counted: bool, read: bool) -> Span:
    if not counted:
        return Span(numbers.NONE, "faint")
    if not read:
        return Span(numbers.unread(own), "faint")
    return Span(numbers.tokens(own), "ink bold" if own >= 1000 else "ink" if own >= 100 else "dim")


def draw(row: TranscriptRow, grid: Grid, cursor: str = " ") -> list[Span]:
    """Draw a row; `cursor` is ``▸``, ``↑`` (the turn on top) or blank."""
    gap, has_long_number = BLANK_SPAN, len(row.turn) > 2
    line = [
        row.gutter,
        Span(cursor, "accent" if cursor != "↑" else "dim"),
        # From turn 100 on the number takes one more cell, and the text one less.
        *(
            [right_aligned(row.turn, "cat-user bold", 3), gap]
            if has_long_number
            else [right_aligned(row.turn, "cat-user bold", 2), row.note]
        ),
        row.sign,
        row.note if has_long_number else gap,
        *fit_spans(row.words, grid.text - has_long_number),
    ]
    if grid.call:
        line += [
            right_aligned(row.call, "dim", grid.call),
            gap,
            right_aligned(row.cost.text, row.cost.style, grid.cost),
        ]
    line += [gap, row.mark, right_aligned(row.tokens.text, row.tokens.style, 7), gap]
    if grid.bar:
        bar = bars.line(row.weight, BAR_STEP * grid.bar, grid.bar, tiny="")
        line += [Span(bar.ljust(grid.bar), row.style), gap]
    return line


def draw_rule(rule: RuleRow, grid: Grid, cursor: str = " ") -> list[Span]:
    """Draw a row that is no block: ``Σ╌ compaction · 154.8k → 22.3k ╌╌╌``."""
    sign = _SIGN_OF_RULE.get(rule.kind, Span("╌", "hair"))
    word = _WORD_OF_RULE.get(rule.kind, rule.kind)
    text = " · ".join(part for part in (word, rule.text) if part)
    spans = [Span(" "), Span(cursor, "accent"), Span("   "), sign, Span("╌ ", "hair"), Span(text + " ", "dim")]
    if rule.kind == "compaction":
        if width(spans) + width(COMPACTION_HINT) >= grid.width:
            spans[-1] = Span(text.partition(" · by ")[0] + " ", "dim")
        hint = COMPACTION_HINT if width(spans) + width(COMPACTION_HINT) < grid.width else COMPACTION_HINT[1:2]
        spans += hint if width(spans) + width(hint) < grid.width else ()
    elif cursor.strip():
        hint_text = "opens its blocks" if rule.kind in ("answer", "since") else "the first call after it"
        spans += [Span("⏎", "accent bold"), Span(f" {hint_text} ", "faint")]
    room = grid.width - 1
    line = fit_spans(spans, room)
    fill = len(line[-1].text) if line[-1].text.isspace() else 0
    return [*line[:-1], Span("╌" * fill, "hair"), Span(" ")] if fill else [*line, Span(" ")]
