"""Further edits applied to a context whose edits so far are applied already: what a policy adds to a long session is
worked out from what is there, not all of it anew.

Only where it is certain to come to the same. Pins and what is taken back, breakpoints, definitions of tools, thinking
that is bound to what stands before it, and whatever hangs on messages far away: for those there is no shorter way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import islice
from typing import Final

from ctxtui.core.block import TOOL
from ctxtui.core.edit import REPAIR, Edit, in_force
from ctxtui.core.edit_kinds import HOIST, KINDS
from ctxtui.curation.apply import thinking
from ctxtui.curation.apply.applied import Applied, Grown, Insert, Insertion, Settled
from ctxtui.curation.apply.apply import apply, ask
from ctxtui.curation.apply.closure import DANGLING, Closure, Gone
from ctxtui.curation.apply.insertion import placed
from ctxtui.curation.apply.requested import RequestedFates
from ctxtui.curation.apply.resolve import NOTHING_LEFT, is_empty, kept_from, with_repairs
from ctxtui.curation.apply.taken_along import Fate, binds, changed, is_local, listed, taken_along
from ctxtui.curation.context import ASSISTANT, Context, Message
from ctxtui.curation.provider_rules import ProviderRules, rules_for

_NEVER_FOLLOW: Final = {HOIST, *(name for name, kind in KINDS.items() if kind.pins or kind.moves or kind.marks_cache)}
"""Kinds of edits that cannot be added to what is applied."""


def apply_further(known: Applied, log: Sequence[Edit], more: Sequence[Edit], rules: ProviderRules | None) -> Applied:
    """The context of `known`, which is what `log` makes of it, under `more` edits as well: as `apply` of them all."""
    return continued(known, more, rules) or apply(known.context, (*log, *more), rules)


def continued(known: Applied, more: Sequence[Edit], rules: ProviderRules | None = None) -> Applied | None:
    """`known`, which holds for its context as that is now, under `more` edits; None where all must be applied anew."""
    before, context = known.settled, known.context
    rules = rules or rules_for(context.dialect)
    if before is None or known.refused or known.length != len(context):
        return None
    if binds(context, rules) or not _may_follow(more) or before.awaited.came(context, before.length):
        return None
    # What further edits wait for is rare: then all are applied, which finds out what that is.
    if not all(context.has(target) for edit in more for target in edit.targets):
        return None
    wanted = RequestedFates(fate=dict(before.fate))
    for edit in more:
        ask(context, wanted, edit, ())
    if wanted.marks or before.marks or any(wish.at < 0 for wish in wanted.new):
        return None
    new = {at for edit in more for target in edit.targets if (at := context.find(target)) is not None}
    new.update(part for at in [*new] for part in _parts(context, at))
    asked = {at for at in new if at in wanted.fate and wanted.fate[at] is not before.fate.get(at)}
    again = {at for at in asked if at in before.removed}
    if not _can_ask(context, wanted.fate, before, asked, again):
        return None
    closure = Closure(context, rules, (), before.removed)
    closure.remove(sorted(at for at in asked - again if wanted.fate[at][0] is None))
    # What went before stands first in what went.
    out = {*islice(closure.removed, len(before.removed), None)}
    if not _is_settled(context, closure, before, out, rules) or not _dangles_at_once(context, closure, out):
        return None
    kept = _covered_gone(before, wanted.fate, again)
    touched = {context.message_of[at] for at in out}
    made = _placed_again(context, kept, closure, touched)
    # A summary whose blocks all went into a later edit is not said any more.
    standing = {wanted.fate[at][1].id for at in asked}
    new_ones = (wish for wish in wanted.new if not wish.edit.does.stands_for or wish.edit.id in standing)
    made += [(wish, placed(context, wish, closure.removed)) for wish in new_ones]
    front = kept_from(context, closure, before.front)
    inserts = with_repairs(context, [one for _, one in made], closure, rules, front)
    if rules.keeps_last_thinking and thinking.latest(context, wanted.fate, closure, inserts) is not None:
        return None
    fresh = changed(context, {at: wanted.fate[at] for at in asked})
    headers = _said_by_others(before, wanted.fate, closure, again)
    if headers is None:
        return None
    repairs = taken_along(context, wanted.fate, closure, [*out, *headers], fresh, inserts)
    if repairs.keys() & before.repairs.keys():
        return None
    together = {**before.repairs, **repairs}
    held = (*before.held, *wanted.held)
    return Applied(
        context,
        changes={**known.changes, **fresh},
        inserts=tuple(inserts),
        # The same object where nothing fell asleep: who waits for what is asleep sees that at once.
        asleep=(*known.asleep, *wanted.asleep) if wanted.asleep else known.asleep,
        held=held,
        repairs=listed(together, inserts),
        refused=NOTHING_LEFT if is_empty(context, closure, inserts, front) else "",
        length=len(context),
        settled=Settled(
            fate=wanted.fate,
            removed=closure.removed,
            placed=tuple(made),
            held=held,
            marks=(),
            repairs=together,
            front=front,
            awaited=before.awaited,
            length=len(context),
        ),
        grown=Grown(known.changes, tuple(fresh)),
    ).following(known)


def _may_follow(more: Sequence[Edit]) -> bool:
    """Whether edits of these kinds can be added to what is applied."""
    if len(in_force(more)) < len(more):
        return False
    return not any(edit.kind in _NEVER_FOLLOW or edit.author == REPAIR for edit in more)


def _parts(context: Context, at: int) -> range:
    """The parts of the message whose header stands at a position."""
    message = context.message_at(at)
    headed = message is not None and message.headed and message.start == at
    return range(at + 1, message.stop) if message is not None and headed else range(0)


def _can_ask(context: Context, fate: Fate, before: Settled, asked: set[int], again: set[int]) -> bool:
    """Whether what is asked for leaves the rest as it is. `again` are the positions of it that are out already: what
    went along with something else, or was moved, or shall stand there after all, is another matter."""
    for at in asked:
        if fate[at][0] is None and context.items[at].block.kind == TOOL:
            return False
        if at in before.fate and before.fate[at][0] is None and (fate[at][0] is not None or at not in again):
            return False
    return all(
        not before.removed[at].why and at in before.fate and not before.fate[at][1].does.moves and fate[at][0] is None
        for at in again
    )


def _is_settled(context: Context, closure: Closure, before: Settled, out: Iterable[int], rules: ProviderRules) -> bool:
    """Whether what goes besides hangs on nothing but the calls, answers and messages that it belongs to, and on nothing
    that went before."""
    removed, messages = closure.removed, context.messages
    if not is_local(removed[at] for at in out):
        return False
    if rules.ends_with_user and messages and messages[-1].role not in ASSISTANT and closure.gone(messages[-1]):
        return False
    for at in out:
        message = context.message_at(at)
        if message is None or message.start != at or not message.headed:
            continue
        parts = range(at + 1, message.stop)
        # A header goes with its last part: of parts that went at different times that is another one.
        if any(p in before.removed for p in parts) and not (
            removed[at] == Gone(message.stop - 1) and not any(removed[p].why for p in parts)
        ):
            return False
    return True


def _dangles_at_once(context: Context, closure: Closure, out: Set[int]) -> bool:
    """Whether of each run of answers in which thinking dangled, and went, all that went did so at one time: before, or
    now (`out`). What dangles follows from the whole run, and which edit it belongs to from the order."""
    messages, removed, seen = context.messages, closure.removed, set[int]()
    # A header that dangles stands in front of thinking that does.
    for at in context.thinking:
        if at not in removed or removed[at].why != DANGLING or context.message_of[at] in seen:
            continue
        first = last = context.message_of[at]
        while first > 0 and _parts_nothing(messages[first - 1], closure):
            first -= 1
        while last + 1 < len(messages) and _parts_nothing(messages[last + 1], closure):
            last += 1
        seen.update(range(first, last + 1))
        went = {p in out for p in range(messages[first].start, messages[last].stop) if p in removed}
        if len(went) > 1:
            return False
    return True


def _parts_nothing(message: Message, closure: Closure) -> bool:
    """Whether the answers before and behind `message` are one run."""
    return message.role in ASSISTANT or closure.gone(message)


def _covered_gone(before: Settled, fate: Fate, again: set[int]) -> Sequence[tuple[Insertion, Insert]]:
    """What was put in before and is still said."""
    if not again:
        return before.placed
    standing = {edit.id for _, edit in fate.values()}
    return [one for one in before.placed if not one[0].edit.does.stands_for or one[0].edit.id in standing]


def _placed_again(
    context: Context, kept: Sequence[tuple[Insertion, Insert]], closure: Closure, touched: set[int]
) -> list[tuple[Insertion, Insert]]:
    """What was put in before, anew where it stands in a message of which something went."""
    index_of = context.message_of
    return [
        one
        if (inside := one[0].inside) is None or index_of[inside[0]] not in touched
        else (one[0], placed(context, one[0], closure.removed))
        for one in kept
    ]


def _said_by_others(before: Settled, fate: Fate, closure: Closure, again: set[int]) -> list[int] | None:
    """What went along with blocks that another edit takes out now, and so belongs to that one; None where a repair
    would be another's."""
    if not again:
        return []
    found = [at for at, gone in before.removed.items() if gone.cause in again and at != gone.cause]
    return None if any(closure.removed[at].why for at in found) else [at for at in found if at not in fate]
