"""References: content that stands outside the context under a name, with ``{{REF:name}}`` in its place, or
``{{name}}`` where its own program calls it so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import EXTERNALIZE
from ctxtui.curation.context import Context

REFERENCE: Final = re.compile(r"\{\{(?:REF:)?([A-Za-z0-9_.-]+)\}\}")
_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")


class OutsidePart(NamedTuple):
    """A stretch of a block's words that stands outside: characters `start` to `stop`, its `name` ("": nobody asks for
    it again), one `line` that tells what it is ("" for none), and the text that stands `instead` of it (None: a
    reference and that line)."""

    start: int
    stop: int
    name: str
    line: str = ""
    instead: str | None = None

    @property
    def left(self) -> str:
        """What is left in its place."""
        if self.instead is not None:
            return self.instead
        return f"{{{{REF:{self.name}}}}}" + (f" {self.line}" if self.line else "")


def safe_name(words: str) -> str:
    """`words` as a reference's name."""
    return _NAME.sub("_", words).strip("_")[:80] or "artifact"


def pieces(text: str, given: Mapping[str, Json]) -> list[OutsidePart]:
    """The stretches that a payload takes out of `text`, in order: ``parts`` of it, or the whole under ``name``."""
    listed = given.get("parts")
    if not isinstance(listed, list):
        listed = [given]
    found: list[OutsidePart] = []
    at = 0
    for one in listed:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            continue
        start, stop = one.get("start", 0), one.get("stop", len(text))
        if isinstance(start, int) and isinstance(stop, int) and at <= start < stop <= len(text):
            instead = one.get("instead")
            said = instead if isinstance(instead, str) else None
            name = "" if said is not None and not one["name"] else safe_name(one["name"])
            found.append(OutsidePart(start, stop, name, str(one.get("line") or ""), said))
            at = stop
    return found


def externalized(text: str, given: Mapping[str, Json]) -> str:
    """`text` with references for the stretches that the payload names."""
    made: list[str] = []
    at = 0
    for piece in pieces(text, given):
        made += [text[at : piece.start], piece.left]
        at = piece.stop
    return "".join([*made, text[at:]])


def artifacts(text: str, given: Mapping[str, Json]) -> dict[str, str]:
    """The content that `externalized` takes out of `text`, by name."""
    return {piece.name: text[piece.start : piece.stop] for piece in pieces(text, given) if piece.name}


def expand(text: str, known: Mapping[str, str]) -> str:
    """`text` with every reference to a known name replaced by what stands under it; others stay as they are."""
    return REFERENCE.sub(lambda found: known.get(found[1], found[0]), text)


def expand_value(value: Json, known: Mapping[str, str]) -> Json:
    """As `expand`, in every string of a JSON value: a tool's input."""
    if isinstance(value, str):
        return expand(value, known)
    if isinstance(value, list):
        return [expand_value(item, known) for item in value]
    if isinstance(value, dict):
        return {key: expand_value(item, known) for key, item in value.items()}
    return value


def externalized_content(context: Context, edits: Iterable[Edit]) -> dict[str, str]:
    """Everything that `edits` take out of `context`, by the name that stands in its place. Originals are never changed,
    so it can always be had from them."""
    found: dict[str, str] = {}
    for edit in edits:
        if edit.kind == EXTERNALIZE:
            places = (context.find(target) for target in edit.targets)
            for position in places:
                if position is not None:
                    found |= artifacts(context.reading(position).text, edit.params)
    return found
