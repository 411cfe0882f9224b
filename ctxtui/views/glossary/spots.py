"""Where on a screen a word, a sign or a figure of the glossary stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.views.glossary.entries import Entry, Glossary
from ctxtui.views.text import cells

CONTENT: Final = frozenset(
    {"transcript", "sessions", "found", "miss", "diff", "growth", "edit-log", "repeats", "forks"}
)
"""Panes whose rows hold texts of the session: a word there is no label. Their rules, heads, signs and figures count."""
NO_WORDS: Final = frozenset({"prompt", "keys", "filter", "words", "text"})
"""Panes that hold keys and what is typed: nothing there is a label."""
_FIGURE: Final = re.compile(r"(?<![\w.:-])(?:[≥≈~?+−±] ?)?\$?\d+(?:,\d{3})*(?:\.\d+)?(?:[kM]| %)?(?![\w:])")
_OF_PANE: Final = {"context": "tokens", "transcript": "tokens", "heaviest": "tokens", "composition": "tokens",
                   "calls": "tokens", "header": "tokens", "tools": "tokens", "repeats": "tokens"}  # fmt: skip
"""What a figure is that has neither a label nor a head, by its pane."""
_SIGN_CELLS: Final = 8
"""Cells at the left of a content row in which signs stand."""
_FIGURE_CELLS: Final = 24
"""Cells at the right of a content row in which figures stand."""
NO_HEADS: Final = frozenset({"composition", "bill", "growth", "tools", "diff"})
"""Panes whose rule has no heads of columns."""
_HEADS: Final = "heads"
_UNDER_HEADS: Final = "sessions"
"""Home's list, whose heads are a pane of their own."""
_SIGNS: Final = re.compile(r"([^\w\s$%,.'\"()/-])\1*")
_BETWEEN: Final = re.compile(r"[^╌A-Za-z0-9]{0,8}╌")
"""How a rule between rows begins, which is no text of the session."""
_ON_MAP: Final = frozenset("◆◇╳▲━╍┄")
"""What of the map is a sign: its raster is not."""
_BEHIND_TITLE: Final = re.compile(r" {2}call \d| {2}[●‖»○] ")
"""Where the header's title ends, which is a text of the session."""


class Region(NamedTuple):
    """A pane's place on the screen, in cells."""

    x: int
    y: int
    width: int
    height: int


class Spot(Struct, frozen=True, kw_only=True):
    """`text` of `entry` at cell `x` of line `y`, `width` cells, in line `line` of `pane`. A `figure` is explained by
    what it counts."""

    x: int
    y: int
    width: int
    text: str
    entry: Entry
    pane: str
    line: int
    figure: bool = False


class _Found(NamedTuple):
    start: int
    end: int
    entry: Entry
    figure: bool = False


