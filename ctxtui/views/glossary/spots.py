"""Finds the words, signs and figures of the glossary on a screen, from its text.

A label is a word of the glossary; a head is a label above a column of figures, which tells what they count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.views.glossary.entries import Entry, Glossary
from ctxtui.views.text import cells

CONTENT_PANES: Final = frozenset(
    {"transcript", "sessions", "found", "miss", "diff", "growth", "edit-log", "repeats", "forks"}
)
"""Panes whose rows hold session texts: words there are no labels."""
INPUT_PANES: Final = frozenset({"prompt", "keys", "filter", "words", "text"})
_FIGURE: Final = re.compile(r"(?<![\w.:-])(?:[≥≈~?+−±] ?)?\$?\d+(?:,\d{3})*(?:\.\d+)?(?:[kM]| %)?(?![\w:])")
DEFAULT_LABEL_OF_PANE: Final = dict.fromkeys(
    ("context", "transcript", "heaviest", "composition", "calls", "header", "tools", "repeats"), "tokens"
)
"""Meaning of a figure without label or column head, by pane."""
_SIGN_CELLS: Final = 8
"""Cells at the left of a content row that hold signs."""
_FIGURE_CELLS: Final = 24
"""Cells at the right of a content row that hold figures."""
PANES_WITHOUT_HEADS: Final = frozenset({"composition", "bill", "growth", "tools", "diff"})
"""Panes whose title rule has no column heads."""
HOME_HEADS_PANE: Final = "heads"
HOME_LIST_PANE: Final = "sessions"
_SIGNS: Final = re.compile(r"([^\w\s$%,.'\"()/-])\1*")
ROW_RULE: Final = re.compile(r"[^╌A-Za-z0-9]{0,8}╌")
"""Start of a rule between rows, which is no session text."""
MAP_SIGNS: Final = frozenset("◆◇╳▲━╍┄")
"""Characters of the map that are signs; its raster is not."""
TITLE_END: Final = re.compile(r" {2}call \d| {2}[●‖»○] ")
"""End of the header's title, which is session text."""


class Region(NamedTuple):
    """Position and size of a pane on the screen, in cells."""

    x: int
    y: int
    width: int
    height: int


class Spot(Struct, frozen=True, kw_only=True):
    """An occurrence of `entry` on the screen: `text` at cell `x` of line `y`.

    `line` is its line in `pane`. `figure`: it is a number, and `entry` the word for what it counts.
    """

    x: int
    y: int
    width: int
    text: str
    entry: Entry
    pane: str
    line: int
    figure: bool = False


class _Match(NamedTuple):
    start: int
    end: int
    entry: Entry
    figure: bool = False


@lru_cache(maxsize=4)
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted((label for label in labels if len(label) > 1), key=len, reverse=True)
    return re.compile(r"(?<![\w/.-])(?:" + "|".join(map(re.escape, longest)) + r")(?![\w/-])")


def find_spots(lines: Sequence[str], panes: Iterable[tuple[str, Region]], glossary: Glossary) -> list[Spot]:
    """Find all spots of a screen with text `lines`, top to bottom.

    Later `panes` cover earlier ones.
    """
    spots_by_position: dict[tuple[int, int], Spot] = {}
    column_heads: list[_Match] = []
    for pane, region in panes:
        for y in range(max(0, region.y), min(region.y + region.height, len(lines))):
            covered = [key for key in spots_by_position if key[1] == y and region.x <= key[0] < region.x + region.width]
            for key in covered:
                del spots_by_position[key]
        if pane in INPUT_PANES:
            continue
        if pane == HOME_HEADS_PANE:
            text = _cells_of_line(lines[region.y], region.x, region.width) if region.y < len(lines) else ""
            column_heads = list(_find_labels(text, pane, 0, _label_pattern(tuple(glossary.labels)), glossary))
        for spot in _find_in_pane(lines, pane, region, glossary, column_heads if pane == HOME_LIST_PANE else []):
            spots_by_position[spot.x, spot.y] = spot
    return sorted(spots_by_position.values(), key=lambda spot: (spot.y, spot.x))


