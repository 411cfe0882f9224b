"""The recorded calls that followed the one shown, as far as they still have what staged edits change."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ctxtui.core.block import HEADER, Block
from ctxtui.core.turns import is_read
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.later_calls import charged_as, freed_blocks, later_calls, left_by
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.curation.price.rest_of_session import (
    FirstRead,
    LaterCall,
    LaterCharge,
    RestOfSession,
    rest_of_session,
)
from ctxtui.services.editing.next_request import Next
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
    before = staging.under.applied if staging.under is not None else staging.applied.without
    situation = situation_of(staging, before, coming, lambda block: staging.tokens_of(block) or 0)
    freed = list(freed_blocks(situation, staging.applied))
    if not freed:
        return None
    running = scene.running

    def front(head: int, node: int) -> int:
        return situation.hidden + (running.read(head, node) if running.counted(node) else 0)

    calls = list(later_calls(scene.session.tree, scene.tip or scene.head, later, freed, front))
    return calls, left_by(tag), coming.charge if coming and tag else None, charged_as(tag, freed)


def situation_of(
    staging: Staging, before: Applied, coming: Next | None, count: Callable[[Block], int]
) -> PolicyContext:
    """The context shown under the edits in `before`, every block counted by itself: as the command line has it."""
    context, tree = before.context, staging.scene.session.tree
    strips = staging.scene.running.strips_thinking

    def own(block: Block) -> int:
        return 0 if block.kind == HEADER else count(block)

    def tokens(position: int) -> int:
        read = is_read(tree, staging.head, context.nodes[position], strips_thinking=strips)
        return own(context.items[position].block) if read else 0

    sizes = [tokens(position) for position in range(len(context))]
    situation = PolicyContext(context=context, log=(), tokens=sizes.__getitem__, count=own, known=before)
    if coming is None:
        return situation
    return replace(situation, hidden=max(0, coming.asked.prompt.total - sum(sizes) + situation.freed))
