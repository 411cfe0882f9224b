"""Turns the changes that edits request into an `Applied`, the context under these edits.

A `Closure` is a set of removals with all that must be removed with them. `settle` completes removals, places
insertions, and rejects requests that would remove a pinned block or break signed thinking. As each of these may affect
the others, it repeats until nothing changes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from msgspec import Struct, field

from ctxtui.core.block import ASSISTANT, HEADER, Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import REPAIR, Edit, make
from ctxtui.core.edit_kinds import DROP, NOTE, STRIP
from ctxtui.curation.apply import marker_limits
from ctxtui.curation.apply.applied import Applied, BlockChange, EditWithoutTarget, Insert, Insertion, RejectedEdit
from ctxtui.curation.apply.closure import BOUND, Closure, Gone
from ctxtui.curation.apply.insertion import FRONT, RemainingContext, place
from ctxtui.curation.context import THINKING, Context
from ctxtui.curation.provider_rules import ProviderRules

LATEST = "thinking of the latest assistant message must not change"
JOINED = "two answers would become one, and the later one's thinking must not change"


def binding_break(context: Context, changed: Iterable[int], closure: Closure, inserts: Sequence[Insert]) -> int | None:
    """The first position whose change would make bound thinking after it invalid.

    None without one. Removing thinking together with all thinking before it is no such change.
    """
    places = [insert.position for insert in inserts]
    front = True
    for position in context.thinking:
        front = front and position in closure.removed
        if position in closure.removed and not front:
            places.append(position)
    for position in (*closure.removed, *changed):
        if context.items[position].block.kind not in THINKING and not _is_thinking_header(context, position):
            places.append(position)
    return min(places, default=None)


def _is_thinking_header(context: Context, position: int) -> bool:
    message = context.message_at(position)
    if message is None or position != message.start or not message.has_header:
        return False
    return all(context.items[p].block.kind in THINKING for p in range(message.start + 1, message.stop))


def find_thinking_clash(
    context: Context, changed: Container[int], closure: Closure, inserts: Sequence[Insert]
) -> Gone | None:
    """Find an edit to reject because it breaks the thinking of the latest answers.

    None without one. It changes or removes a block before remaining thinking, or removes thinking before a remaining
    block. `changed` are the positions whose edits may be rejected.
    """
    is_followed = has_thinking = False
    for index in _last_run(context, closure, inserts):
        message = context.messages[index]
        if message.role not in ASSISTANT:
            continue
        for position in range(message.stop - 1, message.start - 1, -1):
            removal = closure.removed.get(position)
            is_thinking = context.items[position].block.kind in THINKING
            if removal is not None and removal.cause in changed and (has_thinking or (is_followed and is_thinking)):
                return Gone(removal.cause, LATEST)
            if removal is None and has_thinking and position in changed:
                return Gone(position, LATEST)
            is_followed, has_thinking = (
                is_followed or removal is None,
                has_thinking or (removal is None and is_thinking),
            )
    return None


def find_joined_answers(context: Context, closure: Closure, inserts: Sequence[Insert]) -> Gone | None:
    """Find the removed message that separates an answer with thinking from the answer before it.

    Without that message the provider joins both answers. None without one in the latest run of answers.
    """
    has_thinking = False
    between: int | None = None
    for index in _last_run(context, closure, inserts):
        message = context.messages[index]
        if closure.is_removed(message):
            between = message.start if message.role not in ASSISTANT and has_thinking else between
            continue
        if between is not None:
            return Gone(between, JOINED)
        remaining = (p for p in range(message.start + 1, message.stop) if p not in closure.removed)
        has_thinking = has_thinking or any(context.items[p].block.kind in THINKING for p in remaining)
    return None


def _last_run(context: Context, closure: Closure, inserts: Sequence[Insert]) -> Iterator[int]:
    messages = context.messages
    index = len(messages) - 1
    while index >= 0 and (closure.is_removed(messages[index]) or messages[index].role not in ASSISTANT):
        index -= 1
    later = messages[index].start if index >= 0 else 0
    parts: list[int] | None = None
    while index >= 0 and (closure.is_removed(messages[index]) or messages[index].role in ASSISTANT):
        message = messages[index]
        if not closure.is_removed(message):
            if message.start != later and parts is None:
                # Most runs are a single message.
                parts = [insert.position for insert in inserts if insert.items[0].block.kind == HEADER]
            if parts and any(message.stop <= position <= later for position in parts):
                return
            later = message.start
        yield index
        index -= 1


Fate = Mapping[int, tuple[Block | None, Edit]]
"""The requested block of each position (None: remove it), with the edit that requests it."""


def make_changes(
    context: Context, fate: Fate, closure: Closure, inserts: Sequence[Insert]
) -> tuple[dict[int, BlockChange], tuple[Edit, ...]]:
    """The requested changes with their consequences by position, and all repairs.

    Repairs that remove come first.
    """
    nodes, items = context.nodes, context.items
    changes = {at: BlockChange(at, nodes[at], items[at].block, block, edit) for at, (block, edit) in fate.items()}
    groups: dict[tuple[str, str], list[int]] = {}
    for position, removal in closure.removed.items():
        if position not in changes or changes[position].after is not None:
            groups.setdefault((_cause_of(fate, inserts, removal), removal.why), []).append(position)
    repairs: list[tuple[int, Edit]] = []
    for (cause, why), group in groups.items():
        group.sort()
        # A header is removed with its last part, by the same edit.
        edit = repair(DROP, context, group, cause, why) if why else fate[closure.removed[group[0]].cause][1]
        if why:
            repairs.append((group[0], edit))
        for p in group:
            changes[p] = BlockChange(p, nodes[p], items[p].block, None, edit, why)
    out = (edit for _, edit in sorted(repairs, key=lambda repair: (repair[0], repair[1].id)))
    return changes, (*out, *(entry.edit for entry in inserts if entry.edit.author == REPAIR))


def _cause_of(fate: Fate, inserts: Sequence[Insert], removal: Gone) -> str:
    if removal.cause in fate:
        return fate[removal.cause][1].id
    return inserts[0].edit.id if inserts else ""


def repair(kind: str, context: Context, positions: list[int], cause: object, why: str) -> Edit:
    """Make the edit `kind` that repairs the effect of others.

    `cause` identifies the edit that requires it, `why` is the reason for users.
    """
    key = (kind, tuple(positions), str(cause), why)
    edit = context.repairs.get(key)
    if edit is None:
        edit = context.repairs[key] = _make_repair(kind, context, positions, cause, why)
    return edit


def _make_repair(kind: str, context: Context, positions: list[int], cause: object, why: str) -> Edit:
    strip = bool(positions) and all(context.items[p].block.kind in THINKING for p in positions)
    params: dict[str, Json] = {"for": str(cause), "why": why} if kind != NOTE else {"text": why, "where": "before"}
    return make(STRIP if strip else kind, context.targets(positions), params, author=REPAIR)


FORCED = "tool_choice names this tool"
LAST_TOOL = "calls are in the context: one tool must stay defined"


class RequestedFates(Struct, kw_only=True):
    """The changes that edits request, collected before they are checked against each other.

    - `fate`: the requested block (None: remove it) and its edit, by position.
    - `new`: insertions; `marks`: positions of cache breakpoints to set or remove, with their edits.
    - `pinned`: pinned positions, and those of their calls or results.
    - `without_target`, `rejected`: edits without a target here, and edits that cannot be done.
    """

    fate: dict[int, tuple[Block | None, Edit]] = field(default_factory=dict)
    new: list[Insertion] = field(default_factory=list)
    marks: list[tuple[int, Edit]] = field(default_factory=list)
    pinned: set[int] = field(default_factory=set)
    without_target: list[EditWithoutTarget] = field(default_factory=list)
    rejected: list[RejectedEdit] = field(default_factory=list)
    _earlier: dict[int, list[tuple[Block | None, Edit]]] = field(default_factory=dict)

    def put(self, position: int, block: Block | None, edit: Edit) -> None:
        if position in self.fate:
            self._earlier.setdefault(position, []).append(self.fate[position])
        self.fate[position] = block, edit

    def _withdraw(self, position: int) -> Edit:
        _, edit = self.fate.pop(position)
        if earlier := self._earlier.get(position):
            self.fate[position] = earlier.pop()
        return edit

    @property
    def insertions(self) -> list[Insertion]:
        """All but summaries whose blocks were all changed by later edits (a summary of summaries)."""
        edit_ids = {edit.id for _, edit in self.fate.values()}
        return [i for i in self.new if not i.edit.spec.replaces_blocks or i.edit.id in edit_ids]

    def is_removed(self, position: int) -> bool:
        return position in self.fate and self.fate[position][0] is None

    def moved_block(self, position: int) -> Block | None:
        return next((insertion.block for insertion in self.new if insertion.origin == position), None)

    def cancel_move(self, position: int) -> None:
        if self.moved_block(position) is not None:
            self.new = [insertion for insertion in self.new if insertion.origin != position]
            self._withdraw(position)

    def reject(self, position: int, why: str) -> None:
        """Reject the last request for `position`; an edit that also inserts is rejected as a whole."""
        edit = self._withdraw(position)
        self.rejected.append(RejectedEdit(edit, position, why))
        if edit.spec.adds and edit.spec.takes_away:
            self.cancel(edit)

    def cancel(self, edit: Edit) -> None:
        for earlier in self._earlier.values():
            earlier[:] = [request for request in earlier if request[1].id != edit.id]
        for position in [p for p, (_, last) in self.fate.items() if last.id == edit.id]:
            self._withdraw(position)
        self.new = [insertion for insertion in self.new if insertion.edit.id != edit.id]


def keep_tools(context: Context, requests: RequestedFates) -> None:
    """Reject the removal of a tool that the request needs.

    These are a tool that ``tool_choice`` names, and the last tool if calls have results.
    """
    tools = context.tools
    removed_tools = [p for p in tools if requests.is_removed(p)]
    if not removed_tools:
        return
    forced = _forced_tool(context.params.get("tool_choice"))
    for position in removed_tools:
        while forced and context.reading(position).name == forced and requests.is_removed(position):
            requests.reject(position, FORCED)
    while context.partners and all(map(requests.is_removed, tools)):
        requests.reject(tools[-1], LAST_TOOL)


def _forced_tool(choice: Json) -> str:
    if not isinstance(choice, dict):
        return ""
    inner = choice.get("function", choice)
    name = inner.get("name") if isinstance(inner, dict) else ""
    return name if isinstance(name, str) else ""


OPENING = "(Earlier messages were removed.)"
"""Inserted at the start if the assistant would come first, which the provider refuses."""
NOTHING_LEFT = "no message would be left"
PARTED = "(Messages were removed here.)"
"""Inserted between two answers that would be joined although the later one's thinking must stay unchanged."""
UNSETTLED = "there is no valid position for it"
_MAX_ROUNDS = 4
"""Maximum rounds of completing removals and placing insertions; two are nearly always enough."""


