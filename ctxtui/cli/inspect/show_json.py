"""`ctxtui show --json`: one call's context as data, a stable interface for other programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.figures import ATTACHED, NOT_RECORDED, BlockFigure, block_figures, figures, growth_points
from ctxtui.analysis.labels.figures import (
    LabelFigure,
    SegmentFigure,
    by_category,
    label_figures,
    segment_figures,
    segments_of,
    session_labels,
)
from ctxtui.analysis.labels.labelling import searched_text
from ctxtui.analysis.residual import Residual, explain_residual
from ctxtui.analysis.short_names import first_words
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, count_calls
from ctxtui.core.session import Skipped
from ctxtui.core.usage import Usage
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import total_session
from ctxtui.services.members import members

UNREAD = "not read"
"""Method of a block that the provider removes before the model reads. Its tokens do not count."""


def as_json(
    book: Book, chosen: ChosenCall, skipped: Iterable[Skipped], name: str, source: str, settings: Settings
) -> dict[str, Any]:
    """The members of ``show --json`` but ``notes`` and the optional lists.

    Everything in `book` must be counted. The tokens of the blocks plus the residual equal ``context_tokens``; those of
    the categories equal the blocks'.
    """
    call_figures = figures(book, chosen.call)
    blocks = list(block_figures(book, chosen.call))
    rows = _with_running_sums(row for figure in blocks for row in _rows(book, chosen.call.model, figure))
    missing = {NOT_RECORDED: call_figures.not_recorded} if call_figures.not_recorded else {}
    reattached = {ATTACHED: call_figures.attached} if call_figures.attached else {}
    residual_info = explain_residual(book, chosen.call)
    fields = {
        "session": {**_session(book, name, source), "totals": total_session(book.session, settings).as_fields()},
        "call": chosen.number,
        "context_tokens": call_figures.context_tokens,
        "method": call_figures.method,
        "context_window": context_window(book, chosen.call, settings.usable_share).as_fields(),
        "categories": {**call_figures.categories, **missing, **reattached},
        "blocks": rows,
        "labels": _labels(segments_of(book, chosen.call.model, blocks)),
        "reported": _usage(chosen.call, call_figures.reported) if call_figures.reported else None,
        "residual": call_figures.residual,
        "residual_cause": None if residual_info is None else _cause(residual_info),
        "growth": [
            members(point, "call context_tokens reported_input") for point in growth_points(book, chosen.thread)
        ],
        "skipped": [{"line": record.line, "reason": record.reason} for record in skipped],
    }
    _check(fields)
    return fields


def _cause(residual_info: Residual) -> dict[str, Any]:
    parts = [members(part, "since_call=since tokens likely=cause steps") for part in residual_info.parts]
    return {**members(residual_info, "what likely=cause since_call=since"), "parts": parts}


def _session(book: Book, name: str, source: str) -> dict[str, Any]:
    session = book.session
    description = session.about
    return {
        "id": description.id or name,
        "title": description.title or name,
        "source": description.source or source,
        "model": session.model,
        "calls": count_calls(session.calls.values()),
        "threads": len(session.threads),
        "labels": [_label_row(label) for label in session_labels(book)],
    }


def _with_running_sums(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    cumulative, chars, tokens = [], 0, 0
    for row in rows:
        chars += row["span"][1] - row["span"][0] if row["method"] != UNREAD else 0
        tokens += row["tokens"]
        cumulative.append({**row, "running_chars": chars, "running_tokens": tokens})
    return cumulative


def recorded_text(figure: BlockFigure) -> str:
    return searched_text(read(figure.block)) if figure.node else ""


def _rows(book: Book, model: str, figure: BlockFigure) -> list[dict[str, Any]]:
    """A block as one row, or as several if rules assign its parts to different categories."""
    text = recorded_text(figure)
    parts = by_category(segment_figures(book, model, figure.node)) if figure.node and not figure.gone else []
    if len(parts) < 2:
        ((category, part),) = parts or [(figure.category, [])]
        return [{**_row(figure, [0, len(text)], category, _label(book, figure)), "labels": _labels(part)}]
    rows = []
    for category, part in parts:
        span, tokens = [part[0].start, part[-1].end], sum(segment.tokens for segment in part)
        share = replace(
            figure,
            tokens=tokens,
            lo=max(0, tokens - _slack(figure.tokens - figure.lo, tokens, figure.tokens)),
            hi=tokens + _slack(figure.hi - figure.tokens, tokens, figure.tokens),
        )
        row = _row(share, span, category, first_words(text[slice(*span)]))
        rows.append({**row, "labels": _labels(part)})
    return rows


def _slack(whole: int, tokens: int, total: int) -> int:
    """A part's share, rounded up, of the distance `whole` to an end of the block's interval."""
    return -(-whole * tokens // total) if total else 0


def _row(figure: BlockFigure, span: list[int], category: str, label: str) -> dict[str, Any]:
    return {
        "digest": figure.block.digest,
        "span": span,
        "category": category,
        "label": label,
        "role": figure.role,
        "tokens": figure.tokens if figure.read else 0,
        "method": figure.method if figure.read else UNREAD,
        "interval": [figure.lo, figure.hi] if figure.read else [0, 0],
        **({"gone": {"why": figure.gone.reason_text, "since_call": figure.gone.since}} if figure.gone else {}),
    }


def _labels(segments: Iterable[SegmentFigure]) -> list[dict[str, Any]]:
    return [_label_row(label) for label in label_figures(segments)]


def _label_row(label: LabelFigure) -> dict[str, Any]:
    return members(label, "label category count tokens")


def _label(book: Book, figure: BlockFigure) -> str:
    if not figure.node:
        return "re-attached" if figure.category == ATTACHED else "not recorded"
    return book.names.label(book.session.tree[figure.node])


def _usage(call: Call, usage: Usage) -> dict[str, int | bool | None]:
    split = usage.has_cache
    return {
        "input": usage.input,
        "cache_read": usage.cache_read if split else None,
        "cache_write": usage.cache_write if split else None,
        "fresh": usage.fresh if split else None,
        "output": usage.output,
        "output_final": usage.output_final,
        "output_at_least": call.output,
    }


def _check(fields: dict[str, Any]) -> None:
    blocks = sum(block["tokens"] for block in fields["blocks"])
    if blocks + fields["residual"] != fields["context_tokens"] or blocks != sum(fields["categories"].values()):
        raise AssertionError(
            f"figures do not add up: blocks {blocks}, categories {sum(fields['categories'].values())}, "
            f"residual {fields['residual']}, context {fields['context_tokens']}"
        )
