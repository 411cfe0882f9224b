"""Skeletons: a body without its blocks, and the body rebuilt from both (law 1).

The JSON of a skeleton (`Skeleton.parts`):

- ``frame``: the body's members verbatim, null for a section (`frame.Frame`);
- ``styles``: the spellings used, the dominant one first (`style.Style` as a list); absent if the body is minified;
- ``sections``: by key, a section's deviations from the usual: ``form`` (``list`` unless ``string`` or ``raw``),
  ``text`` of a string that no style reproduces, ``gaps`` (texts before, between and after elements), ``odd``
  (`element.Odd` by element number);
- ``marks``: cache breakpoints as ``[item, inner, key, at, value]``, `item` counting over the whole request;
- ``carried``: ``[first, count]`` of items on the call's path that the body itself does not hold
  (``previous_response_id``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.core.block import HEADER, Item
from ctxtui.core.canonical import Json
from ctxtui.wire.codec.element import DEPTH, Odd, oddity, pieces_of
from ctxtui.wire.codec.element import write as write_element
from ctxtui.wire.codec.memo import Element
from ctxtui.wire.codec.style import COMPACT, Style
from ctxtui.wire.grammar import Section
from ctxtui.wire.parts import Piece, WireMarker, WirePart, marked

LIST: Final = "list"
STRING: Final = "string"
RAW: Final = "raw"

Marked = dict[int, tuple[WireMarker, ...]]
"""Cache breakpoints by item."""


def styles_of(parts: Json) -> list[Style]:
    """Read the styles of a skeleton, the dominant one first."""
    return [_style(*fields) for fields in parts.get("styles", ())] or [COMPACT]


def _style(comma: str, colon: str, indent: str, newline: str, ascii_: bool, upper: bool, swaps: Json) -> Style:
    return Style(
        comma=comma,
        colon=colon,
        indent=indent,
        newline=newline,
        ascii=ascii_,
        upper=upper,
        swaps=tuple((plain, escape) for plain, escape in swaps),
    )


def styles_json(styles: Sequence[Style]) -> list[Json]:
    """Convert styles to JSON, the inverse of `styles_of`."""
    return [[s.comma, s.colon, s.indent, s.newline, s.ascii, s.upper, [list(x) for x in s.swaps]] for s in styles]


def marks_of(parts: Json) -> Marked:
    """Read the cache breakpoints of a skeleton, by item."""
    found: Marked = {}
    for item, *mark in parts.get("marks", ()):
        found[item] = (*found.get(item, ()), WireMarker(*mark))
    return found


def marks_json(marks: Marked) -> list[Json]:
    """Convert cache breakpoints to JSON, the inverse of `marks_of`."""
    return [[item, *mark] for item in sorted(marks) for mark in marks[item]]


def section_json(
    section: Section, elements: Sequence[Element], gaps: Sequence[str], styles: list[Style]
) -> dict[str, Json]:
    """Build the skeleton of a list section; `gaps` are the texts around its elements."""
    odd: dict[str, Odd] = {}
    kinds = [part.item.block.kind for element in elements for part in element.parts]
    at = 0
    for n, element in enumerate(elements):
        size = len(element.parts)
        found = None
        if element.style != styles[0]:
            found = oddity(section, element.parts, element.raw, styles)
            element.style = None if found else styles[0]
        if found is None and size_at(section, kinds, at) != size:
            found = {"size": size}
        if found:
            odd[str(n)] = found
        at += size
    made: dict[str, Json] = {}
    if list(gaps) != usual_gaps(len(elements), styles[0]):
        made["gaps"] = list(gaps)
    if odd:
        made["odd"] = odd
    return made


def string_json(raw: str, parts: Sequence[WirePart], style: Style) -> dict[str, Json]:
    """Build the skeleton of a section that is one string."""
    made: dict[str, Json] = {"form": STRING}
    if style.write(_words(pieces_of(parts))) != raw:
        made["text"] = raw
    return made


def _words(pieces: Sequence[Piece]) -> Json:
    return pieces[-1][1]["text"]


def usual_gaps(count: int, style: Style) -> list[str]:
    """Build the texts around `count` elements as `style` writes them."""
    inner = style.gap(DEPTH)
    return ["[" + inner, *[style.comma + inner] * (count - 1), style.gap(DEPTH - 1) + "]"]


def size_at(section: Section, kinds: Sequence[str], at: int) -> int:
    """Count the blocks from `at` on that form one element, judged by their kinds."""
    end = at + 1
    if kinds[at] == HEADER:
        while end < len(kinds) and not section.bare(kinds[end]):
            end += 1
    return end - at


def group(section: Section, kinds: Sequence[str], odd: dict[str, Odd]) -> list[range]:
    """Group blocks of `kinds` into elements, as ranges of their indexes."""
    found: list[range] = []
    at = 0
    while at < len(kinds):
        size = odd.get(str(len(found)), {}).get("size") or size_at(section, kinds, at)
        found.append(range(at, min(at + size, len(kinds))))
        at = found[-1].stop
    return found


def pieces_at(items: Iterable[tuple[int, Item]], marks: Marked) -> list[Piece]:
    """Convert items (numbered over the whole request) to pieces."""
    return [(item.block.kind, marked(item.block.value(), marks.get(n, ()))) for n, item in items]


def write_section(section: Section, items: Sequence[tuple[int, Item]], parts: Json, styles: Sequence[Style]) -> str:
    """Write a section: its `items` (numbered over the whole request) under the skeleton `parts`."""
    own = parts.get("sections", {}).get(section.key, {})
    pieces = pieces_at(items, marks_of(parts))
    if own.get("form") == STRING:
        return str(own["text"]) if "text" in own else styles[0].write(_words(pieces))
    odd = own.get("odd", {})
    elements = group(section, [kind for kind, _ in pieces], odd)
    texts = [write_element(section, pieces[r.start : r.stop], odd.get(str(n)), styles) for n, r in enumerate(elements)]
    gaps = _gaps(own.get("gaps"), len(texts), styles[0])
    return "".join(part for pair in zip(gaps, [*texts, ""], strict=True) for part in pair)


def _gaps(recorded: list[str] | None, count: int, style: Style) -> list[str]:
    if not count:
        return ["[]"]
    if not recorded:
        return usual_gaps(count, style)
    if len(recorded) == count + 1:
        return recorded
    # After an edit: the most frequent separator.
    between = Counter(recorded[1:-1]).most_common(1)
    usual = usual_gaps(2, style)[1]
    return [recorded[0], *[between[0][0] if between else usual] * (count - 1), recorded[-1]]
