"""From what edits want to what is done: removals closed, pins respected, thinking kept whole, news placed."""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxtui.core.block import Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import DROP, NOTE, REPAIR, STRIP, Edit, make
from ctxtui.curation.applied import Applied, Asleep, Change, Held, Insert
from ctxtui.curation.closure import BOUND, Closure, Gone
from ctxtui.curation.context import ASSISTANT, THINKING, Context
from ctxtui.curation.placing import FRONT, Wish, placed
from ctxtui.curation.rules import Rules

OPENING = "(Earlier messages were removed.)"
"""Put in front where the assistant would speak first, which the provider refuses."""
NOTHING_LEFT = "no message would be left"
LATEST = "thinking of the latest assistant message must stay as it is"
FORCED = "tool_choice names this tool"
LAST_TOOL = "calls are in the context: one tool must stay defined"


@dataclass(slots=True)
class Wanted:
    """What edits ask for, by position: `fate` is the block that shall stand there (None: none) and the edit."""

    fate: dict[int, tuple[Block | None, Edit]] = field(default_factory=dict)
    new: list[Wish] = field(default_factory=list)
    marks: dict[int, Edit] = field(default_factory=dict)
    pinned: set[int] = field(default_factory=set)
    asleep: list[Asleep] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)

    def put(self, position: int, block: Block | None, edit: Edit) -> None:
        """Ask for `block` at `position`."""
        self.fate[position] = block, edit

    def hold(self, position: int, why: str) -> None:
        """Take back what was asked for `position`."""
        _, edit = self.fate.pop(position)
        self.held.append(Held(edit, position, why))


def settled(context: Context, wanted: Wanted, rules: Rules, pinned: frozenset[int]) -> Applied:
    """What is done of `wanted`."""
    _keep_tools(context, wanted)
    while True:
        closure = Closure(context, rules)
        closure.remove(sorted(p for p, (block, _) in wanted.fate.items() if block is None))
        inserts = _inserts(context, wanted.new, closure, rules)
        broken = _break(context, wanted, closure, inserts) if rules.binds_thinking else None
        if broken is not None:
            later = [p for p in context.thinking if p >= broken and p not in closure.removed]
            closure.remove(later, Gone(broken, BOUND))
            inserts = _inserts(context, wanted.new, closure, rules)
        clash = _clash(closure, pinned)
        if clash is None and rules.keeps_last_thinking and broken is None:
            clash = _latest(context, closure)
        if clash is None:
            return _applied(context, wanted, closure, inserts, pinned)
        if clash.cause in wanted.fate:
            wanted.hold(clash.cause, clash.why)
        elif not _hold_new(wanted, inserts, clash):
            return Applied(context, held=_all_held(wanted, clash.why), asleep=tuple(wanted.asleep), pinned=pinned)


def _hold_new(wanted: Wanted, inserts: list[Insert], clash: Gone) -> bool:
    """Hold the insertion that a clash comes from; whether there is one."""
    guilty = {one.edit.id for one in inserts if one.position == clash.cause}
    kept = [wish for wish in wanted.new if wish.edit.id not in guilty]
    wanted.held += [Held(wish.edit, -1, clash.why) for wish in wanted.new if wish.edit.id in guilty]
    found = len(kept) < len(wanted.new)
    wanted.new = kept
    return found


def _inserts(context: Context, new: list[Wish], closure: Closure, rules: Rules) -> list[Insert]:
    made = [placed(context, wish, closure.removed) for wish in new]
    if rules.starts_with_user and (wish := _opening(context, closure)) is not None:
        first = placed(context, wish, closure.removed)
        made = made if any(_opens(one, first.position, context) for one in made) else [first, *made]
    return sorted(made, key=lambda one: one.position)


def _opens(one: Insert, position: int, context: Context) -> bool:
    return one.position <= position and any(i.place.section == "messages" and i.place.role == "user" for i in one.items)


def _opening(context: Context, closure: Closure) -> Wish | None:
    """The message that opens the conversation where the user's first ones are out."""
    messages = context.messages
    if not messages or (messages[0].role in ASSISTANT and not _is_compaction(context, 0)):
        return None
    first = next((n for n, message in enumerate(messages) if not closure.gone(message)), None)
    if first is None or messages[first].role == "user" or _is_compaction(context, first):
        return None
    cause = next(iter(closure.removed.values())).cause
    return Wish(FRONT, _repair(NOTE, context, [], cause, OPENING), OPENING, "meta")


def _is_compaction(context: Context, index: int) -> bool:
    message = context.messages[index]
    return message.headed and context.items[message.start + 1].block.kind == "compaction"


