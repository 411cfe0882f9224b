"""One-line display of a block: label, call arguments, and the most telling words."""

from __future__ import annotations

from ctxtui.views.model.preview import Preview
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span


def block_name(preview: Preview, room: int) -> str:
    """The block's label and its call's arguments, or its text."""
    text = f"{preview.label} {preview.detail or preview.text}".strip()
    return cells.fit(safe_text.one_line(text, 2 * room), room)


def preview_spans(preview: Preview, label: str, voice: str = "") -> list[Span]:
    """Spans of the line, in the styles `label` and `voice` (default: the preview's)."""
    voice = voice or preview.voice
    quiet = "faint" in voice
    lead = [Span(preview.label + " ", label)] if preview.label else []
    if preview.failed:
        lead.append(Span("✗ ", "faint" if quiet else "crit"))
    if preview.detail:
        lead += [Span(preview.detail, "faint" if quiet else "ink"), Span(" · ", "faint")]
    return [*lead, *safe_text.spans(preview.text, voice, "faint" if quiet else "warn")]