def settle(context: Context, requests: RequestedFates, rules: ProviderRules, pinned: frozenset[int]) -> Applied:
    """Apply the `requests`.

    Those that clash are rejected one by one, or all if that does not help.
    """
    keep_tools(context, requests)
    while True:
        closed = _close_and_place(context, requests, rules)
        clash = closed.unsettled or _find_pin_clash(requests, closed.closure, pinned)
        if clash is None and rules.keeps_last_thinking and closed.broken is None:
            # Repairs must not be rejected: they remove what cannot stay unchanged.
            requested = {p for p, (_, edit) in requests.fate.items() if edit.author != REPAIR}
            clash = find_thinking_clash(context, requested, closed.closure, closed.inserts)
        if clash is None:
            return _build_applied(context, requests, closed, rules, pinned)
        if clash.cause in requests.fate and clash is not closed.unsettled:
            requests.reject(clash.cause, clash.why)
        elif not _reject_insertion(requests, closed.inserts, clash):
            return Applied(
                context,
                rejected=_reject_all(requests, clash.why),
                without_target=tuple(requests.without_target),
                pinned=pinned,
                length=len(context),
            )


class _Closed(NamedTuple):
    """Removals and insertions that agree with each other.

    - `broken`: the first change that invalidates bound thinking; None without one.
    - `unsettled`: the insertion for which no position was found; None if they agree.
    """

    closure: Closure
    inserts: list[Insert]
    broken: int | None
    unsettled: Gone | None = None


