"""What edits ask for, before it is known what of it can be had."""

from __future__ import annotations

from msgspec import Struct, field

from ctxtui.core.block import Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import Asleep, HeldEdit, Insertion
from ctxtui.curation.context import Context

FORCED = "tool_choice names this tool"
LAST_TOOL = "calls are in the context: one tool must stay defined"


class RequestedFates(Struct, kw_only=True):
    """What edits ask for, by position: `fate` is the block that shall stand there (None: none) and the edit."""

    fate: dict[int, tuple[Block | None, Edit]] = field(default_factory=dict)
    new: list[Insertion] = field(default_factory=list)
    marks: list[tuple[int, Edit]] = field(default_factory=list)
    pinned: set[int] = field(default_factory=set)
    asleep: list[Asleep] = field(default_factory=list)
    held: list[HeldEdit] = field(default_factory=list)

    def put(self, position: int, block: Block | None, edit: Edit) -> None:
        """Ask for `block` at `position`."""
        self.fate[position] = block, edit

    def stay(self, position: int, block: Block) -> None:
        """Where an earlier edit moved the `block` at `position` elsewhere: let it stay."""
        _, before = self.fate.get(position, (None, None))
        if before is not None and before.does.moves:
            there = next((wish for wish in self.new if wish.edit.id == before.id and wish.block == block), None)
            self.new = [wish for wish in self.new if wish is not there]
            del self.fate[position]

    def hold(self, position: int, why: str) -> None:
        """Take back what was asked for `position`; an edit that puts something in its place is held as a whole."""
        _, edit = self.fate.pop(position)
        self.held.append(HeldEdit(edit, position, why))
        if edit.does.adds and edit.does.takes_away:
            self.forget(edit)

    def forget(self, edit: Edit) -> None:
        """Take back everything that `edit` asked for."""
        self.fate = {p: fate for p, fate in self.fate.items() if fate[1].id != edit.id}
        self.new = [wish for wish in self.new if wish.edit.id != edit.id]


def keep_tools(context: Context, wanted: RequestedFates) -> None:
    """Hold what would take out a tool that the request forces, or the last one while there are calls."""
    tools = context.tools
    out = [p for p in tools if p in wanted.fate and wanted.fate[p][0] is None]
    if not out:
        return
    forced = _forced(context.params.get("tool_choice"))
    for position in out:
        if forced and context.reading(position).name == forced:
            wanted.hold(position, FORCED)
    if context.partners and all(p in wanted.fate and wanted.fate[p][0] is None for p in tools):
        wanted.hold(tools[-1], LAST_TOOL)


def _forced(choice: Json) -> str:
    if not isinstance(choice, dict):
        return ""
    inner = choice.get("function", choice)
    name = inner.get("name") if isinstance(inner, dict) else ""
    return name if isinstance(name, str) else ""
