"""References: text moved out of the context, and the ``{{REF:name}}`` that replaces it.

Edits of the kind ``externalize`` use this. `expand` also accepts ``{{name}}``, the syntax of other programs. A model
with the tool ``recall`` (in a chat, or of ``ctxtui serve``) gets the text back. In a chat, references in the input of
other tools are expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import EXTERNALIZE
from ctxtui.curation.context import Context

REFERENCE: Final = re.compile(r"\{\{(?:REF:)?([A-Za-z0-9_.-]+)\}\}")
"""Matches ``{{REF:name}}`` and ``{{name}}``; the group is the name."""
_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")


class OutsidePart(NamedTuple):
    """A part of a block's text that is externalized: characters `start` to `stop` (exclusive).

    - `name`: its reference; "": the text cannot be recalled.
    - `line`: a one-line description; "" for none.
    - `instead`: the text that replaces the part; None: the reference and `line`.
    """

    start: int
    stop: int
    name: str
    line: str = ""
    instead: str | None = None

    @property
    def replacement(self) -> str:
        if self.instead is not None:
            return self.instead
        return f"{{{{REF:{self.name}}}}}" + (f" {self.line}" if self.line else "")


def safe_name(text: str) -> str:
    return _NAME.sub("_", text).strip("_")[:80] or "artifact"


def outside_parts(text: str, params: Mapping[str, Json]) -> list[OutsidePart]:
    """The parts of `text` that a payload externalizes: ``parts``, or all of it under ``name``.

    Parts without a name, out of order or range, or that overlap an earlier one are skipped: their text stays.
    """
    listed = params.get("parts")
    if not isinstance(listed, list):
        listed = [params]
    parts: list[OutsidePart] = []
    offset = 0
    for part in listed:
        if not isinstance(part, dict) or not isinstance(part.get("name"), str):
            continue
        start, stop = part.get("start", 0), part.get("stop", len(text))
        if isinstance(start, int) and isinstance(stop, int) and offset <= start < stop <= len(text):
            instead = part.get("instead")
            replacement = instead if isinstance(instead, str) else None
            name = "" if replacement is not None and not part["name"] else safe_name(part["name"])
            parts.append(OutsidePart(start, stop, name, str(part.get("line") or ""), replacement))
            offset = stop
    return parts


def externalize(text: str, params: Mapping[str, Json]) -> str:
    """Replace the parts that the payload names by references, or by their ``instead``."""
    pieces: list[str] = []
    offset = 0
    for piece in outside_parts(text, params):
        pieces += [text[offset : piece.start], piece.replacement]
        offset = piece.stop
    return "".join([*pieces, text[offset:]])


def artifacts(text: str, params: Mapping[str, Json]) -> dict[str, str]:
    """The content that `externalize` takes out of `text`, by name."""
    return {piece.name: text[piece.start : piece.stop] for piece in outside_parts(text, params) if piece.name}


def expand(text: str, contents: Mapping[str, str]) -> str:
    """Replace every reference to a known name by its content; others stay."""
    return REFERENCE.sub(lambda match: contents.get(match[1], match[0]), text)


def expand_value(value: Json, contents: Mapping[str, str]) -> Json:
    """Like `expand`, in every string of a JSON value (a tool's input) except object keys."""
    if isinstance(value, str):
        return expand(value, contents)
    if isinstance(value, list):
        return [expand_value(item, contents) for item in value]
    if isinstance(value, dict):
        return {key: expand_value(item, contents) for key, item in value.items()}
    return value


def externalized_content(context: Context, edits: Iterable[Edit]) -> dict[str, str]:
    """Everything that `edits` take out of `context`, by reference name, as originally recorded."""
    contents: dict[str, str] = {}
    for edit in edits:
        if edit.kind == EXTERNALIZE:
            places = (context.find(target) for target in edit.targets)
            for position in places:
                if position is not None:
                    contents |= artifacts(context.reading(position).text, edit.params)
    return contents