def _close_and_place(context: Context, requests: RequestedFates, rules: ProviderRules) -> _Closed:
    """Complete removals and place insertions, until neither changes the other.

    Positions for insertions depend on what is removed; an insertion may be the user message with which the request must
    end.
    """
    removed = sorted(position for position, (block, _) in requests.fate.items() if block is None)
    user_inserts: frozenset[int] = frozenset()
    for _ in range(_MAX_ROUNDS):
        closure = Closure(context, rules, user_inserts)
        closure.remove(removed)
        inserts = _place_insertions(context, requests.insertions, closure, rules)
        broken = binding_break(context, requests.fate, closure, inserts) if rules.binds_thinking else None
        if broken is not None and not rules.drops_blocks:
            later = [p for p in context.thinking if p >= broken and p not in closure.removed]
            closure.remove(later, Gone(broken, BOUND))
            inserts = _place_insertions(context, requests.insertions, closure, rules)
        now = frozenset(insert.position for insert in inserts if _ends_with_user(insert))
        if now == user_inserts or not closure.depends_on_inserts:
            return _Closed(closure, inserts, broken)
        user_inserts = now
    return _Closed(closure, inserts, broken, Gone(max(user_inserts, default=-1), UNSETTLED))


def _begins_with_user(insert: Insert) -> bool:
    return insert.items[0].block.kind == HEADER and insert.items[0].place.role == "user"


