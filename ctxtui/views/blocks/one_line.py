"""A block in one line as it is drawn: its label, what its call asked for, and the words that say most about it."""

from __future__ import annotations

from ctxtui.views.model.preview import Preview
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span


def name(says: Preview, room: int) -> str:
    """The block's name in at most `room` cells: its label, and what its call asked for, or what it says."""
    told = f"{says.label} {says.asked or says.text}".strip()
    return cells.fit(safe_text.one_line(told, 2 * room), room)


def words(says: Preview, label: str, voice: str = "") -> list[Span]:
    """The line: its label in the style `label`, its text in `voice` (else its own), what was asked between them."""
    voice = voice or says.voice
    quiet = "faint" in voice
    lead = [Span(says.label + " ", label)] if says.label else []
    if says.failed:
        lead.append(Span("✗ ", "faint" if quiet else "crit"))
    if says.asked:
        lead += [Span(says.asked, "faint" if quiet else "ink"), Span(" · ", "faint")]
    return [*lead, *safe_text.spans(says.text, voice, "faint" if quiet else "warn")]
