"""Content of a shared page about one call: its blocks and body, masked."""

from __future__ import annotations

import json
from typing import Final

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.figures import ATTACHED, NOT_RECORDED, BlockFigure, block_figures, figures
from ctxtui.analysis.short_names import label_of
from ctxtui.core import canonical
from ctxtui.core.block import Block
from ctxtui.core.block_content import read
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker, describe_report
from ctxtui.services.editing.exporting import export_session, own_form
from ctxtui.views.pages.share_page import SharedBlock, SharedCall, category_index

_UNSEEN: Final = {NOT_RECORDED: "not recorded", ATTACHED: "re-attached"}
"""Labels of blocks without recorded content, by category."""


def share_call(book: Book, chosen: ChosenCall, masker: Masker, name: str, source: str) -> SharedCall:
    """The `chosen` call for a page; everything in `book` must be counted.

    `name` and `source` are the recording's name and client. Replaces `masker.report` by the counts without repeats.
    """
    call, session = chosen.call, book.session
    figures_ = figures(book, call)
    rows = list(block_figures(book, call))
    tail: tuple[str, ...] = ()
    for row in rows:
        tail = masker.follow(tail, row.block)
    masked = [masker.mask_block(row.block) for row in rows]
    in_blocks = dict(masker.report)
    export_ = export_session(session, own_form(chosen), chosen)
    body = masker.mask_value(canonical.loads(export_.data.decode("utf-8", "replace")), "body")
    until_body = dict(masker.report)
    number = f"call {chosen.number} of {len(session.thread_calls(chosen.thread))}" if chosen.number else "not sent yet"
    facts = (session.about.source or source, call.model or session.model, number, chosen.thread, str(call.fidelity))
    title = masker.mask_line(session.about.title or name)
    masked_facts = [fact if fact == number else masker.mask_word(fact) for fact in facts if fact and fact != "main"]
    # Masks in the body, and those in title and facts, repeat those in the blocks: count each secret once.
    report = {
        kind: max(in_blocks.get(kind, 0), until_body.get(kind, 0) - in_blocks.get(kind, 0), n - until_body.get(kind, 0))
        for kind, n in masker.report.items()
    }
    page = SharedCall(
        title=title,
        facts=tuple(masked_facts),
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
    label = _UNSEEN.get(figure.category, "")
    if figure.node:
        node = book.session.tree[figure.node]
        # The call is found by the unmasked id.
        tool = book.names.answered_tool(node, read(node.block))
        label = label_of(replace(node, block=masked), content, lambda: masker.mask_id(tool))
    return SharedBlock(
        category=category_index(figure.category),
        role=masker.mask_word(figure.role),
        label=label,
        text="\n".join(filter(None, (content.text, content.arguments))),
        tokens=figure.tokens,
        method=figure.method,
        read=figure.read,
        images=tuple((medium.media_type, medium.data) for medium in content.media if medium.data),
    )
