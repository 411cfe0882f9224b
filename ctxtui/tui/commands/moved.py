"""Keys from before 1.0 that now do something else or nothing, and their replacements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from textual.binding import Binding, BindingType

from ctxtui.tui.commands.command import Command

PALETTE: Final = "palette (`^p`)"

MOVED: Final[tuple[tuple[str, str, str], ...]] = (
    ("L", "policies", "`!` advice, then `L`, and palette"),
    ("H", "what would help", "`!` advice"),
    ("Q", "stage the cheapest cut", "`!` advice"),
    ("S", "same content elsewhere", "`W` blocks, tab *duplicates*"),
    ("A", "tools by server", "`W` blocks, tab *by tool*"),
    ("T", "threads", "`$` money, tab *by thread*, and palette"),
    ("Y", "forks", PALETTE),
    ("G", "growth: by category and phase", PALETTE),
    ("n", "next event", "`}`"),
    ("N", "previous event", "`{`"),
    ("}", "next turn", PALETTE),
    ("{", "previous turn", PALETTE),
    ("m", "next cache miss", "`c` misses, and palette"),
    ("M", "previous cache miss", "`c` misses, and palette"),
    (",", "previous call", "`[`"),
    (".", "next call", "`]`"),
    ("<", "first row", "`^home`, `g g`"),
    (">", "last row", "`^end`, `G`"),
    ("D", "mark call, then diff with it", PALETTE),
    ("(", "call before the compaction", PALETTE),
    ("&", "send this call again", PALETTE),
    ("O", "open or fold all blocks of the turn", PALETTE),
    ("+", "more lines of the open block", "`e`"),
    ("I", "edit text in place", PALETTE),
    ("^n", "insert a note", PALETTE),
    ("J", "jot a note on block", PALETTE),
    ("C", "jot a note on call", PALETTE),
    ("#", "bookmark call", PALETTE),
    ("'", "next note or bookmark", PALETTE),
    ('"', "previous note or bookmark", PALETTE),
    ("B", "notes and bookmarks", PALETTE),
    ("V", "widen the mark", PALETTE),
    ("i", "enter the prompt", "`g`"),
    ("^y", "hold by rules", PALETTE),
    ("^f", "fork the program from here", PALETTE),
    ("^r", "search by regular expression (in a search)", "`^x`"),
    ("f", "find text in all sessions (Home)", "`^f`"),
    ("T", "stats of all sessions (Home)", "`$`"),
    ("$", "sort by cost (Home)", PALETTE),
    ("A", "tools of all sessions (Home)", PALETTE),
    ("s", "sort by next column (Home)", "`S`"),
    ("s", "order by next column (lists)", "`S`"),
    ("S", "reverse order (Home)", PALETTE),
    ("I", "import session (Home)", PALETTE),
    ("e", "export session (Home)", "`^e`"),
    ("r", "rename session (Home)", PALETTE),
    ("#", "tag session (Home)", PALETTE),
    ("Z", "archive session (Home)", PALETTE),
    ("z", "show or hide archived sessions (Home)", PALETTE),
    ("%", "paid by subscription or by use (Home)", PALETTE),
    ("d", "delete stored session (Home)", "`del`"),
    ("space", "open or fold difference (diff)", "`⏎`"),
    ("w", "whole blocks or changes only (diff)", "`z`"),
    ("w", "lost or kept (compactions)", "`tab`"),
    ("b", "call before the compaction (compactions)", "`P`"),
    ("s", "better summary (compactions)", "`^s`"),
    ("g", "go on with a better summary (compactions)", PALETTE),
    ("a", "stage its edits (lab)", "`A`"),
    ("b", "seek the best (lab)", "`!`"),
    ("B", "place its breakpoints (lab)", "`b`"),
    ("v", "show or hide curve (lab)", "`space`"),
    ("a", "name a phase here (growth)", "`#`"),
    ("w", "all sentences, or the chart (growth)", "`tab`"),
    ("d", "calls since (stats)", "`w`"),
    ("c", "before and after a change (stats)", "`D`"),
    ("b", "rows by something else (stats)", "`tab`"),
    ("B", "rows by the one before (stats)", "`shift+tab`"),
    ("s", "order of the rows (stats)", "`S`"),
    ("t", "tools of MCP servers, or all tools (tools of all sessions)", "`tab`"),
    ("s", "order of the tools (tools of all sessions)", "`S`"),
    ("s", "order by size or place (diff)", "`S`"),
    ("v", "show the other one (duplicates)", "`o`"),
    ("s", "settings of policy (policies)", "`i`"),
    ("a", "stage all cures (findings)", "`!` advice, `A` all that is safe"),
    ("n", "next miss (misses)", "`]`"),
    ("N", "previous miss (misses)", "`[`"),
    (".", "next miss (misses)", "`]`"),
    (",", "previous miss (misses)", "`[`"),
    (".", "next compaction (compactions)", "`]`"),
    (",", "previous compaction (compactions)", "`[`"),
    ("d", "take edit back (edit log)", "`u`"),
    ("k", "keep literal in the summary (what it breaks)", "`⏎`"),
)
"""Old key, command name (with the screen, except for the inspector), replacement."""
_NAMES: Final = {
    "&": "ampersand",
    "'": "apostrophe",
    '"': "quotation_mark",
    "#": "number_sign",
    "(": "left_parenthesis",
    "+": "plus",
    ",": "comma",
    ".": "full_stop",
    "{": "left_curly_bracket",
    "}": "right_curly_bracket",
    "<": "less_than_sign",
    ">": "greater_than_sign",
}
"""Textual's key names of signs."""


def bindings(commands: Iterable[type[Command]]) -> list[BindingType]:
    """Bind old keys of the inspector to a hint about their command.

    Keys that `commands` always use are left out.
    """
    used = {key for command in commands if not command.key_needs for key in command.keys}
    keys = {old: _NAMES.get(old, old.replace("^", "ctrl+")) for old, name, _ in MOVED if not name.endswith(")")}
    return [Binding(key, f"moved({old!r})", show=False) for old, key in keys.items() if key not in used]


def describe_moved_key(key: str) -> str:
    """Return the old command of an inspector key and its replacement; "" for any other key."""
    replacements = [(name, way) for old, name, way in MOVED if old == key and not name.endswith(")")]
    return "; ".join(f"{name}: {way.replace('`', '').replace('*', '')}" for name, way in replacements)