@lru_cache(maxsize=4)
def _words(labels: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted((label for label in labels if len(label) > 1), key=len, reverse=True)
    return re.compile(r"(?<![\w/.-])(?:" + "|".join(map(re.escape, longest)) + r")(?![\w/-])")


def spots(lines: Sequence[str], panes: Iterable[tuple[str, Region]], glossary: Glossary) -> list[Spot]:
    """All spots of a screen whose text is `lines`, from top to bottom. `panes` are the names and places of its panes;
    of two that overlap the later one is on top."""
    found: dict[tuple[int, int], Spot] = {}
    above: list[_Found] = []
    for pane, region in panes:
        for y in range(max(0, region.y), min(region.y + region.height, len(lines))):
            covered = [key for key in found if key[1] == y and region.x <= key[0] < region.x + region.width]
            for key in covered:
                del found[key]
        if pane in NO_WORDS:
            continue
        if pane == _HEADS:
            text = _part(lines[region.y], region.x, region.width) if region.y < len(lines) else ""
            above = list(_labels(text, pane, 0, _words(tuple(glossary.labels)), glossary))
        for spot in _in_pane(lines, pane, region, glossary, above if pane == _UNDER_HEADS else []):
            found[spot.x, spot.y] = spot
    return sorted(found.values(), key=lambda spot: (spot.y, spot.x))


def _in_pane(
    lines: Sequence[str], pane: str, region: Region, glossary: Glossary, heads: list[_Found]
) -> Iterator[Spot]:
    pattern = _words(tuple(glossary.labels))
    for line, y in enumerate(range(region.y, min(region.y + region.height, len(lines)))):
        text = _part(lines[y], region.x, region.width)
        labels = list(_labels(text, pane, line, pattern, glossary))
        figures = list(_figures(text, pane, line, labels, heads, glossary))
        if (line == 0 and not heads and pane not in NO_HEADS) or (
            len(labels) >= 2 and not figures and (line <= 2 or _is_head(text, pattern))
        ):
            heads = labels
        # A sign before a figure belongs to it: the ? of a guess.
        signs = [one for one in labels if not any(each.start <= one.start < each.end for each in figures)]
        for one in sorted([*signs, *figures], key=lambda one: one.start):
            x = region.x + cells.width(text[: one.start])
            shown = text[one.start : one.end]
            yield Spot(
                x=x,
                y=y,
                width=cells.width(shown),
                text=shown,
                entry=one.entry,
                pane=pane,
                line=line,
                figure=one.figure,
            )


def _part(text: str, x: int, width: int) -> str:
    """The text in so many cells of a line, from cell `x` on."""
    return cells.cut(text[len(cells.cut(text, x)) :] if cells.width(text) == len(text) else _behind(text, x), width)


def _behind(text: str, x: int) -> str:
    at = 0
    for index, char in enumerate(text):
        if at >= x:
            return text[index:]
        at += cells.width(char)
    return ""


def _labels(text: str, pane: str, line: int, pattern: re.Pattern[str], glossary: Glossary) -> Iterator[_Found]:
    """Labels and signs of a line. In a row of content only signs at its left are any."""
    content = pane in CONTENT and (line > 0 or pane == _UNDER_HEADS) and not _is_head(text, pattern)
    begin = _BEHIND_TITLE.search(text) if pane == "header" else None
    if content and _BETWEEN.match(text):
        for match in pattern.finditer(text):
            entry = glossary.label(match.group(), pane)
            if entry is not None:
                # Its sign stands for the same, and means something else at a row.
                yield _Found(match.start(), match.end(), entry)
                return
    if not content:
        for match in pattern.finditer(text, begin.start() if begin is not None else 0):
            entry = glossary.label(match.group(), pane)
            if entry is not None:
                yield _Found(match.start(), match.end(), entry)
    seen = _SIGNS.finditer(text, 0, _SIGN_CELLS if content else len(text))
    for match in seen if line > 0 or pane == "header" else _SIGNS.finditer(text.replace("━", "─")):
        entry = glossary.glyph(match.group()[0], pane)
        if entry is not None and (pane != "map" or match.group()[0] in _ON_MAP or line == 0):
            yield _Found(match.start(), match.end(), entry)


def _is_head(text: str, pattern: re.Pattern[str]) -> bool:
    """Whether a line is heads of columns: nothing but labels."""
    labels = [match.group() for match in pattern.finditer(text)]
    return len(labels) >= 3 and sum(map(len, labels)) >= 0.6 * len("".join(text.split()))


def _figures(
    text: str, pane: str, line: int, labels: Sequence[_Found], heads: Sequence[_Found], glossary: Glossary
) -> Iterator[_Found]:
    """Figures of a line, each with what it counts: what stands before it, over it, or what the pane counts."""
    begin = _BEHIND_TITLE.search(text) if pane == "header" else None
    content = pane in CONTENT and (line > 0 or pane == _UNDER_HEADS)
    first = len(text) - _FIGURE_CELLS if content else begin.start() if begin is not None else 0
    if pane == _UNDER_HEADS:
        # Behind the texts of a session: its first figure's column.
        first = min((one.start - 4 for one in heads if one.entry.word in ("call", "turn", "tokens")), default=first)
    sums = 0
    for match in _FIGURE.finditer(text):
        start, end = match.span()
        if start < first or any(one.start < start < one.end for one in labels):
            continue
        if pane == "header":
            sums += "$" in match.group()
            entry = glossary.label(_in_header(text, start, end, sums), pane)
        else:
            entry = _counted(text, start, end, pane, labels, heads, glossary)
        if entry is not None:
            yield _Found(start, end, entry, True)


def _in_header(text: str, start: int, end: int, sums: int) -> str:
    """What a figure of the header counts; `sums` of money stand up to it."""
    behind = text[end:].strip()
    if "$" in text[start:end]:
        return "cost" if sums == 1 else "with subagents"
    if text[:start].rstrip().endswith("call"):
        return "call"
    if behind.startswith("subagent"):
        return "with subagents"
    if text[start:end].endswith("%") or text[:start].rstrip().endswith(" of"):
        return "usable"
    return "tokens"


def _counted(
    text: str, start: int, end: int, pane: str, labels: Sequence[_Found], heads: Sequence[_Found], glossary: Glossary
) -> Entry | None:
    if text[start] == "±":
        return glossary.glyph("±", pane)
    over = next((one.entry for one in heads if one.start < end and start < one.end), None)
    first = min(labels, key=lambda one: one.start, default=None)
    if over is not None and (pane != "context" or over.word != "tokens" or first is None):
        return over
    before = max((one for one in labels if one.end <= start), key=lambda one: one.end, default=None)
    behind = min((one for one in labels if one.start >= end), key=lambda one: one.start, default=None)
    close = behind is not None and behind.start - end <= 1
    if before is not None and not text[before.end : start].strip() and not (close and start - before.end > 1):
        return before.entry
    if behind is not None and close:
        return behind.entry
    if "$" in text[start:end]:
        return glossary.label("cost", pane)
    if text[start:end].endswith("%"):
        return glossary.label("share", pane)
    if first is not None and first.end <= start:
        return first.entry
    return glossary.label(_OF_PANE.get(pane, ""), pane)


def nearest(found: Sequence[Spot], x: int, y: int) -> Spot | None:
    """The spot at a cell, else the one nearest to it; lines count four times as much as cells."""
    return min(found, key=lambda spot: _distance(spot, x, y), default=None)


def at(found: Iterable[Spot], x: int, y: int) -> Spot | None:
    """The spot at a cell."""
    return next((spot for spot in found if spot.y == y and spot.x <= x < spot.x + spot.width), None)


def _distance(spot: Spot, x: int, y: int) -> int:
    beside = max(0, spot.x - x, x - (spot.x + spot.width - 1))
    return beside + 4 * abs(spot.y - y)


def towards(found: Sequence[Spot], here: Spot, columns: int, rows: int) -> Spot:
    """The next spot in a direction; `here` where there is none."""
    if columns:
        place = found.index(here) + columns
        return found[place] if 0 <= place < len(found) else here
    beyond = [spot for spot in found if (spot.y - here.y) * rows > 0]
    if not beyond:
        return here
    line = min(beyond, key=lambda spot: abs(spot.y - here.y)).y
    return min((spot for spot in beyond if spot.y == line), key=lambda spot: abs(spot.x - here.x))
