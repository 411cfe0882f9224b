"""Cache of decoded elements (messages, tools, system texts): agents resend their history."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ctxtui.core.block import UNREADABLE
from ctxtui.core.canonical import Json
from ctxtui.wire.codec.style import Style
from ctxtui.wire.grammar import Section
from ctxtui.wire.parts import WirePart

GENERATIONS: Final = 8
"""Number of last bodies whose elements are kept. Enough for interleaved conversations."""


class Element(Struct):
    """An element's text in the body, its parts, and a style known to reproduce it."""

    raw: str
    parts: list[WirePart]
    style: Style | None = None


class Memo:
    """Elements by section and text, for the bodies of one recording."""

    def __init__(self) -> None:
        self._elements: dict[tuple[str, str], tuple[int, Element]] = {}
        self._generation = 0

    def element(self, section: Section, raw: str, value: Json, path: str) -> Element:
        """The element of `section` for the text `raw` and its parsed `value`, at JSON `path`."""
        key = (section.key, raw)
        cached = self._elements.get(key)
        if cached is not None:
            self._elements[key] = (self._generation, cached[1])
            return cached[1]
        new_element = Element(raw, section.split(value, path))
        # An unreadable block names its path, so it cannot be reused at another.
        if all(part.item.block.kind != UNREADABLE for part in new_element.parts):
            self._elements[key] = (self._generation, new_element)
        return new_element

    def end_body(self) -> None:
        """Mark the end of a body.

        After every eighth, drop the elements that none of the last eight contained.
        """
        self._generation += 1
        if self._generation % GENERATIONS == 0:
            oldest = self._generation - GENERATIONS
            self._elements = {key: cached for key, cached in self._elements.items() if cached[0] >= oldest}
