"""A masked copy of a session: every block that held something has a digest of its own, the rest is shared."""

from __future__ import annotations

from ctxtui.core.call import Call, Skeleton
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.masking import Masker
from ctxtui.dataclasses import replace


def scrubbed(session: Session, id_: str, masker: Masker) -> Session:
    """`session` as a session of its own named `id_`, with everything that `masker` finds masked: blocks, titles and
    labels, paths, errors, what a record says beyond. A call's skeleton that held something goes: its request can then
    be exported afresh, and no longer byte for byte."""
    tree, nodes = Tree(), {ROOT: ROOT}
    blocks = {digest: masker.block(block) for digest, block in session.tree.blocks.items()}
    for node in session.tree.nodes(1):
        nodes[node.id] = tree.child(nodes[node.parent], blocks[node.block.digest], node.place)
    about = session.about
    text = masker.text
    made = Session(tree, replace(about, id=id_, title=text(about.title), cwd=text(about.cwd)))
    made.calls = {key: _call(call, nodes, masker) for key, call in session.calls.items()}
    made.threads = {
        key: replace(one, label=text(one.label), tip=nodes[one.tip]) for key, one in session.threads.items()
    }
    made.order = {key: list(ids) for key, ids in session.order.items()}
    made.skipped = [replace(one, reason=text(one.reason)) for one in session.skipped]
    made.happenings = [replace(one, text=text(one.text)) for one in session.happenings]
    made.quotas = [one._replace(limit=text(one.limit), raw=text(one.raw)) for one in session.quotas]
    made.outcomes = [replace(one, value=text(one.value)) for one in session.outcomes]
    return made


def _call(call: Call, nodes: dict[int, int], masker: Masker) -> Call:
    extra = masker.value(call.extra)
    return replace(
        call,
        raw_head=nodes[call.raw_head],
        sent_head=nodes[call.sent_head],
        response_head=nodes[call.response_head],
        error=masker.text(call.error),
        extra=extra if isinstance(extra, dict) else {},
        skeleton=_skeleton(call.skeleton, masker),
    )


def _skeleton(skeleton: Skeleton | None, masker: Masker) -> Skeleton | None:
    if skeleton is None:
        return None
    # Texts of a body stand in it verbatim: one that holds something cannot be masked and stay a body.
    return skeleton if masker.value(skeleton.parts) == skeleton.parts else None
