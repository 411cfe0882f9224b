"""Every kind of edit: its effect on a context, its payload's members, and how it is shown.

Code specific to one kind is in a table by the kind's name next to the code that needs it: `curation.apply` has a table
of the kinds that rewrite a block and one of those that insert something.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

PIN: Final = "pin"
"""Names of kinds."""
DROP: Final = "drop"
SUMMARIZE: Final = "summarize"
TRUNCATE: Final = "truncate"
REPLACE: Final = "replace"
HOIST: Final = "hoist"
"""Moves a part of a message to the end of the system prompt, or before the first message."""
EXTERNALIZE: Final = "externalize"
DEDUPLICATE: Final = "deduplicate"
STRIP: Final = "strip"
COMPACT_JSON: Final = "compact_json"
MINIMISE: Final = "minimise"
"""Shortens the descriptions in a tool definition."""
NOTE: Final = "note"
TRANSPLANT: Final = "transplant"
"""Inserts blocks that were copied from another context."""
MOVE: Final = "move"
BREAKPOINT: Final = "breakpoint"
ANNOTATE: Final = "annotate"
"""Stores a rating or remark; changes no context."""


class EditKind(Struct, frozen=True, kw_only=True):
    """One kind of edit.

    - `payload`: the members that its payload may have (their meaning is in `docs/json.md`).
    - `display_name`: its name on screen ("": `name`); `done`: the state of its blocks afterwards ("": `name`).
    - `mark`: the name of the sign on a changed block; `lead`: the word before inserted text.
    - `needs_text`: it has no effect until its payload has a text.

    A kind may have several effects:
    - `rewrites`: changes a block in place.
    - `removes`: blocks; `moves`: blocks to another place.
    - `adds`: a new block, which replaces the blocks that it removes or moves, if any.
    - `pins`: keeps policies from its blocks; `marks_cache`: sets or removes the cache breakpoints after them.
    """

    name: str
    payload: tuple[str, ...] = ()
    display_name: str = ""
    done: str = ""
    mark: str = "edit"
    lead: str = ""
    rewrites: bool = False
    removes: bool = False
    moves: bool = False
    adds: bool = False
    pins: bool = False
    marks_cache: bool = False
    needs_text: bool = False

    @property
    def takes_away(self) -> bool:
        """Whether its blocks leave their position."""
        return self.removes or self.moves

    @property
    def replaces_blocks(self) -> bool:
        """Whether it puts a text in place of its blocks.

        Then it applies only to a context with all of them.
        """
        return self.removes and self.adds

    @property
    def label(self) -> str:
        return self.display_name or self.name


KINDS: Final = {
    kind.name: kind
    for kind in (
        EditKind(name=PIN, done="pinned", pins=True),
        EditKind(name=DROP, done="dropped", mark="dropped", removes=True),
        EditKind(
            name=SUMMARIZE,
            done="summarized",
            payload=("text", "by"),
            mark="summary",
            lead="summary",
            removes=True,
            adds=True,
            needs_text=True,
        ),
        EditKind(name=TRUNCATE, done="truncated", payload=("head", "tail"), mark="truncated", rewrites=True),
        EditKind(name=REPLACE, done="replaced", payload=("text", "value"), mark="replaced", rewrites=True),
        EditKind(
            name=HOIST,
            done="hoisted",
            payload=("text", "to"),
            mark="replaced",
            rewrites=True,
            adds=True,
            needs_text=True,
        ),
        EditKind(
            name=EXTERNALIZE, done="externalized", payload=("name", "line", "parts"), mark="externalized", rewrites=True
        ),
        EditKind(name=DEDUPLICATE, done="deduplicated", payload=("text",), mark="deduplicated", rewrites=True),
        EditKind(name=STRIP, done="stripped", payload=("what", "parts", "name"), mark="dropped", rewrites=True),
        EditKind(
            name=COMPACT_JSON,
            done="compacted",
            payload=("drop", "rename", "flatten"),
            display_name="compact JSON",
            mark="truncated",
            rewrites=True,
        ),
        EditKind(
            name=MINIMISE, done="minimised", payload=("description", "properties"), mark="truncated", rewrites=True
        ),
        EditKind(name=NOTE, done="given a note", payload=("text", "where"), lead="note", adds=True, needs_text=True),
        EditKind(
            name=TRANSPLANT,
            done="put in copied blocks after",
            payload=("blocks", "dialect", "from"),
            lead="copied",
            adds=True,
        ),
        EditKind(name=MOVE, done="moved", payload=("to",), mark="replaced", moves=True, adds=True),
        EditKind(
            name=BREAKPOINT, done="given a breakpoint", payload=("on", "ttl"), mark="breakpoint", marks_cache=True
        ),
        EditKind(name=ANNOTATE, done="rated", payload=("rating", "text", "of")),
    )
}


def kind_of(name: str) -> EditKind:
    """The kind named `name`; one without effects if unknown, as for entries that revert others."""
    return KINDS.get(name) or EditKind(name=name)
