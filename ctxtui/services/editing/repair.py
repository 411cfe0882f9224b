"""Faults for which a provider would refuse a session's next request, and their repair."""

from __future__ import annotations

from msgspec import Struct

from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.core.block import ASSISTANT
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.session import Session
from ctxtui.curation.context import Context
from ctxtui.curation.legality.provider_errors import BOUND, TOO_LONG, from_error_text, refusal
from ctxtui.curation.legality.repair import Repair, repair, strip_thinking
from ctxtui.curation.provider_rules import ProviderRules, rules_for
from ctxtui.services.editing.session_end import next_head
from ctxtui.tokens.models import ModelTable


class Diagnosis(Struct, frozen=True):
    """Faults of a session's next request and their repair.

    `too_long`: an error says that the context is too long, so that only fewer tokens help.
    """

    chosen: ChosenCall
    context: Context
    rules: ProviderRules
    mended: Repair
    too_long: bool = False


def diagnose(session: Session, models: ModelTable, *, thread: str = "", error: str = "") -> Diagnosis:
    """Find the faults of a thread's next request, and the one that `error` names.

    `error` is the provider's message; "": the recording's last error. `thread` is "" for the main one.
    """
    chosen = choose_call(session, thread)
    card = models.card(chosen.call.model or session.model)
    error = error or refusal(session, chosen.thread)
    context = Context.of_call(session.tree, chosen.call, next_head(session, chosen))
    rules = rules_for(context.dialect, card)
    fault = from_error_text(context, error) if error else None
    extra: list[Edit] = []
    if fault is not None and fault.violation.rule == BOUND:
        extra = strip_thinking(context, max(0, fault.position))
    reported = [fault] if fault is not None and not extra else []
    limits = card.request_limits._replace(prefill=card.prefill or _ends_with_answer(context))
    mended = repair(context, rules, extra, limits=limits, reported=reported)
    if extra and fault is not None:
        mended = Repair((*extra, *mended.edits), (fault, *mended.faults), mended.left)
    return Diagnosis(chosen, context, rules, mended, fault is not None and fault.violation.rule == TOO_LONG)


def _ends_with_answer(context: Context) -> bool:
    return bool(context.messages) and context.messages[-1].role in ASSISTANT


def recording_line(session: Session, context: Context, position: int) -> int:
    """The line of the last call before the first one that has the block.

    It is a line of the recording, from 1; 0 if it is unknown.
    """
    node = context.nodes[position]
    before: Call | None = None
    for call in session.calls.values():
        if session.tree.holds(call.raw_head, node):
            break
        before = call
    return before.line if before is not None else 0
