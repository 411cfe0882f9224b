"""Make a masked copy of a session."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.core.block import Place
from ctxtui.core.call import Call, Skeleton
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.masking import Masker


def mask_session(session: Session, id_: str, masker: Masker) -> Session:
    """Copy `session` under the name `id_`, with everything masked that `masker` finds.

    Masked are blocks, roles, titles, labels, paths, errors, other record members; with the level `text` also ids. A
    call's skeleton with a secret is removed: its request can then be exported, but not byte for byte.
    """
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
    copy = Session(
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
    calls = [_mask_call(call, nodes, masker) for call in session.calls.values()]
    copy.calls = {call.id: call for call in calls}
    threads = [
        replace(
            item,
            id=_mask_thread(item.id, masker),
            parent=_mask_thread(item.parent, masker),
            label=text(item.label),
            tip=nodes[item.tip],
        )
        for item in session.threads.values()
    ]
    copy.threads = {item.id: item for item in threads}
    copy.order = {_mask_thread(key, masker): [masker.mask_id(id_) for id_ in ids] for key, ids in session.order.items()}
    copy.skipped = [replace(item, reason=text(item.reason)) for item in session.skipped]
    copy.happenings = [
        replace(
            item,
            kind=word(item.kind),
            text=text(item.text),
            thread=_mask_thread(item.thread, masker),
            after=masker.mask_id(item.after),
        )
        for item in session.happenings
    ]
    copy.quotas = [item._replace(limit=text(item.limit), raw=text(item.raw)) for item in session.quotas]
    copy.outcomes = [replace(item, name=word(item.name), value=text(item.value)) for item in session.outcomes]
    return copy


def _mask_thread(id_: str, masker: Masker) -> str:
    return id_ if id_ == MAIN else masker.mask_id(id_)


def _mask_call(call: Call, nodes: dict[int, int], masker: Masker) -> Call:
    extra = masker.mask_value(call.extra, "extra")
    return replace(
        call,
        id=masker.mask_id(call.id),
        thread=_mask_thread(call.thread, masker),
        raw_head=nodes[call.raw_head],
        sent_head=nodes[call.sent_head],
        response_head=nodes[call.response_head],
        provider=masker.mask_word(call.provider),
        model=masker.mask_word(call.model),
        stop_reason=masker.mask_word(call.stop_reason),
        epoch=replace(call.epoch, detail=masker.mask_word(call.epoch.detail)),
        error=masker.mask_text(call.error),
        extra=extra if isinstance(extra, dict) else {},
        skeleton=_mask_skeleton(call.skeleton, masker),
    )


def _mask_skeleton(skeleton: Skeleton | None, masker: Masker) -> Skeleton | None:
    if skeleton is None:
        return None
    # A body's texts are verbatim parts of it: a body with a secret cannot be masked and remain valid.
    return skeleton if masker.mask_value(skeleton.parts, "content") == skeleton.parts else None