def _break(context: Context, wanted: Wanted, closure: Closure, inserts: list[Insert]) -> int | None:
    """The first position where what thinking is bound to changes; thinking taken from the front is no change."""
    places = [one.position for one in inserts]
    front = True
    for position in context.thinking:
        front = front and position in closure.removed
        if position in closure.removed and not front:
            places.append(position)
    for position in (*closure.removed, *wanted.fate):
        if context.items[position].block.kind not in THINKING and not _hollow(context, position):
            places.append(position)
    return min(places, default=None)


def _hollow(context: Context, position: int) -> bool:
    """Whether `position` is the header of a message that holds thinking alone."""
    message = context.message_at(position)
    if message is None or position != message.start or not message.headed:
        return False
    return all(context.items[p].block.kind in THINKING for p in range(message.start + 1, message.stop))


def _clash(closure: Closure, pinned: frozenset[int]) -> Gone | None:
    """A pinned block that something else would take along: the position whose edit must be held, and why."""
    for position in sorted(pinned):
        gone = closure.removed.get(position)
        if gone is not None and gone.why:
            return Gone(gone.cause, f"a pinned block would go with it: {gone.why}")
    return None


def _latest(context: Context, closure: Closure) -> Gone | None:
    """Thinking that was asked out of the latest assistant message, of which something else stays (facts §1)."""
    messages = context.messages
    index = len(messages) - 1
    while index >= 0 and (closure.gone(messages[index]) or messages[index].role not in ASSISTANT):
        index -= 1
    while index >= 0 and (closure.gone(messages[index]) or messages[index].role in ASSISTANT):
        message = messages[index]
        for position in range(message.start + 1, message.stop):
            gone = closure.removed.get(position)
            if gone and not gone.why and context.items[position].block.kind in THINKING and not closure.gone(message):
                return Gone(position, LATEST)
        index -= 1
    return None


def _keep_tools(context: Context, wanted: Wanted) -> None:
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


def _all_held(wanted: Wanted, why: str) -> tuple[Held, ...]:
    edits = {edit.id: edit for _, edit in wanted.fate.values()} | {wish.edit.id: wish.edit for wish in wanted.new}
    return (*wanted.held, *(Held(edit, -1, why) for edit in edits.values()))


def _applied(
    context: Context, wanted: Wanted, closure: Closure, inserts: list[Insert], pinned: frozenset[int]
) -> Applied:
    changes: dict[int, Change] = {}
    groups: dict[tuple[str, str], list[int]] = {}
    for position, (block, edit) in wanted.fate.items():
        changes[position] = Change(position, context.nodes[position], context.items[position].block, block, edit)
    for position, gone in closure.removed.items():
        if position not in changes or changes[position].after is not None:
            groups.setdefault((_cause(wanted, inserts, gone), gone.why), []).append(position)
    repairs: list[Edit] = []
    for (cause, why), positions in groups.items():
        # A header goes with its last part, by the same edit.
        edit = _repair(DROP, context, positions, cause, why) if why else _edit(wanted, closure, positions[0])
        repairs += [edit] if why else []
        for p in positions:
            changes[p] = Change(p, context.nodes[p], context.items[p].block, None, edit, why)
    repairs += [one.edit for one in inserts if one.edit.author == REPAIR]
    nothing = bool(closure.removed) and bool(context.messages) and all(closure.gone(m) for m in context.messages)
    said = any(item.place.role == "user" for one in inserts for item in one.items)
    return Applied(
        context,
        changes,
        tuple(inserts),
        wanted.marks,
        pinned,
        tuple(wanted.asleep),
        tuple(wanted.held),
        tuple(repairs),
        NOTHING_LEFT if nothing and not said else "",
    )


def _edit(wanted: Wanted, closure: Closure, position: int) -> Edit:
    return wanted.fate[closure.removed[position].cause][1]


def _cause(wanted: Wanted, inserts: list[Insert], gone: Gone) -> str:
    if gone.cause in wanted.fate:
        return wanted.fate[gone.cause][1].id
    return inserts[0].edit.id if inserts else ""


def _repair(kind: str, context: Context, positions: list[int], cause: object, why: str) -> Edit:
    strip = bool(positions) and all(context.items[p].block.kind in THINKING for p in positions)
    given: dict[str, Json] = {"for": str(cause), "why": why} if kind != NOTE else {"text": why, "where": "before"}
    return make(STRIP if strip else kind, context.targets(positions), given, author=REPAIR)
