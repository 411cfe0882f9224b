"""A masked copy of a session: every block that held something has a digest of its own, the rest is shared."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.core.block import Place
from ctxtui.core.call import Call, Skeleton
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.masking import Masker


def scrubbed(session: Session, id_: str, masker: Masker) -> Session:
    """`session` as a session of its own named `id_`, with everything that `masker` finds masked: blocks, roles, titles
    and labels, paths, errors, what a record says beyond; at `text` ids too. A call's skeleton that held something goes:
    its request can then be exported afresh, and no longer byte for byte."""
    tree, nodes = Tree(), {ROOT: ROOT}
    masker.follow_all(session.tree)
    blocks = {digest: masker.mask_block(block) for digest, block in session.tree.blocks.items()}
    places = {
        place: Place(*map(masker.mask_word, place)) for place in dict.fromkeys(n.place for n in session.tree.nodes(1))
    }
    for node in session.tree.nodes(1):
        nodes[node.id] = tree.child(nodes[node.parent], blocks[node.block.digest], places[node.place])
    about = session.about
    text, word = masker.mask_text, masker.mask_word
    made = Session(
        tree,
        replace(
            about,
            id=id_,
            title=masker.mask_line(about.title),
            cwd=text(about.cwd),
            source=word(about.source),
            client=word(about.client),
            version=word(about.version),
        ),
    )
    calls = [_call(call, nodes, masker) for call in session.calls.values()]
    made.calls = {call.id: call for call in calls}
    threads = [
        replace(
            one,
            id=_thread(one.id, masker),
            parent=_thread(one.parent, masker),
            label=text(one.label),
            tip=nodes[one.tip],
        )
        for one in session.threads.values()
    ]
    made.threads = {one.id: one for one in threads}
    made.order = {_thread(key, masker): [masker.mask_id(id_) for id_ in ids] for key, ids in session.order.items()}
    made.skipped = [replace(one, reason=text(one.reason)) for one in session.skipped]
    made.happenings = [
        replace(
            one,
            kind=word(one.kind),
            text=text(one.text),
            thread=_thread(one.thread, masker),
            after=masker.mask_id(one.after),
        )
        for one in session.happenings
    ]
    made.quotas = [one._replace(limit=text(one.limit), raw=text(one.raw)) for one in session.quotas]
    made.outcomes = [replace(one, name=word(one.name), value=text(one.value)) for one in session.outcomes]
    return made


def _thread(id_: str, masker: Masker) -> str:
    return id_ if id_ == MAIN else masker.mask_id(id_)


def _call(call: Call, nodes: dict[int, int], masker: Masker) -> Call:
    extra = masker.mask_value(call.extra, "extra")
    return replace(
        call,
        id=masker.mask_id(call.id),
        thread=_thread(call.thread, masker),
        raw_head=nodes[call.raw_head],
        sent_head=nodes[call.sent_head],
        response_head=nodes[call.response_head],
        provider=masker.mask_word(call.provider),
        model=masker.mask_word(call.model),
        stop_reason=masker.mask_word(call.stop_reason),
        epoch=replace(call.epoch, detail=masker.mask_word(call.epoch.detail)),
        error=masker.mask_text(call.error),
        extra=extra if isinstance(extra, dict) else {},
        skeleton=_skeleton(call.skeleton, masker),
    )


def _skeleton(skeleton: Skeleton | None, masker: Masker) -> Skeleton | None:
    if skeleton is None:
        return None
    # Texts of a body stand in it verbatim: one that holds something cannot be masked and stay a body.
    return skeleton if masker.mask_value(skeleton.parts, "content") == skeleton.parts else None
