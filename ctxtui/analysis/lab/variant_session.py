"""Exports a variant as a session: its contexts as they would have been sent, with simulated usage."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.analysis.lab.variant import VariantCall, VariantRun
from ctxtui.core.call import Call, answer_items
from ctxtui.core.session import CallSeen, Described, Session, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage

SIMULATED = "simulated"
"""Key in `Call.extra` of a variant's calls, True: their usage was not reported."""


def variant_session(session: Session, run: VariantRun, title: str) -> Session:
    """Build `session` under the variant of `run`, called `title`."""
    found = Session()
    about = session.about
    found.apply(
        Described(
            id=f"{about.id or 'session'}-what-if", title=title, source=about.source, cwd=about.cwd, client=about.client
        )
    )
    for thread in session.threads.values():
        found.apply(ThreadSeen(thread.id, thread.label, thread.parent))
    known = {ROOT: ROOT}
    for one in run.calls:
        call = session.calls[one.id]
        head = _copied(session.tree, found.tree, known, one.head)
        reply = found.tree.extend(head, answer_items(session.tree, call))
        found.apply(CallSeen(_call(call, run, head, reply, one)))
        found.apply(TipMoved(one.thread, reply))
    return found


def _copied(tree: Tree, other: Tree, known: dict[int, int], head: int) -> int:
    """Copy the context `head` of `tree` to another tree; returns its node."""
    behind: list[int] = []
    node = head
    while node not in known:
        behind.append(node)
        node = tree[node].parent
    made = known[node]
    for node in reversed(behind):
        here = tree[node]
        made = known[node] = other.child(made, here.block, here.place)
    return made


def _call(call: Call, run: VariantRun, head: int, reply: int, one: VariantCall) -> Call:
    model = run.variant.model or call.model
    output = call.usage.output if call.usage is not None else 0
    usage = one.usage if one.usage is not None else Usage(fresh=one.context, has_cache=False)
    return replace(
        call,
        raw_head=head,
        sent_head=head,
        response_head=reply,
        model=model,
        provider=call.provider if model == call.model else "",
        usage=replace(usage, output=output),
        skeleton=None,
        extra={**{k: v for k, v in call.extra.items() if k not in ("usage", "iterations")}, SIMULATED: True},
    )