def _ends_with_user(insert: Insert) -> bool:
    return insert.items[0].block.kind == HEADER and insert.items[-1].place.role == "user"


def _reject_insertion(requests: RequestedFates, inserts: list[Insert], clash: Gone) -> bool:
    culprit = next((i.edit for i in inserts if i.position == clash.cause and i.edit.author != REPAIR), None)
    if culprit is None:
        return False
    requests.rejected.append(RejectedEdit(culprit, -1, clash.why))
    requests.cancel(culprit)
    return True


def _place_insertions(context: Context, new: list[Insertion], closure: Closure, rules: ProviderRules) -> list[Insert]:
    remaining = RemainingContext(context, closure.removed)
    inserts = [place(context, insertion, remaining) for insertion in new]
    if rules.starts_with_user and (insertion := _opening_message(context, closure)) is not None:
        first = place(context, insertion, remaining)
        inserts = (
            inserts
            if any(insert.position <= first.position and _begins_with_user(insert) for insert in inserts)
            else [first, *inserts]
        )
    if rules.keeps_last_thinking and (parted := find_joined_answers(context, closure, inserts)) is not None:
        insertion = Insertion(parted.cause, repair(NOTE, context, [], "", PARTED), PARTED, "meta")
        inserts = [*inserts, place(context, insertion, RemainingContext(context))]
    # An insertion into a message comes before a new message at the same position.
    return sorted(inserts, key=lambda insert: (insert.position, insert.items[0].block.kind == HEADER))


def _first_remaining(context: Context, closure: Closure) -> int:
    messages = context.messages
    return next((n for n, message in enumerate(messages) if not closure.is_removed(message)), len(messages))


def _opening_message(context: Context, closure: Closure) -> Insertion | None:
    messages = context.messages
    began = bool(messages) and (messages[0].role == "user" or _is_compaction(context, 0))
    if not began or not closure.removed:
        return None
    first = _first_remaining(context, closure)
    if first == len(messages) or messages[first].role == "user" or _is_compaction(context, first):
        return None
    cause = next(iter(closure.removed.values())).cause
    return Insertion(FRONT, repair(NOTE, context, [], cause, OPENING), OPENING, "meta")


def _is_compaction(context: Context, index: int) -> bool:
    message = context.messages[index]
    return message.has_header and context.items[message.start + 1].block.kind == "compaction"


def _find_pin_clash(requests: RequestedFates, closure: Closure, pinned: frozenset[int]) -> Gone | None:
    """The cause of the last pinned block's removal, and why; None without one. Other causes are rejected here."""
    clashes: list[Gone] = []
    for position in sorted(pinned):
        removal = closure.removed.get(position)
        if removal is not None and removal.why:
            clashes.append(Gone(removal.cause, f"a pinned block would go with it: {removal.why}"))
    for clash in clashes[:-1]:
        if clash.cause in requests.fate and clash.cause != clashes[-1].cause:
            requests.reject(clash.cause, clash.why)
    return clashes[-1] if clashes else None


def _reject_all(requests: RequestedFates, why: str) -> tuple[RejectedEdit, ...]:
    edits = {edit.id: edit for _, edit in requests.fate.values()} | {
        insertion.edit.id: insertion.edit for insertion in requests.insertions
    }
    return (*requests.rejected, *(RejectedEdit(edit, -1, why) for edit in edits.values()))


def _build_applied(
    context: Context, requests: RequestedFates, closed: _Closed, rules: ProviderRules, pinned: frozenset[int]
) -> Applied:
    closure, inserts = closed.closure, closed.inserts
    changes, repairs = make_changes(context, requests.fate, closure, inserts)
    plain = Applied(context, changes=changes, inserts=tuple(inserts), length=len(context))
    marks, refused_marks = marker_limits.select_breakpoints(plain, requests.marks)
    return replace(
        plain,
        marks=marks,
        pinned=pinned,
        without_target=tuple(requests.without_target),
        rejected=(*requests.rejected, *refused_marks),
        repairs=repairs,
        refused=NOTHING_LEFT if _is_empty(context, closure, inserts) else "",
        withheld=_withheld_thinking(context, closed, rules),
    )


def _is_empty(context: Context, closure: Closure, inserts: Iterable[Insert]) -> bool:
    if not closure.removed or not context.messages or _first_remaining(context, closure) < len(context.messages):
        return False
    return not any(item.place.role == "user" for insert in inserts for item in insert.items)


def _withheld_thinking(context: Context, closed: _Closed, rules: ProviderRules) -> tuple[int, ...]:
    if closed.broken is None or not rules.drops_blocks:
        return ()
    later = (p for p in context.thinking if closed.broken is not None and p >= closed.broken)
    return tuple(p for p in later if p not in closed.closure.removed)
