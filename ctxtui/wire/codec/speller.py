"""Encode the bodies of a growing conversation, reusing the text of its earlier messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ctxtui.core.block import Item
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.wire.codec.element import write
from ctxtui.wire.codec.frame import Frame
from ctxtui.wire.codec.skeleton import STRING, group_elements, read_styles, usual_gaps, write_section
from ctxtui.wire.codec.style import COMPACT
from ctxtui.wire.grammar import GRAMMARS, Section


class Speller:
    """Encodes items under `skeleton`; the result equals that of `registry.encode`.

    The skeleton must be of a minified body without cache breakpoints (else `ValueError`). It must not record unusual
    spellings, which is not checked. `speech.build_template` makes such skeletons.
    """

    def __init__(self, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        self._grammar = GRAMMARS[skeleton.dialect]
        self._frame = Frame.from_json(skeleton.parts["frame"])
        self._styles = read_styles(skeleton.parts)
        self._texts: dict[tuple[str, ...], str] = {}
        if self._styles != [COMPACT] or skeleton.parts.get("marks") or skeleton.parts.get("carried"):
            raise ValueError("only the skeleton of a minified body without markers can be spelled so")

    def body(
        self, items: Sequence[Item], marker_indexes: Collection[int] = (), marker: Mapping[str, Json] | None = None
    ) -> bytes:
        """Encode the body of `items`; those at `marker_indexes` also get the members of `marker`."""
        marked_ids = {id(items[place]) for place in marker_indexes} if marker else set()
        texts = []
        for entry in self._frame.entries:
            value = entry.raw
            if value is None:
                section = next(each for each in self._grammar.sections if each.key == entry.name)
                section_items = [item for item in items if item.place.section == section.name]
                value = self._write_section(section, section_items, marked_ids, marker or {})
            texts.append(f"{entry.before}{entry.key}{entry.colon}{value}")
        return "".join([*texts, self._frame.after]).encode("utf-8", "surrogateescape")

    def _write_section(
        self, section: Section, items: Sequence[Item], marked_ids: set[int], marker: Mapping[str, Json]
    ) -> str:
        parts = self._skeleton.parts
        if parts.get("sections", {}).get(section.key, {}).get("form") == STRING:
            return write_section(section, list(enumerate(items)), parts, self._styles)
        elements = group_elements(section, [item.block.kind for item in items], {})
        texts = []
        for element in elements:
            own = items[element.start : element.stop]
            if marked_ids and any(id(item) in marked_ids for item in own):
                texts.append(self._write_marked(section, own, marked_ids, marker))
            else:
                texts.append(self._write_element(section, own))
        gaps = usual_gaps(len(texts), COMPACT, section)
        return "".join(part for pair in zip(gaps, [*texts, ""], strict=True) for part in pair) if texts else "[]"

    def _write_marked(
        self, section: Section, items: Sequence[Item], marked_ids: set[int], marker: Mapping[str, Json]
    ) -> str:
        values = [(item.block.kind, item.block.value(), id(item) in marked_ids) for item in items]
        pieces = [(kind, {**value, **marker} if own else value) for kind, value, own in values]
        return write(section, pieces, None, self._styles)

    def _write_element(self, section: Section, items: Sequence[Item]) -> str:
        key = (section.key, *(item.block.digest for item in items))
        text = self._texts.get(key)
        if text is None:
            pieces = [(item.block.kind, item.block.value()) for item in items]
            text = self._texts[key] = write(section, pieces, None, self._styles)
        return text
