"""What a key stages on chosen blocks, less what would change nothing or make more of them; else it is said why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Block
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP, EXTERNALIZE, PIN, STRIP, SUMMARIZE, TRUNCATE
from ctxtui.curation import edits_from_selection
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.block_text import changeable, words_of
from ctxtui.curation.apply.rewrite import rewritten
from ctxtui.curation.edits_from_selection import Keep, SummaryTerms, runs, summary_of
from ctxtui.curation.manual_edits import standing
from ctxtui.curation.record_summary import says_nothing

OUT: Final = "it is out of the context already"
SIGNED: Final = "its provider signed it: it can be left out (d), not changed"
SHORT: Final = "already short"
NO_TEXT: Final = "it has no text that could stand outside"
NOTHING_TO_STRIP: Final = "no thinking and no image in it"
NOTHING_TO_DRAW: Final = "nothing in it to draw a summary from"
LONGER: Final = "what would stand for it is longer"


_TERMS: Final = SummaryTerms()


class AskedEdits(NamedTuple):
    """The edits to stage together; `left` blocks stay as they are, because of `why`."""

    edits: Sequence[Edit] = ()
    why: str = ""
    left: int = 0


def asked(
    applied: Applied, kind: str, positions: Sequence[int], keep: Keep, terms: SummaryTerms = _TERMS
) -> AskedEdits:
    """What the key of `kind` stages on the blocks at `positions` (in order). `keep` takes the content that goes
    outside, `terms` say how a summary is made. Blocks that would not get smaller by it are `left` as they are. Raises
    `ValueError` for a kind that needs to be told more than the blocks."""
    if kind == SUMMARIZE:
        return _summaries(applied, positions, terms)
    kept: dict[str, bytes] = {}
    found, why, left = list[Edit](), "", 0
    for at in positions:
        reason = _against(applied, kind, at)
        made = [] if reason else edits_from_selection.edits(applied.context, kind, [at], kept.__setitem__)
        reason = reason or _gainless(applied, kind, at, made)
        if reason:
            why, left = why or reason, left + 1
        else:
            found += made
    for edit in found:
        name = str(edit.given.get("name") or "")
        if name in kept:
            keep(name, kept[name])
    return AskedEdits(found, why, left)


def _against(applied: Applied, kind: str, at: int) -> str:
    """Why an edit of `kind` cannot be asked for at a position; "" where it can."""
    block = standing(applied, at)
    if block is None:
        return OUT
    if kind in (TRUNCATE, EXTERNALIZE) and not changeable(block):
        return "it holds no text of its own" if block.kind == HEADER else SIGNED
    return ""


def _gainless(applied: Applied, kind: str, at: int, made: Sequence[Edit]) -> str:
    """Why what was `made` for a position gains nothing there; "" where it does, or need not."""
    if kind in (PIN, DROP):
        return ""
    reasons = {TRUNCATE: SHORT, EXTERNALIZE: NO_TEXT, STRIP: NOTHING_TO_STRIP}
    before = standing(applied, at)
    after: Block | None = before
    for edit in made:
        after = rewritten(after, edit) if after is not None else None
    if after == before or before is None:
        return reasons.get(kind, "it stays as it is")
    return LONGER if after is not None and len(words_of(after)) > len(words_of(before)) else ""


def _summaries(applied: Applied, positions: Sequence[int], terms: SummaryTerms) -> AskedEdits:
    context, found, why, left = applied.context, list[Edit](), "", 0
    for run in runs(context, positions):
        whole = range(run[0], run[-1] + 1)
        reason = "" if any(standing(applied, at) is not None for at in whole) else OUT
        edit = None if reason else summary_of(context, run, terms)
        if edit is not None:
            found.append(edit)
        else:
            reason = reason or (NOTHING_TO_DRAW if says_nothing(context, whole) else LONGER)
            why, left = why or reason, left + len(run)
    return AskedEdits(found, why, left)
