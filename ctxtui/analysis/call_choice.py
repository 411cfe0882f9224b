"""Selects the call for a command or screen by thread and number."""

from __future__ import annotations

from msgspec import Struct

from ctxtui.core.block import ASSISTANT, HEADER
from ctxtui.core.call import WINDOW, Call, Fidelity
from ctxtui.core.errors import NotFound
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT


class ChosenCall(Struct, frozen=True):
    """A call and its `number` in its thread, from 1; 0 for a context that no call has sent yet."""

    thread: str
    number: int
    call: Call


def choose_call(session: Session, thread: str = "", number: int = 0, *, after: bool = False) -> ChosenCall:
    """Select call `number` (0: the last) of `thread`, an id or a label that only one thread has.

    The thread "" is the main one, or the first with calls. Raises `NotFound`. With `after`, and in a thread without
    calls, it is the call that is still to be made.
    """
    name = thread or _default_thread(session)
    if name not in session.threads and name not in session.order:
        labelled = [id_ for id_, thread in session.threads.items() if thread.label == name]
        if len(labelled) != 1:
            threads = ", ".join(labelled or session.threads) or "none"
            raise NotFound(f"{len(labelled) or 'no'} threads are named {name!r}", way_out=f"threads: {threads}")
        (name,) = labelled
    calls = session.thread_calls(name)
    if not calls and (after or number == 0):
        return ChosenCall(name, 0, _unsent_start(session, name))
    if after:
        next_call = unsent_call(session, name)
        if next_call is None:
            raise NotFound(f"nothing came after the last call of thread {name!r}", way_out="remove --after")
        return ChosenCall(name, 0, next_call)
    if not 0 <= number <= len(calls):
        raise NotFound(
            f"no call {number} in thread {name!r}",
            way_out=f"it has calls 1 to {len(calls)}" if calls else "it has none",
        )
    number = number or len(calls)
    return ChosenCall(name, number, calls[number - 1])


def _default_thread(session: Session) -> str:
    if session.order.get(MAIN):
        return MAIN
    called = next((name for name, calls in session.order.items() if calls), "")
    return called or next((name for name, thread in session.threads.items() if thread.tip != ROOT), MAIN)


def unsent_call(session: Session, thread: str) -> Call | None:
    """The call that is still to be made in `thread`, with everything after the last answer.

    None if no call was made yet, or if nothing but parts of answers follows the last answer.
    """
    calls, tree = session.thread_calls(thread), session.tree
    if not calls:
        return None
    last, tip = calls[-1], session.threads[thread].tip
    answer = last.response_head or last.sent_head
    if tip == answer or answer == ROOT or not tree.holds(tip, answer):
        return None
    new_nodes = [tree[node] for node in tree.path(tip, answer)]
    if all(node.block.kind == HEADER or node.place.role in ASSISTANT for node in new_nodes):
        return None
    return Call(
        "",
        thread,
        tip,
        tip,
        tip,
        provider=last.provider,
        model=last.model,
        fidelity=last.fidelity,
        epoch=last.epoch,
        extra={key: last.extra[key] for key in (WINDOW,) if key in last.extra},
    )


def unsent_calls(session: Session) -> list[Call]:
    return [call for thread in list(session.threads) if (call := unsent_call(session, thread)) is not None]


def _unsent_start(session: Session, thread: str) -> Call:
    tip = session.threads[thread].tip
    return Call("", thread, tip, tip, tip, model=session.model, fidelity=Fidelity.WIRE)
