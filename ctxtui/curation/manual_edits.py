"""Edits that a person asks for and that are only made where they change something; else it is said why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.core.block import HEADER, TOOL, Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import USER, Edit, make
from ctxtui.core.edit_kinds import (
    COMPACT_JSON,
    DEDUPLICATE,
    DROP,
    EXTERNALIZE,
    HOIST,
    MINIMISE,
    MOVE,
    PIN,
    STRIP,
    SUMMARIZE,
    TRUNCATE,
)
from ctxtui.curation import edits_from_selection
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.block_text import changeable, has_words, words_of
from ctxtui.curation.apply.compact_json import values
from ctxtui.curation.apply.rewrite import rewritten
from ctxtui.curation.apply.shared_text import with_line_ends
from ctxtui.curation.context import ASSISTANT, Context, is_result
from ctxtui.curation.edits_from_selection import Keep, SummaryTerms, runs, summary_of
from ctxtui.curation.policies.builtin import compact_json, dedupe_reads, minimise_schemas
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.policies.tool_results import results
from ctxtui.curation.record_summary import says_nothing

COMPACTING: Final[Policy] = replace(
    compact_json.POLICY, defaults={key: value for key, value in compact_json.POLICY.defaults.items() if key != "least"}
)
"""The rules of `compacted`, as the policy spells them; a person decides alone whether it saves enough."""

NO_JSON: Final = "there is no JSON in it that could be made smaller"


class ManualEdits(NamedTuple):
    """The edits to stage together; `why` says why there are none."""

    edits: Sequence[Edit] = ()
    why: str = ""


def deduplicated(applied: Applied, positions: Sequence[int]) -> ManualEdits:
    """References in place of results that say what another one says, or that a later one makes outdated."""
    context = applied.context
    situation = PolicyContext(
        context=context, log=(), tokens=lambda p: len(context.items[p].block.body), count=_size, known=applied
    )
    all_results = frozenset(results(situation))
    chosen = [p for p in positions if p in all_results]
    if not chosen:
        return ManualEdits(why="only results of tools are deduplicated")
    if not any(map(situation.stands, chosen)):
        return ManualEdits(why="another edit has changed it already")
    found = list(dedupe_reads.repeats(situation, 0, frozenset(chosen)))
    if not found:
        return ManualEdits(why="no other result says the same, and no later one makes it outdated")
    shorter = [one for one in found if len(one.text) < len(context.reading(one.position).text)]
    edits = [make(DEDUPLICATE, [context.target(one.position)], {"text": one.text}) for one in shorter]
    return ManualEdits(edits, "" if edits else "it is shorter than a reference would be")


def compacted(applied: Applied, positions: Sequence[int], rules: Mapping[str, Json]) -> ManualEdits:
    """JSON made smaller by `rules` (`COMPACTING`)."""
    found = _with_json(applied, positions)
    if not found:
        return ManualEdits(why=NO_JSON)
    given = {**COMPACTING.defaults, **rules}
    edits = [make(COMPACT_JSON, [applied.context.target(p)], given) for p in found]
    return _smaller(applied, edits, "these rules make nothing of it smaller")


def no_json(applied: Applied, positions: Sequence[int]) -> str:
    """Why there is nothing to compact at `positions`; "" where there is something."""
    return "" if _with_json(applied, positions) else NO_JSON


def _with_json(applied: Applied, positions: Sequence[int]) -> list[int]:
    return [p for p in positions if (block := standing(applied, p)) is not None and _json_in(block)]


def _json_in(block: Block) -> bool:
    return has_words(block) and next(values(words_of(block)), None) is not None


def minimised(applied: Applied, positions: Sequence[int]) -> ManualEdits:
    """Tool definitions with short descriptions, as the policy makes them."""
    context = applied.context
    tools = [p for p in positions if context.items[p].block.kind == TOOL]
    if not tools:
        return ManualEdits(why="only definitions of tools are minimised")
    given = minimise_schemas.POLICY.defaults
    edits = [make(MINIMISE, [context.target(p)], given) for p in tools]
    return _smaller(applied, edits, "it is as small as it gets")


def _smaller(applied: Applied, edits: Iterable[Edit], why: str) -> ManualEdits:
    """Those of `edits`, each of one block, that make it smaller."""
    found = []
    for edit in edits:
        at = applied.context.find(edit.targets[0])
        before = standing(applied, at) if at is not None else None
        after = rewritten(before, edit) if before is not None else None
        if before is not None and after is not None and _size(after) < _size(before):
            found.append(edit)
    return ManualEdits(found, "" if found else why)


def hoistable(applied: Applied, positions: Sequence[int]) -> list[str]:
    """What the blocks at `positions` say now; empty where a part of one of them cannot stand in front."""
    texts = []
    for position in positions:
        block, place = standing(applied, position), applied.context.items[position].place
        own = place.section == "messages" and place.role not in ASSISTANT
        if block is None or not own or not has_words(block) or not words_of(block).strip():
            return []
        texts.append(words_of(block))
    return texts


def hoisted(applied: Applied, positions: Sequence[int], part: str) -> ManualEdits:
    """`part` taken out of every one of the blocks and put in front, once: at the end of the system prompt, or before
    the first message where it is a result's, which must not speak there."""
    texts = hoistable(applied, positions)
    part = with_line_ends(part, texts) if part and texts else part
    if not texts or not part.strip() or any(part not in text for text in texts):
        return ManualEdits(why="this text does not stand in the block: cut, do not rewrite")
    if not all(text.replace(part, "", 1).strip() for text in texts):
        return ManualEdits(why="that is the whole text: cut it down, or move the block")
    context = applied.context
    told = any(is_result(context.items[p].block.kind) for p in positions)
    told = told or any(context.items[p].place.role in ("tool", "function") for p in positions)
    return ManualEdits([make(HOIST, context.targets(positions), {"text": part, "to": "first" if told else "system"})])


def moved(context: Context, positions: Sequence[int], to: str) -> list[Edit]:
    """What is at `positions` moved to ``start``, ``end`` or ``system``."""
    return [make(MOVE, context.targets(positions), {"to": to})]


def moves_there(context: Context, in_force: Sequence[Edit], positions: Sequence[int], to: str) -> list[Edit]:
    """The user's moves to the place `to` that stand on all of `positions` already."""
    found: dict[int, Edit] = {}
    wanted = frozenset(positions)
    for edit in in_force:
        if edit.kind == MOVE and edit.author == USER:
            here = [at for target in edit.targets if (at := context.find(target)) in wanted]
            found.update((at, edit) for at in here if at is not None)
    there = all(at in found and found[at].params.get("to", "system") == to for at in positions)
    return list({edit.id: edit for edit in found.values()}.values()) if there else []


def standing(applied: Applied, position: int) -> Block | None:
    """What stands at a raw position under the edits; None where nothing does."""
    change = applied.changes.get(position)
    return applied.context.items[position].block if change is None else change.after


def _size(block: Block) -> int:
    return len(block.body)


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
        name = str(edit.params.get("name") or "")
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
