"""Recorded calls after the one shown, as they would be under the staged edits."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ctxtui.analysis.money.edited_calls import EditedCalls, EditedThread
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.core.block import HEADER, Block
from ctxtui.core.turns import is_read
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.services.editing.next_request import PricedRequest
from ctxtui.views.model.staging import Staging


def recorded_savings(
    staging: Staging, next_request: PricedRequest | None, tag: PriceTag | None, ledger: CostLedger | None
) -> EditedCalls | None:
    """Savings of the edits to the end of the recording.

    `next_request` and `tag` give the prices (None: unknown), `ledger` the costs of the later calls. None if no call
    followed, something is still being counted, or the call shown was sent under edits already.
    """
    scene = staging.scene
    if ledger is None or ledger.done < len(scene.calls) or not staging.counted or not staging.was_sent_plain:
        return None
    before = staging.under.applied if staging.under is not None else staging.applied.without_edits
    policy_context = policy_context_of(staging, before, next_request, lambda block: staging.tokens_of(block) or 0)
    thread = EditedThread(ledger, scene.calls, next_request.charge if next_request and tag else None)
    return thread.calls_under(policy_context, staging.applied, tag, since=scene.index + 1)


def policy_context_of(
    staging: Staging, before: Applied, next_request: PricedRequest | None, count: Callable[[Block], int]
) -> PolicyContext:
    """The policy context of the call shown under the edits in `before`.

    Without `next_request`, tokens that are in no block are not known (`hidden` is 0).
    """
    context, tree = before.context, staging.scene.session.tree
    strips = staging.scene.running.strips_thinking

    def count_own(block: Block) -> int:
        return 0 if block.kind == HEADER else count(block)

    def tokens(position: int) -> int:
        read = is_read(tree, staging.head, context.nodes[position], strips_thinking=strips)
        return count_own(context.items[position].block) if read else 0

    sizes = [tokens(position) for position in range(len(context))]
    policy_context = PolicyContext(context=context, log=(), tokens=sizes.__getitem__, count=count_own, computed=before)
    if next_request is None:
        return policy_context
    return replace(
        policy_context, hidden=max(0, next_request.question.prompt.total - sum(sizes) + policy_context.freed)
    )
