"""Signs: a glyph, letter and style for each category, mark and cache state; the colours.

The letters are for terminals without Unicode; other ASCII replacements are in `tui.theme.glyphs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.core.note import Note

NOT_RECORDED: Final = len(CATEGORIES)
"""Category index of unrecorded content."""
ATTACHED: Final = NOT_RECORDED + 1
"""Category index of content that a client attached again after a compaction and did not record."""


class Sign(Struct, frozen=True):
    """A sign: `letter` replaces `glyph` without Unicode, `key` filters the category."""

    name: str
    glyph: str
    letter: str
    style: str
    key: str = ""

    @property
    def span(self) -> Span:
        return Span(self.glyph, self.style)


CATEGORY: Final[tuple[Sign, ...]] = (
    Sign("system", "§", "S", "cat-system", "1"),
    Sign("tools", "ƒ", "F", "cat-tools", "2"),
    Sign("memory", "≡", "M", "cat-memory", "3"),
    Sign("user", "›", "U", "cat-user", "4"),
    Sign("assistant", "●", "A", "cat-assistant", "5"),
    Sign("thinking", "◌", "K", "cat-thinking", "6"),
    Sign("tool call", "→", "C", "cat-call", "7"),
    Sign("tool result", "←", "R", "cat-result", "8"),
    Sign("image", "□", "I", "cat-image", "9"),
    Sign("document", "¶", "D", "cat-document", "0"),
    Sign("summary", "Σ", "Z", "cat-summary", "-"),
    Sign("not recorded", "░", "?", "faint"),
)
"""Signs by category index (`ctxtui.core.category`); the last one is for unrecorded content."""

RE_ATTACHED: Final = Sign("re-attached", "░", "?", "faint")

MARK: Final[dict[str, Sign]] = {
    sign.name: sign
    for sign in (
        Sign("cursor", "▸", ">", "accent"),
        Sign("marked", "■", "+", "accent"),
        Sign("pinned", "⊙", "P", "accent"),
        Sign("dropped", "⊗", "x", "crit"),
        Sign("truncated", "⋯", "~", "warn"),
        Sign("summary", "Σ", "Z", "cat-summary"),
        Sign("externalized", "@", "@", "cat-memory"),
        Sign("replaced", "≠", "%", "cat-tools"),
        Sign("deduplicated", "↰", "&", "crit"),
        Sign("breakpoint", "◆", "*", "accent"),
        Sign("automatic breakpoint", "◇", "o", "accent"),
        Sign("break", "╳", "X", "crit"),
        Sign("miss", "▼", "!", "crit"),
        Sign("ttl miss", "▼", "!", "warn"),
        Sign("compaction", "Σ", "Z", "cat-summary"),
        Sign("model", "◊", "m", "cat-document"),
        Sign("loop", "↻", "L", "warn"),
        Sign("edit", "╪", "e", "accent"),
        Sign("turn", "╵", "'", "dim"),
        Sign("bookmark", "★", "*", "accent bold"),
        Sign("note", "✎", '"', "accent bold"),
        Sign("here", "▲", "^", "accent"),
        Sign("error", "✗", "x", "crit"),
        Sign("folded", "⋮", ":", "faint"),
        Sign("ok", "✓", "v", "ok"),
        Sign("warning", "▲", "!", "warn"),
        Sign("live", "●", "*", "ok bold"),
        Sign("held", "‖", "=", "warn bold"),
        Sign("following", "»", ">", "accent bold"),
        Sign("recorded", "○", "o", "dim"),
    )
}

GUTTER: Final[dict[str, Sign]] = {
    "read": Sign("read", "┃", "|", "read"),
    "write": Sign("write", "╏", ":", "write"),
    "fresh": Sign("fresh", "┊", ".", "fresh"),
}
"""Cache state at the left edge of a list."""

TRACK: Final[dict[str, Sign]] = {
    "read": Sign("read", "━", "=", "read"),
    "write": Sign("write", "╍", "~", "write"),
    "fresh": Sign("fresh", "┄", ".", "fresh"),
}
"""Cache state along a line in prompt order."""


REPEAT: Final[dict[str, Sign]] = {
    sign.name: sign
    for sign in (
        Sign("identical", "=", "=", "warn"),
        Sign("near", "≈", "~", "warn"),
        Sign("read again", "↓", "v", "warn"),
        Sign("edited since", "↓", "v", "warn"),
        Sign("in workspace", "⌂", "w", "cat-memory"),
    )
}
"""Duplicates by kind (`analysis.content.duplicates`)."""


def failed(reason: object) -> list[Span]:
    return [Span("✗ ", "crit"), Span(safe_text.one_line(str(reason), 300), "crit")]


def warned(warning: object) -> list[Span]:
    return [Span("▲ ", "warn"), Span(safe_text.one_line(str(warning), 300), "warn")]


def done(message: object) -> list[Span]:
    return [Span("✓ ", "ok"), Span(safe_text.one_line(str(message), 300))]


def key_hint(key: str, does: str) -> list[Span]:
    return [Span(key, "accent bold"), Span(f" {does}", "dim")]


def of_note(note: Note) -> Span:
    return MARK["bookmark" if note.bookmark else "note"].span


def category(name: str) -> Sign:
    """The sign of a category by its name in `core` (``tool_call``).

    That of unrecorded content for any other name.
    """
    return RE_ATTACHED if name == "reattached" else CATEGORY[INDEX.get(name, NOT_RECORDED)]


def category_at(index: int) -> Sign:
    return RE_ATTACHED if index == ATTACHED else CATEGORY[index]


DARK: Final = {
    "bg": "#0E1117", "panel": "#161B24", "turn": "#171D27", "cur": "#223047", "hair": "#2B3342",
    "ink": "#DCE1EA", "dim": "#8A93A6", "faint": "#626C80", "accent": "#4FD9D0", "accent-ink": "#06201E",
    "cache-read": "#2E7F78", "readtx": "#56B3A8", "cache-write": "#F5C04E", "cache-fresh": "#FF7BC0",
    "ok": "#5BC48A", "warn": "#F2B84B", "crit": "#FF6B7A",
    "add": "#7FE0B0", "add-bg": "#12372B", "del": "#FF9AA8", "del-bg": "#43202A",
    "cat-system": "#9A58BA", "cat-tools": "#2E74E8", "cat-memory": "#2F9364", "cat-user": "#FFE05F",
    "cat-assistant": "#EEF1F8", "cat-thinking": "#858BA6", "cat-call": "#9AD3FA", "cat-result": "#55A9F5",
    "cat-image": "#FCA6AD", "cat-document": "#DC5010", "cat-summary": "#A9BE1E",
}  # fmt: skip

LIGHT: Final = {
    "bg": "#FBFBF9", "panel": "#EFF0EC", "turn": "#F1F2EE", "cur": "#D3ECEB", "hair": "#CFD3D8",
    "ink": "#20242C", "dim": "#5F6876", "faint": "#868D99", "accent": "#007F86", "accent-ink": "#FFFFFF",
    "cache-read": "#8CC7BF", "readtx": "#147A70", "cache-write": "#D98A00", "cache-fresh": "#D42A5B",
    "ok": "#1B7F4B", "warn": "#B07100", "crit": "#C2253D",
    "add": "#0B5F38", "add-bg": "#D8F2E2", "del": "#A3142B", "del-bg": "#FBDDE1",
    "cat-system": "#592277", "cat-tools": "#06077E", "cat-memory": "#1F5B54", "cat-user": "#B78B25",
    "cat-assistant": "#2B2C31", "cat-thinking": "#82848A", "cat-call": "#5694E1", "cat-result": "#0E68C4",
    "cat-image": "#AA2D94", "cat-document": "#872B08", "cat-summary": "#6C7213",
}  # fmt: skip
