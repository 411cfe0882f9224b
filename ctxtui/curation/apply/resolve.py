"""From what edits want to what is done: removals closed, pins respected, thinking kept whole, news placed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ctxtui.core.block import HEADER
from ctxtui.core.edit import REPAIR
from ctxtui.core.edit_kinds import NOTE
from ctxtui.curation.apply import marker_limits, thinking
from ctxtui.curation.apply.applied import Applied, HeldEdit, Insert, Insertion
from ctxtui.curation.apply.closure import BOUND, Closure, Gone
from ctxtui.curation.apply.insertion import FRONT, Left, placed
from ctxtui.curation.apply.requested import RequestedFates, keep_tools
from ctxtui.curation.apply.taken_along import changed, repair
from ctxtui.curation.context import Context
from ctxtui.curation.provider_rules import ProviderRules

OPENING = "(Earlier messages were removed.)"
"""Put in front where the assistant would speak first, which the provider refuses."""
NOTHING_LEFT = "no message would be left"
PARTED = "(Messages were removed here.)"
"""Put between two answers that would become one, where the later one's thinking must stay as it is."""
UNSETTLED = "there is no place where it could stand"
_ROUNDS = 4
"""How often closing and placing may disagree; they nearly always settle at the second time."""


def settled(context: Context, wanted: RequestedFates, rules: ProviderRules, pinned: frozenset[int]) -> Applied:
    """What is done of `wanted`."""
    keep_tools(context, wanted)
    _let_covered_go(wanted)
    while True:
        closed = _closed(context, wanted, rules)
        clash = closed.unsettled or _clash(wanted, closed.closure, pinned)
        if clash is None and rules.keeps_last_thinking and closed.broken is None:
            # A repair takes out what cannot stay as it is.
            own = {p for p, (_, edit) in wanted.fate.items() if edit.author != REPAIR}
            clash = thinking.latest(context, own, closed.closure, closed.inserts)
        if clash is None:
            return _applied(context, wanted, closed, rules, pinned)
        if clash.cause in wanted.fate and clash is not closed.unsettled:
            wanted.hold(clash.cause, clash.why)
        elif not _hold_new(wanted, closed.inserts, clash):
            return Applied(
                context,
                held=_all_held(wanted, clash.why),
                asleep=tuple(wanted.asleep),
                pinned=pinned,
                length=len(context),
            )


def _let_covered_go(wanted: RequestedFates) -> None:
    """A summary whose blocks all went into a later edit (a summary of summaries) is not said any more."""
    standing = {edit.id for _, edit in wanted.fate.values()}
    wanted.new = [wish for wish in wanted.new if not wish.edit.does.stands_for or wish.edit.id in standing]


class _Closed(NamedTuple):
    closure: Closure
    inserts: list[Insert]
    broken: int | None
    unsettled: Gone | None = None


def _closed(context: Context, wanted: RequestedFates, rules: ProviderRules) -> _Closed:
    """Removals closed and news placed. Each depends on the other: a message that goes makes room for what is new, and
    what is new may keep the end of the request the user's."""
    out = sorted(position for position, (block, _) in wanted.fate.items() if block is None)
    spoken: frozenset[int] = frozenset()
    for _ in range(_ROUNDS):
        closure = Closure(context, rules, spoken)
        closure.remove(out)
        inserts = _inserts(context, wanted.new, closure, rules)
        broken = thinking.breaks_at(context, wanted.fate, closure, inserts) if rules.binds_thinking else None
        if broken is not None and not rules.drops_blocks:
            later = [p for p in context.thinking if p >= broken and p not in closure.removed]
            closure.remove(later, Gone(broken, BOUND))
            inserts = _inserts(context, wanted.new, closure, rules)
        now = frozenset(one.position for one in inserts if _speaks(one))
        if now == spoken or not closure.heeds_spoken:
            return _Closed(closure, inserts, broken)
        spoken = now
    return _Closed(closure, inserts, broken, Gone(max(spoken, default=-1), UNSETTLED))


def _speaks(one: Insert) -> bool:
    """Whether an insertion is a message of the user's."""
    return one.items[0].block.kind == HEADER and one.items[0].place.role == "user"


def _hold_new(wanted: RequestedFates, inserts: list[Insert], clash: Gone) -> bool:
    """Hold the edit of the insertion that a clash comes from; whether there is one."""
    guilty = next((i.edit for i in inserts if i.position == clash.cause and i.edit.author != REPAIR), None)
    if guilty is None:
        return False
    wanted.held.append(HeldEdit(guilty, -1, clash.why))
    wanted.forget(guilty)
    return True


