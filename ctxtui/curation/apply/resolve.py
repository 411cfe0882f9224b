"""From what edits want to what is done: removals closed, pins respected, thinking kept whole, news placed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from msgspec import Struct, field

from ctxtui.core.block import HEADER, Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import REPAIR, Edit, make
from ctxtui.core.edit_kinds import DROP, NOTE, STRIP
from ctxtui.curation.apply import marker_limits
from ctxtui.curation.apply.applied import Applied, Asleep, BlockChange, HeldEdit, Insert, Insertion
from ctxtui.curation.apply.closure import BOUND, Closure, Gone
from ctxtui.curation.apply.insertion import FRONT, Left, placed
from ctxtui.curation.context import ASSISTANT, THINKING, Context
from ctxtui.curation.provider_rules import ProviderRules

LATEST = "thinking of the latest assistant message must stay as it is"
JOINED = "two answers would become one, of which the later one's thinking must stay as it is"


def breaks_at(context: Context, changed: Iterable[int], closure: Closure, inserts: Sequence[Insert]) -> int | None:
    """The first position where what later thinking is bound to changes; None where nothing does. Thinking that is
    taken from the front of all thinking is no change."""
    places = [one.position for one in inserts]
    front = True
    for position in context.thinking:
        front = front and position in closure.removed
        if position in closure.removed and not front:
            places.append(position)
    for position in (*closure.removed, *changed):
        if context.items[position].block.kind not in THINKING and not _hollow(context, position):
            places.append(position)
    return min(places, default=None)


def _hollow(context: Context, position: int) -> bool:
    """Whether `position` is the header of a message that holds thinking alone."""
    message = context.message_at(position)
    if message is None or position != message.start or not message.headed:
        return False
    return all(context.items[p].block.kind in THINKING for p in range(message.start + 1, message.stop))


def latest(context: Context, changed: Container[int], closure: Closure, inserts: Sequence[Insert]) -> Gone | None:
    """A change in the latest answers in front of thinking that stays, or thinking taken out in front of what stays:
    the position whose edit must be held. `changed` are the positions whose edits may be held."""
    kept = thinks = False
    for index in _last_run(context, closure, inserts):
        message = context.messages[index]
        if message.role not in ASSISTANT:
            continue
        for position in range(message.stop - 1, message.start - 1, -1):
            gone = closure.removed.get(position)
            is_thinking = context.items[position].block.kind in THINKING
            if gone is not None and gone.cause in changed and (thinks or (kept and is_thinking)):
                return Gone(gone.cause, LATEST)
            if gone is None and thinks and position in changed:
                return Gone(position, LATEST)
            kept, thinks = kept or gone is None, thinks or (gone is None and is_thinking)
    return None


def joined(context: Context, closure: Closure, inserts: Sequence[Insert]) -> Gone | None:
    """The start of the removed message in front of an answer with thinking that would now be joined to an earlier
    answer, in the latest run of answers; None where none would."""
    thinks = False
    between: int | None = None
    for index in _last_run(context, closure, inserts):
        message = context.messages[index]
        if closure.gone(message):
            between = message.start if message.role not in ASSISTANT and thinks else between
            continue
        if between is not None:
            return Gone(between, JOINED)
        kept = (p for p in range(message.start + 1, message.stop) if p not in closure.removed)
        thinks = thinks or any(context.items[p].block.kind in THINKING for p in kept)
    return None


def _last_run(context: Context, closure: Closure, inserts: Sequence[Insert]) -> Iterator[int]:
    """The messages of the last answers that nothing parts any more, last first, with those that are out."""
    messages = context.messages
    index = len(messages) - 1
    while index >= 0 and (closure.gone(messages[index]) or messages[index].role not in ASSISTANT):
        index -= 1
    later = messages[index].start if index >= 0 else 0
    parts: list[int] | None = None
    while index >= 0 and (closure.gone(messages[index]) or messages[index].role in ASSISTANT):
        message = messages[index]
        if not closure.gone(message):
            if message.start != later and parts is None:
                # Most runs are one message, which nothing parts.
                parts = [one.position for one in inserts if one.items[0].block.kind == HEADER]
            if parts and any(message.stop <= position <= later for position in parts):
                return
            later = message.start
        yield index
        index -= 1


Fate = Mapping[int, tuple[Block | None, Edit]]
"""What edits ask for, by position: the block that shall stand there (None: none), and the edit."""


def changed(
    context: Context, fate: Fate, closure: Closure, inserts: Sequence[Insert]
) -> tuple[dict[int, BlockChange], tuple[Edit, ...]]:
    """What was asked for and what goes along with it, as changes of the blocks that stand there, and all repairs: what
    is taken out, in prompt order, then what is put in."""
    nodes, items = context.nodes, context.items
    changes = {at: BlockChange(at, nodes[at], items[at].block, block, edit) for at, (block, edit) in fate.items()}
    groups: dict[tuple[str, str], list[int]] = {}
    for position, gone in closure.removed.items():
        if position not in changes or changes[position].after is not None:
            groups.setdefault((_cause(fate, inserts, gone), gone.why), []).append(position)
    repairs: list[tuple[int, Edit]] = []
    for (cause, why), group in groups.items():
        group.sort()
        # A header goes with its last part, by the same edit.
        edit = repair(DROP, context, group, cause, why) if why else fate[closure.removed[group[0]].cause][1]
        if why:
            repairs.append((group[0], edit))
        for p in group:
            changes[p] = BlockChange(p, nodes[p], items[p].block, None, edit, why)
    out = (edit for _, edit in sorted(repairs, key=lambda one: (one[0], one[1].id)))
    return changes, (*out, *(one.edit for one in inserts if one.edit.author == REPAIR))


def _cause(fate: Fate, inserts: Sequence[Insert], gone: Gone) -> str:
    if gone.cause in fate:
        return fate[gone.cause][1].id
    return inserts[0].edit.id if inserts else ""


def repair(kind: str, context: Context, positions: list[int], cause: object, why: str) -> Edit:
    """The edit that a repair is, made once for each context."""
    key = (kind, tuple(positions), str(cause), why)
    found = context.repairs.get(key)
    if found is None:
        found = context.repairs[key] = _made(kind, context, positions, cause, why)
    return found


def _made(kind: str, context: Context, positions: list[int], cause: object, why: str) -> Edit:
    strip = bool(positions) and all(context.items[p].block.kind in THINKING for p in positions)
    given: dict[str, Json] = {"for": str(cause), "why": why} if kind != NOTE else {"text": why, "where": "before"}
    return make(STRIP if strip else kind, context.targets(positions), given, author=REPAIR)


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
        if before is not None and before.spec.moves:
            there = next((wish for wish in self.new if wish.edit.id == before.id and wish.block == block), None)
            self.new = [wish for wish in self.new if wish is not there]
            del self.fate[position]

    def hold(self, position: int, why: str) -> None:
        """Take back what was asked for `position`; an edit that puts something in its place is held as a whole."""
        _, edit = self.fate.pop(position)
        self.held.append(HeldEdit(edit, position, why))
        if edit.spec.adds and edit.spec.takes_away:
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
            clash = latest(context, own, closed.closure, closed.inserts)
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
    wanted.new = [wish for wish in wanted.new if not wish.edit.spec.replaces_blocks or wish.edit.id in standing]


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
        broken = breaks_at(context, wanted.fate, closure, inserts) if rules.binds_thinking else None
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
    if rules.keeps_last_thinking and (parted := joined(context, closure, made)) is not None:
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
