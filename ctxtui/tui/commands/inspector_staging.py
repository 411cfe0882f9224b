"""Commands of the inspector that edit the context: mark, stage, apply, take back."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation
from ctxtui.tui.commands.inspector_edit import EDITS, MARKED, PUT_IN, STAGED, UNDOABLE, OnBlocks, OnBlocksOrPutIn
from ctxtui.tui.commands.inspector_rewriting import REWRITING

__all__ = ["EDITS", "MARKED", "PUT_IN", "STAGED", "STAGING", "UNDOABLE", "Summarize"]


class Mark(OnBlocks):
    """Mark the block, or unmark it, and go on to the next: one key then acts on all that are marked."""

    name, action, keys, label = "mark block", "mark", ("space",), "mark"


class MarkRange(OnBlocks):
    """Mark everything from the block marked last to this one."""

    name, action, keys = "mark range up to here", "mark_range", ("v",)


class Widen(OnBlocks):
    """Widen the mark: from the block to its message, its turn, all results of its tool, its category."""

    name, action, keys = "widen the mark", "widen", ("V",)


class Pin(OnBlocks):
    """Pin: no policy changes this block. Again: unpin."""

    name, action, keys, label = "pin block", "stage('pin')", ("p",), "pin"


class Drop(OnBlocksOrPutIn):
    """Leave it out of the context, with what the provider would refuse without it. Again, or on what an edit puts in:
    take it back."""

    name, action, keys, label = "drop block", "stage('drop')", ("d",), "drop"


class Cut(OnBlocks):
    """Keep the head and the tail of a long text; the cut is named in it."""

    name, action, keys, label, short = "truncate block", "stage('truncate')", ("t",), "truncate", "cut"


class Summarize(OnBlocks):
    """Put one summary in place of what is marked, drawn from its own words; then `R` on it edits it."""

    name, action, keys, label, short = "summarize marked blocks", "stage('summarize')", ("s",), "summarize", "sum"


class Externalize(OnBlocks):
    """Keep the content outside and leave a reference with one line of description."""

    name, action, keys, label, short = "externalize block", "stage('externalize')", ("x",), "externalize", "ext"


class Breakpoint(OnBlocks):
    """A cache breakpoint behind this block: 5 minutes, an hour, none."""

    name, action, keys, label, short = "cache breakpoint", "breakpoint", ("b",), "breakpoint", "brk"


class Strip(OnBlocks):
    """Take thinking or images out of what is marked."""

    name, action = "strip thinking or images", "stage('strip')"


class Note(OnBlocks):
    """Put a note of yours in behind this block."""

    name, action, keys = "insert a note", "note", ("ctrl+n",)


class Apply(Command):
    """Apply what is staged: the next request, forks and exports leave with it."""

    name, action, keys, label, group = "apply staged edits", "apply", ("a",), "apply", "editing the context"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """While something is staged."""
        return STAGED in at.facts


class Discard(Apply):
    """Take back everything that is only staged. `u` brings it back."""

    name, action, keys, label = "discard staged edits", "discard", ("X",), "discard"


class When(Apply):
    """Choose when to apply: now, when the cache has expired, at the next miss that comes anyway."""

    name, action, keys, label = "when to apply", "when", ("w",), "when"


class Breaks(Apply):
    """What staged edits break: literals that later blocks quote, literals that a summary lost; `enter` keeps one."""

    name, action, keys, label = "what it breaks", "breaks", ("l",), "breaks"


class RateGood(OnBlocksOrPutIn):
    """Rate the summary that stands for this block as good."""

    name, action = "rate summary: good", "rate('good')"


class RatePoor(OnBlocksOrPutIn):
    """Rate the summary that stands for this block as poor."""

    name, action = "rate summary: poor", "rate('poor')"


class Foretell(Command):
    """What the next call of this context will read, write and cost; again: what this call was charged."""

    name, action, keys, group = "next call or this call", "foretell", ("K",), "calls"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Where the context is known."""
        return EDITS in at.facts


class Undo(Command):
    """Undo the last action on the context, also one of an earlier day."""

    name, action, keys, label, group = "undo edit", "undo", ("u",), "undo", "editing the context"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With something to undo."""
        return UNDOABLE in at.facts


class Redo(Undo):
    """Bring back what was undone last."""

    name, action, keys, label = "redo edit", "redo", ("ctrl+r",), ""


class AllRows(Command):
    """Show all rows, or only what the edits touch."""

    name, action, keys, label, group = "all rows or edits only", "all_rows", ("z",), "all rows", "editing the context"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """While edits are shown."""
        return STAGED in at.facts


class EditLog(Undo):
    """Every edit with its author and time; single ones can be taken back."""

    name, action, keys, label = "edit log", "edit_log", ("E",), "edit log"


class Policies(Command):
    """Policies, with what each would do to this context: its edits, the tokens that it frees, the price at the cheapest
    moment. Enter stages one; nothing leaves before you apply it."""

    name, action, keys, label, group = "policies", "policies", ("L",), "policies", "editing the context"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Where the context can be edited."""
        return EDITS in at.facts


class Export(Policies):
    """Write this context as the applied edits leave it: a request body, a session that its tool resumes, ctxtui's own
    format, the edits themselves; or copy the request as a curl command. The recording stays as it is."""

    name, action, keys, label = "write context to a file", "export", ("ctrl+e",), "export"


STAGING: tuple[type[Command], ...] = (
    Mark, Pin, Drop, Cut, Summarize, Externalize, Breakpoint, Apply, When, Discard, Undo, AllRows, EditLog, MarkRange,
    Widen, *REWRITING, Note, Strip, Redo, Foretell, Policies, Export,
    Breaks, RateGood, RatePoor,
)  # fmt: skip
"""The commands that edit the context, in the order of their use."""