def _inserts(context: Context, new: list[Insertion], closure: Closure, rules: ProviderRules) -> list[Insert]:
    """What is new in prompt order, with what must be said besides so that the provider takes it."""
    left = Left(context, closure.removed)
    made = [placed(context, wish, left) for wish in new]
    if rules.starts_with_user and (wish := _opening(context, closure)) is not None:
        first = placed(context, wish, left)
        made = made if any(one.position <= first.position and _speaks(one) for one in made) else [first, *made]
    if rules.keeps_last_thinking and (parted := thinking.joined(context, closure, made)) is not None:
        wish = Insertion(parted.cause, repair(NOTE, context, [], "", PARTED), PARTED, "meta")
        made = [*made, placed(context, wish, Left(context))]
    # What goes into a message comes before a new message at the same place.
    return sorted(made, key=lambda one: (one.position, one.items[0].block.kind == HEADER))


def _kept_from(context: Context, closure: Closure) -> int:
    """The first message of which something is left; the number of messages where there is none."""
    messages = context.messages
    return next((n for n, message in enumerate(messages) if not closure.gone(message)), len(messages))


def _opening(context: Context, closure: Closure) -> Insertion | None:
    """The message that opens the conversation where the user's first ones are out."""
    messages = context.messages
    began = bool(messages) and (messages[0].role == "user" or _is_compaction(context, 0))
    if not began or not closure.removed:
        return None
    first = _kept_from(context, closure)
    if first == len(messages) or messages[first].role == "user" or _is_compaction(context, first):
        return None
    cause = next(iter(closure.removed.values())).cause
    return Insertion(FRONT, repair(NOTE, context, [], cause, OPENING), OPENING, "meta")


def _is_compaction(context: Context, index: int) -> bool:
    message = context.messages[index]
    return message.headed and context.items[message.start + 1].block.kind == "compaction"


def _clash(wanted: RequestedFates, closure: Closure, pinned: frozenset[int]) -> Gone | None:
    """A pinned block that something else would take along: the position whose edit must be held, and why. All but the
    last such edit are held at once."""
    found: list[Gone] = []
    for position in sorted(pinned):
        gone = closure.removed.get(position)
        if gone is not None and gone.why:
            found.append(Gone(gone.cause, f"a pinned block would go with it: {gone.why}"))
    for one in found[:-1]:
        if one.cause in wanted.fate and one.cause != found[-1].cause:
            wanted.hold(one.cause, one.why)
    return found[-1] if found else None


def _all_held(wanted: RequestedFates, why: str) -> tuple[HeldEdit, ...]:
    edits = {edit.id: edit for _, edit in wanted.fate.values()} | {wish.edit.id: wish.edit for wish in wanted.new}
    return (*wanted.held, *(HeldEdit(edit, -1, why) for edit in edits.values()))


def _applied(
    context: Context, wanted: RequestedFates, closed: _Closed, rules: ProviderRules, pinned: frozenset[int]
) -> Applied:
    closure, inserts = closed.closure, closed.inserts
    changes, repairs = changed(context, wanted.fate, closure, inserts)
    plain = Applied(context, changes=changes, inserts=tuple(inserts), length=len(context))
    marks, refused_marks = marker_limits.chosen(plain, wanted.marks)
    return replace(
        plain,
        marks=marks,
        pinned=pinned,
        asleep=tuple(wanted.asleep),
        held=(*wanted.held, *refused_marks),
        repairs=repairs,
        refused=NOTHING_LEFT if _is_empty(context, closure, inserts) else "",
        withheld=_withheld(context, closed, rules),
    )


def _is_empty(context: Context, closure: Closure, inserts: Iterable[Insert]) -> bool:
    """Whether no message would be left."""
    if not closure.removed or not context.messages or _kept_from(context, closure) < len(context.messages):
        return False
    return not any(item.place.role == "user" for one in inserts for item in one.items)


def _withheld(context: Context, closed: _Closed, rules: ProviderRules) -> tuple[int, ...]:
    if closed.broken is None or not rules.drops_blocks:
        return ()
    later = (p for p in context.thinking if closed.broken is not None and p >= closed.broken)
    return tuple(p for p in later if p not in closed.closure.removed)
