"""Content of a shared page about one call: its blocks and body, masked."""

from __future__ import annotations

import json
from typing import Final

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.figures import ATTACHED, NOT_RECORDED, BlockFigure, block_figures, figures
from ctxtui.core import canonical
from ctxtui.core.block import Block
from ctxtui.core.block_content import read
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker, describe_report
from ctxtui.services.editing.exporting import export_session, own_form
from ctxtui.views.pages.share_page import SharedBlock, SharedCall, category_index

_UNSEEN: Final = {NOT_RECORDED: "not recorded", ATTACHED: "re-attached"}
"""Blocks whose content was not recorded, and what the page says instead."""


def share_call(book: Book, chosen: ChosenCall, masker: Masker, name: str, source: str) -> SharedCall:
    """The `chosen` call for a page; everything in `book` must be counted.

    `name` and `source` are the recording's name and client.
    """
    call, session = chosen.call, book.session
    figures_ = figures(book, call)
    rows = list(block_figures(book, call))
    tail: tuple[str, ...] = ()
    for row in rows:
        tail = masker.follow(tail, row.block)
    masked = [masker.mask_block(row.block) for row in rows]
    said_in_blocks = dict(masker.report)
    export_ = export_session(session, own_form(chosen), chosen)
    body = masker.mask_value(canonical.loads(export_.data.decode("utf-8", "replace")), "body")
    # The body repeats the blocks, and labels and title too: count each secret once.
    in_body = {kind: n - said_in_blocks.get(kind, 0) for kind, n in masker.report.items()}
    report = {kind: max(said_in_blocks.get(kind, 0), n) for kind, n in in_body.items()}
    number = f"call {chosen.number} of {len(session.thread_calls(chosen.thread))}" if chosen.number else "not sent yet"
    facts = (session.about.source or source, call.model or session.model, number, chosen.thread, str(call.fidelity))
    page = SharedCall(
        title=masker.mask_line(session.about.title or name),
        facts=tuple(fact if fact == number else masker.mask_word(fact) for fact in facts if fact and fact != "main"),
        total=figures_.context_tokens,
        method=figures_.method,
        blocks=tuple(_share_block(book, row, masked_row, masker) for row, masked_row in zip(rows, masked, strict=True)),
        residual=figures_.residual,
        body=json.dumps(json.loads(canonical.dumps(body)), indent=1, ensure_ascii=False),
        lost=tuple(map(masker.mask_text, export_.lost)) if masker.level != Level.TEXT else export_.lost,
        level=str(masker.level),
        masked=tuple(describe_report(report)),
    )
    masker.report = report
    return page


def _share_block(book: Book, figure: BlockFigure, masked: Block, masker: Masker) -> SharedBlock:
    content = read(masked)
    label = book.names.label(book.session.tree[figure.node], content) if figure.node else _UNSEEN[figure.category]
    return SharedBlock(
        category=category_index(figure.category),
        role=figure.role,
        label=label,
        text="\n".join(filter(None, (content.text, content.arguments))),
        tokens=figure.tokens,
        method=figure.method,
        read=figure.read,
        images=tuple((medium.media_type, medium.data) for medium in content.media if medium.data),
    )
