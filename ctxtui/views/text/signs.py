"""Signs: one glyph, one letter and one style for every category, mark and cache state (the look book's tables).

All glyphs take one cell and none has an emoji form. The letters serve terminals without Unicode; what else stands
between ASCII and the glyphs is a table at the edge (`tui.theme.glyphs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.note import Note
from ctxtui.views.text.span import Span

NOT_RECORDED: Final = len(CATEGORIES)
"""The category index of what a recording lacks: faint, ``░`` in the map."""


@dataclass(frozen=True, slots=True)
class Sign:
    """How one thing is drawn: `glyph`, its `letter` in ASCII, its `style`, the `name` shown, the number `key`."""

    name: str
    glyph: str
    letter: str
    style: str
    key: str = ""

    @property
    def span(self) -> Span:
        """The glyph in its style."""
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
"""Signs by category index (`ctxtui.core.category`), and last the sign of what is not recorded."""

MARK: Final[dict[str, Sign]] = {
    sign.name: sign
    for sign in (
        Sign("cursor", "▸", ">", "accent"),
        Sign("marked", "■", "+", "accent"),
        Sign("pinned", "⊙", "P", "accent"),
        Sign("dropped", "✗", "x", "crit"),
        Sign("truncated", "⋯", "~", "warn"),
        Sign("summary", "Σ", "Z", "cat-summary"),
        Sign("externalized", "@", "@", "cat-memory"),
        Sign("replaced", "≠", "%", "cat-tools"),
        Sign("deduplicated", "=", "=", "crit"),
        Sign("breakpoint", "◆", "*", "accent"),
        Sign("automatic breakpoint", "◇", "o", "accent"),
        Sign("break", "╳", "X", "crit"),
        Sign("miss", "▼", "!", "crit"),
        Sign("ttl miss", "▼", "!", "warn"),
        Sign("compaction", "Σ", "Z", "cat-summary"),
        Sign("model", "◊", "m", "cat-document"),
        Sign("edit", "╪", "e", "accent"),
        Sign("turn", "╵", "'", "dim"),
        Sign("bookmark", "★", "*", "accent bold"),
        Sign("note", "✎", '"', "accent bold"),
        Sign("here", "▲", "^", "accent"),
        Sign("error", "✗", "x", "crit"),
        Sign("folded", "⋮", ":", "faint"),
        Sign("ok", "✓", "v", "ok"),
        Sign("warning", "▲", "!", "warn"),
        Sign("refused", "✗", "x", "crit"),
        Sign("live", "●", "*", "ok bold"),
        Sign("held", "‖", "=", "warn bold"),
        Sign("replay", "▸", ">", "accent bold"),
        Sign("recorded", "○", "o", "dim"),
    )
}
"""Marks by the word that names them."""

GUTTER: Final[dict[str, Sign]] = {
    "read": Sign("read", "┃", "|", "read"),
    "write": Sign("write", "╏", ":", "write"),
    "fresh": Sign("fresh", "┊", ".", "fresh"),
}
"""Cache state down the left edge of a list."""

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
        Sign("in workspace", "@", "@", "cat-memory"),
    )
}
"""Content that stands elsewhere too, by how (the kinds of `analysis.content.duplicates`)."""


def of_note(note: Note) -> Span:
    """The mark of what a note is about: a bookmark's star before a note's pen."""
    return MARK["bookmark" if note.bookmark else "note"].span


def category(name: str) -> Sign:
    """The sign of a category by core's word for it (``tool_call``); unknown words get the sign of not recorded."""
    return CATEGORY[INDEX.get(name, NOT_RECORDED)]