def _find_in_pane(
    lines: Sequence[str], pane: str, region: Region, glossary: Glossary, heads: list[_Match]
) -> Iterator[Spot]:
    pattern = _label_pattern(tuple(glossary.labels))
    for line, y in enumerate(range(region.y, min(region.y + region.height, len(lines)))):
        text = _cells_of_line(lines[y], region.x, region.width)
        labels = list(_find_labels(text, pane, line, pattern, glossary))
        figures = list(_find_figures(text, pane, line, labels, heads, glossary))
        # Heads are in the title rule, or in a line with several labels and no figure: near the top, or nothing else.
        if (line == 0 and not heads and pane not in PANES_WITHOUT_HEADS) or (
            len(labels) >= 2 and not figures and (line <= 2 or _is_head(text, pattern))
        ):
            heads = labels
        # A sign before a figure is part of it: the ? of a guess.
        signs = [item for item in labels if not any(each.start <= item.start < each.end for each in figures)]
        for item in sorted([*signs, *figures], key=lambda item: item.start):
            x = region.x + cells.width(text[: item.start])
            item_text = text[item.start : item.end]
            yield Spot(
                x=x,
                y=y,
                width=cells.width(item_text),
                text=item_text,
                entry=item.entry,
                pane=pane,
                line=line,
                figure=item.figure,
            )


def _cells_of_line(text: str, x: int, width: int) -> str:
    return cells.cut(text[cells.reach(text, 0, x) :], width)


def _find_labels(text: str, pane: str, line: int, pattern: re.Pattern[str], glossary: Glossary) -> Iterator[_Match]:
    """Yield labels and signs of a line; in a content row only the signs at its left."""
    content = pane in CONTENT_PANES and (line > 0 or pane == HOME_LIST_PANE) and not _is_head(text, pattern)
    title_end = TITLE_END.search(text) if pane == "header" else None
    if content and ROW_RULE.match(text):
        for match in pattern.finditer(text):
            entry = glossary.label(match.group(), pane)
            if entry is not None:
                # The sign of a rule has the same meaning as its label, and another one in a row.
                yield _Match(match.start(), match.end(), entry)
                return
    if not content:
        for match in pattern.finditer(text, title_end.start() if title_end is not None else 0):
            entry = glossary.label(match.group(), pane)
            if entry is not None:
                yield _Match(match.start(), match.end(), entry)
    sign_matches = _SIGNS.finditer(text, 0, _SIGN_CELLS if content else len(text))
    for match in sign_matches if line > 0 or pane == "header" else _SIGNS.finditer(text.replace("━", "─")):
        entry = glossary.glyph(match.group()[0], pane)
        if entry is not None and (pane != "map" or match.group()[0] in MAP_SIGNS or line == 0):
            yield _Match(match.start(), match.end(), entry)


def _is_head(text: str, pattern: re.Pattern[str]) -> bool:
    labels = [match.group() for match in pattern.finditer(text)]
    return len(labels) >= 3 and sum(map(len, labels)) >= 0.6 * len("".join(text.split()))


def _find_figures(
    text: str, pane: str, line: int, labels: Sequence[_Match], heads: Sequence[_Match], glossary: Glossary
) -> Iterator[_Match]:
    title_end = TITLE_END.search(text) if pane == "header" else None
    content = pane in CONTENT_PANES and (line > 0 or pane == HOME_LIST_PANE)
    first = len(text) - _FIGURE_CELLS if content else title_end.start() if title_end is not None else 0
    if pane == HOME_LIST_PANE:
        # Figures begin after the session's texts, at the first figure column.
        first = min(
            (label.start - 4 for label in heads if label.entry.word in ("call", "turn", "tokens")), default=first
        )
    sums = 0
    for match in _FIGURE.finditer(text):
        start, end = match.span()
        if start < first or any(label.start < start < label.end for label in labels):
            continue
        if pane == "header":
            sums += "$" in match.group()
            entry = glossary.label(_header_label(text, start, end, sums), pane)
        else:
            entry = _entry_of_figure(text, start, end, pane, labels, heads, glossary)
        if entry is not None:
            yield _Match(start, end, entry, True)


