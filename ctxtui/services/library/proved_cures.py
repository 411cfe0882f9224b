"""What the bill says of other ways to have made the same calls, as findings and the price tag have it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.findings.cache_markers import UNASKED
from ctxtui.analysis.money import savings
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.edited_calls import EditedCalls, EditedThread
from ctxtui.analysis.money.savings import Cure, cleared_nodes
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.policies.tool_results import CLEARED
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import curated
from ctxtui.services.lab.marker_costs import under_markers

_CACHES = {savings.HOUR: "1h", savings.MINUTES: "5m", savings.CACHE: UNASKED}


def proved_cures(account: Account, counter: Counter, cures: Sequence[Cure]) -> list[Cure]:
    """Those of `cures` that save anything, what saves most first: other markers by the lab, results that are cleared at
    a call by the price tag of that call and by the recorded ones that followed."""
    threads = {one.thread: one for one in account.threads()}
    markers = under_markers(account, [_CACHES[cure.kind] for cure in cures if cure.kind in _CACHES])
    found = []
    for cure in cures:
        thread, under = threads[cure.thread], None
        if cure.kind in _CACHES:
            under = markers.of(_CACHES[cure.kind], thread.calls)
        elif cure.kind == savings.CLEAR:
            under = _clearing(account, counter, thread, cure)
        found.append(cure if under is None or under.usd is None else replace(cure, saves=-under.usd))
    return sorted((one for one in found if one.saves > 0), key=lambda one: -one.saves)


def _clearing(account: Account, counter: Counter, thread: ThreadCosts, cure: Cure) -> EditedCalls | None:
    """What clearing at the call of `cure` does to it and to those behind it."""
    before = ChosenCall(cure.thread, cure.call - 1, thread.calls[cure.call - 2])
    base = curated(account.book, counter, before, after=True, prices=account.table)
    context = base.context
    nodes = (node for node in cleared_nodes(thread, cure) if context.tree.holds(context.head, node))
    edits = [make(REPLACE, context.targets([context.position(node)]), {"text": CLEARED}) for node in sorted(nodes)]
    after = base.situation.under(edits).applied
    edited = EditedThread(thread.ledger, thread.calls, account.charge)
    return edited.under(base.situation, after, base.prices.tag(after), since=cure.call - 1)
