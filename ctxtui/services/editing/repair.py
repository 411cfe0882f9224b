"""What a provider would refuse in a session's next request, and the mends for it."""

from __future__ import annotations

from msgspec import Struct

from ctxtui.analysis.call_choice import ChosenCall, choose
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.curation.context import ASSISTANT, Context
from ctxtui.curation.legality.provider_errors import BOUND, TOO_LONG, from_error_text, refusal
from ctxtui.curation.legality.repair import Repair, repair, strip_thinking
from ctxtui.curation.provider_rules import ProviderRules, rules_for
from ctxtui.tokens.models import ModelCard


class Diagnosis(Struct, frozen=True):
    """A session's next request: its `context`, the `rules` of its model, and what mends it. `too_long` says that an
    error told so: no mend but fewer tokens helps."""

    chosen: ChosenCall
    context: Context
    rules: ProviderRules
    mended: Repair
    too_long: bool = False


def diagnosed(session: Session, card: ModelCard, *, thread: str = "", error: str = "") -> Diagnosis:
    """What would be refused in the next request of a thread, and what the `error` names ("": the one that the record
    ends with, if it does)."""
    chosen = choose(session, thread)
    error = error or refusal(session, chosen.thread)
    context = next_context(session, chosen)
    rules = rules_for(context.dialect, card)
    fault = from_error_text(context, error) if error else None
    more: list[Edit] = []
    if fault is not None and fault.violation.rule == BOUND:
        more = strip_thinking(context, max(0, fault.position))
    known = [fault] if fault is not None and not more else []
    takes = card.request_limits._replace(prefill=card.prefill or _answered(context))
    found = repair(context, rules, more, takes=takes, reported=known)
    if more and fault is not None:
        found = Repair((*more, *found.edits), (fault, *found.faults), found.left)
    return Diagnosis(chosen, context, rules, found, fault is not None and fault.violation.rule == TOO_LONG)


def next_context(session: Session, chosen: ChosenCall) -> Context:
    """The context that the next request of a thread begins with: up to where its record ends."""
    call, tip = chosen.call, session.threads[chosen.thread].tip if chosen.thread in session.threads else ROOT
    head = tip if session.tree.holds(tip, call.response_head) else call.response_head or call.raw_head
    return Context.of_call(session.tree, call, head)


def _answered(context: Context) -> bool:
    """Whether the context ends with an answer, which the next thing that a person says will follow."""
    return bool(context.messages) and context.messages[-1].role in ASSISTANT


def line_of(session: Session, context: Context, position: int) -> int:
    """The line of the recording near which the block at `position` was recorded (from 1; 0 where it is not known): that
    of the last call which did not have it yet."""
    node = context.nodes[position]
    before: Call | None = None
    for call in list(session.calls.values()):
        if session.tree.holds(call.raw_head, node):
            break
        before = call
    return before.line if before is not None else 0