def _header_label(text: str, start: int, end: int, sums: int) -> str:
    """The meaning of a figure in the header; `sums` is the number of money figures up to it."""
    after = text[end:].strip()
    if "$" in text[start:end]:
        return "cost" if sums == 1 else "with subagents"
    if text[:start].rstrip().endswith("call"):
        return "call"
    if after.startswith("subagent"):
        return "with subagents"
    if text[start:end].endswith("%") or text[:start].rstrip().endswith(" of"):
        return "usable"
    return "tokens"


def _entry_of_figure(
    text: str, start: int, end: int, pane: str, labels: Sequence[_Match], heads: Sequence[_Match], glossary: Glossary
) -> Entry | None:
    """The word for a figure; None if the pane has no default.

    In this order: the head above it, a label directly before or after it, money or percent, the first label before it
    in the line, the pane's default.
    """
    if text[start] == "±":
        return glossary.glyph("±", pane)
    head = next((label.entry for label in heads if label.start < end and start < label.end), None)
    first = min(labels, key=lambda label: label.start, default=None)
    # In the context pane the category in the row says more than the head `tokens`.
    if head is not None and (pane != "context" or head.word != "tokens" or first is None):
        return head
    preceding = max((label for label in labels if label.end <= start), key=lambda label: label.end, default=None)
    following = min((label for label in labels if label.start >= end), key=lambda label: label.start, default=None)
    is_adjacent = following is not None and following.start - end <= 1
    if (
        preceding is not None
        and not text[preceding.end : start].strip()
        and not (is_adjacent and start - preceding.end > 1)
    ):
        return preceding.entry
    if following is not None and is_adjacent:
        return following.entry
    if "$" in text[start:end]:
        return glossary.label("cost", pane)
    if text[start:end].endswith("%"):
        return glossary.label("share", pane)
    if first is not None and first.end <= start:
        return first.entry
    return glossary.label(DEFAULT_LABEL_OF_PANE.get(pane, ""), pane)


def nearest_spot(spots_on_screen: Sequence[Spot], x: int, y: int) -> Spot | None:
    """The spot at a cell, else the nearest one; a line counts as four cells."""
    return min(spots_on_screen, key=lambda spot: _distance(spot, x, y), default=None)


def spot_at(spots_on_screen: Iterable[Spot], x: int, y: int) -> Spot | None:
    return next((spot for spot in spots_on_screen if spot.y == y and spot.x <= x < spot.x + spot.width), None)


def _distance(spot: Spot, x: int, y: int) -> int:
    beside = max(0, spot.x - x, x - (spot.x + spot.width - 1))
    return beside + 4 * abs(spot.y - y)


def next_spot(spots_on_screen: Sequence[Spot], here: Spot, columns: int, rows: int) -> Spot:
    """The next spot in a direction; `here` if there is none.

    `columns`: 1 is the next spot in reading order, -1 the previous one. Else `rows`: 1 is the nearest line below with a
    spot, -1 above.
    """
    if columns:
        index = spots_on_screen.index(here) + columns
        return spots_on_screen[index] if 0 <= index < len(spots_on_screen) else here
    beyond = [spot for spot in spots_on_screen if (spot.y - here.y) * rows > 0]
    if not beyond:
        return here
    line = min(beyond, key=lambda spot: abs(spot.y - here.y)).y
    return min((spot for spot in beyond if spot.y == line), key=lambda spot: abs(spot.x - here.x))
