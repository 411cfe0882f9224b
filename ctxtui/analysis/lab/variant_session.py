"""Exports a variant as a session: contexts as they would be sent, with simulated usage."""

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
    """Build the session of `run`: its contexts and usage, with the answers of `session`."""
    copy = Session()
    about = session.about
    copy.apply(
        Described(
            id=f"{about.id or 'session'}-what-if", title=title, source=about.source, cwd=about.cwd, client=about.client
        )
    )
    for thread in session.threads.values():
        copy.apply(ThreadSeen(thread.id, thread.label, thread.parent))
    nodes = {ROOT: ROOT}
    for simulated in run.calls:
        call = session.calls[simulated.id]
        head = _copy_context(session.tree, copy.tree, nodes, simulated.head)
        reply = copy.tree.extend(head, answer_items(session.tree, call))
        copy.apply(CallSeen(_make_call(call, run, head, reply, simulated)))
        copy.apply(TipMoved(simulated.thread, reply))
    return copy


def _copy_context(tree: Tree, target: Tree, nodes: dict[int, int], head: int) -> int:
    uncopied: list[int] = []
    node = head
    while node not in nodes:
        uncopied.append(node)
        node = tree[node].parent
    copied = nodes[node]
    for node in reversed(uncopied):
        node_row = tree[node]
        copied = nodes[node] = target.child(copied, node_row.block, node_row.place)
    return copied


def _make_call(call: Call, run: VariantRun, head: int, reply: int, simulated: VariantCall) -> Call:
    model = run.variant.model or call.model
    output = call.usage.output if call.usage is not None else 0
    usage = simulated.usage if simulated.usage is not None else Usage(fresh=simulated.context, has_cache=False)
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
