"""Encode the successive bodies of a growing conversation, reusing the text of elements already encoded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ctxtui.core.block import Item
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.wire.codec.element import write
from ctxtui.wire.codec.frame import Frame
from ctxtui.wire.codec.skeleton import STRING, group, styles_of, write_section
from ctxtui.wire.codec.style import COMPACT
from ctxtui.wire.grammar import GRAMMARS, Section


class Speller:
    """Encodes items under `skeleton`; the result equals `registry.encode`.

    The skeleton must be of a minified body without cache breakpoints and oddities (`speech.template` builds such).
    """

    def __init__(self, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        self._grammar = GRAMMARS[skeleton.dialect]
        self._frame = Frame.from_json(skeleton.parts["frame"])
        self._styles = styles_of(skeleton.parts)
        self._known: dict[tuple[str, ...], str] = {}
        if self._styles != [COMPACT] or skeleton.parts.get("marks") or skeleton.parts.get("carried"):
            raise ValueError("only the skeleton of a minified body without markers can be spelled so")

    def body(
        self, items: Sequence[Item], marked: Collection[int] = (), marker: Mapping[str, Json] | None = None
    ) -> bytes:
        """Encode the body of `items`; the items at positions `marked` also get the members of `marker`."""
        held = {id(items[place]) for place in marked} if marker else set()
        texts = []
        for entry in self._frame.entries:
            value = entry.raw
            if value is None:
                section = next(one for one in self._grammar.sections if one.key == entry.name)
                own = [item for item in items if item.place.section == section.name]
                value = self._section(section, own, held, marker or {})
            texts.append(f"{entry.before}{entry.key}{entry.colon}{value}")
        return "".join([*texts, self._frame.after]).encode("utf-8", "surrogateescape")

    def _section(self, section: Section, items: Sequence[Item], held: set[int], marker: Mapping[str, Json]) -> str:
        parts = self._skeleton.parts
        if parts.get("sections", {}).get(section.key, {}).get("form") == STRING:
            return write_section(section, list(enumerate(items)), parts, self._styles)
        elements = group(section, [item.block.kind for item in items], {})
        texts = []
        for one in elements:
            own = items[one.start : one.stop]
            if held and any(id(item) in held for item in own):
                texts.append(self._marked(section, own, held, marker))
            else:
                texts.append(self._element(section, own))
        return "[" + ",".join(texts) + "]"

    def _marked(self, section: Section, items: Sequence[Item], held: set[int], marker: Mapping[str, Json]) -> str:
        values = [(item.block.kind, item.block.value(), id(item) in held) for item in items]
        pieces = [(kind, {**value, **marker} if own else value) for kind, value, own in values]
        return write(section, pieces, None, self._styles)

    def _element(self, section: Section, items: Sequence[Item]) -> str:
        key = (section.key, *(item.block.digest for item in items))
        found = self._known.get(key)
        if found is None:
            pieces = [(item.block.kind, item.block.value()) for item in items]
            found = self._known[key] = write(section, pieces, None, self._styles)
        return found
