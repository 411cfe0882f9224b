"""The recorded calls that followed the one shown, as far as they still have what staged edits change."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ctxtui.curation.price.later_calls import charged_as, later_calls, left_by
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.curation.price.rest_of_session import (
    FirstRead,
    FreedBlock,
    LaterCall,
    LaterCharge,
    RestOfSession,
    rest_of_session,
)
from ctxtui.services.editing.next_request import Next
from ctxtui.views.model.scene import Scene
from ctxtui.views.model.staging import Staging


def rest_under(staging: Staging, coming: Next | None, tag: PriceTag | None) -> RestOfSession | None:
    """What the edits in question would have saved to the end of the recording, with the prices of `coming` and `tag`
    (None: not known yet); None where no call followed, or all of it is not counted yet."""
    asked = asked_of_rest(staging, coming, tag)
    return rest_of_session(*asked) if asked is not None else None


def asked_of_rest(
    staging: Staging, coming: Next | None, tag: PriceTag | None
) -> tuple[list[LaterCall], FirstRead | None, LaterCharge | None, float] | None:
    """What `rest_of_session` is asked: the calls that followed, what is left of the cache for the first of them, their
    prices, and the tag's tokens for one of ours."""
    scene = staging.scene
    later = scene.calls[scene.index + 1 :]
    if not later or not staging.counted or not staging.unsent:
        return None
    if not scene.running.counted(max(call.sent_head for call in later)):
        # A call that just left: its context is counted in a moment.
        return None
    freed = list(_freed(staging))
    if not freed:
        return None
    calls = list(later_calls(scene.session.tree, scene.tip or scene.head, later, freed, partial(_front, scene)))
    return calls, left_by(tag), coming.charge if coming and tag else None, charged_as(tag, freed)


def _front(scene: Scene, head: int, node: int) -> int:
    return scene.missing + (scene.running.read(head, node) if scene.running.counted(node) else 0)


def _freed(staging: Staging) -> Iterator[FreedBlock]:
    """The blocks that the edits in question change, with the tokens that go: without what other edits freed before."""
    under, scene = staging.under, staging.scene
    nodes = staging.applied.context.nodes
    before = under.fates if under is not None else {}
    found: dict[int, int] = {}
    for at, change in staging.applied.changes.items():
        known = before.get(change.node)
        found[at] = staging.fates[change.node].freed - (known.freed if known is not None else 0)
    for sign, news in ((-1, staging.news), (1, under.news if under is not None else ())):
        for new in news:
            found[new.at] = found.get(new.at, 0) + sign * (new.tokens or 0)
    for at, tokens in found.items():
        if tokens:
            stood = nodes[at - 1] if 0 < at <= len(nodes) else 0
            front = scene.running.read(staging.head, stood) if stood and scene.running.counted(stood) else 0
            yield FreedBlock(at, scene.missing + front, tokens)
