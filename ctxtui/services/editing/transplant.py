"""Copies blocks of a recorded session into the context of another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.core.call import Fidelity
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.transplant import CopiedBlocks, copy_blocks, put_in
from ctxtui.services.editing.named_blocks import find_block
from ctxtui.services.editing.session_end import next_head

RANGE: Final = ".."


def copy_named(session: Session, number: int, names: Iterable[str]) -> CopiedBlocks:
    """Copy the blocks called `names` of call `number` of the main thread, its answer included.

    A name is the start of a digest, ``FIRST..LAST`` all blocks from one to the other. Raises `NotFound`, `Several`.
    """
    chosen = choose_call(session, number=number)
    context = Context.of_call(session.tree, chosen.call, next_head(session, chosen))
    positions: set[int] = set()
    for name in names:
        first, _, last = name.partition(RANGE)
        ends = find_block(context, first), find_block(context, last or first)
        positions |= {*range(min(ends), max(ends) + 1)}
    return copy_blocks(context, positions, f"{session.about.id or session.about.title}@{chosen.number}")


def transplant(
    session: Session, chosen: ChosenCall, edits: Sequence[Edit], copied: CopiedBlocks, behind: str, *, after: bool
) -> tuple[Edit, tuple[str, ...]]:
    """Make the edit that puts `copied` behind the block `behind` ("": the last) of a context.

    The context is that of the `chosen` call under `edits`, with `after` the one after the call's answer. The second
    result names what could not be copied or translated. Raises `CtxtuiError` if nothing could.
    """
    context = Context.of_call(session.tree, chosen.call, next_head(session, chosen) if after else chosen.call.sent_head)
    position = find_block(context, behind) if behind else len(context) - 1
    is_whole = chosen.call.fidelity == Fidelity.WIRE
    insertion = put_in(apply(context, edits), position, copied, is_whole=is_whole)
    if insertion.edit is None:
        raise CtxtuiError(
            insertion.why, place="--from", way_out="`ctxtui edits stage SESSION --blocks` names the others"
        )
    return insertion.edit, (*copied.left_out, *insertion.lost)
