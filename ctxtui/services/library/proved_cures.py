"""What the bill says of other ways to have made the same calls, by the lab: as findings have it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ctxtui.analysis.findings.cache_markers import UNASKED
from ctxtui.analysis.lab.proof import Trial, proofs
from ctxtui.analysis.money import savings
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.analysis.money.savings import Cure, cleared_nodes
from ctxtui.core.edit import Edit, make
from ctxtui.core.edit_kinds import DROP, REPLACE
from ctxtui.curation.context import Context
from ctxtui.curation.policies.tool_results import CLEARED
from ctxtui.services.counting.accounts import Account
from ctxtui.services.library.finding_proofs import bench_of_account, is_long_thread

_CACHES = {savings.HOUR: "1h", savings.MINUTES: "5m", savings.CACHE: UNASKED}


def proved_cures(account: Account, cures: Sequence[Cure]) -> list[Cure]:
    """Those of `cures` that save anything in the lab, what saves most first. What it cannot price, and what is too long
    for it, saves what is worked out from the recorded calls."""
    threads = {one.thread: one for one in account.threads()}
    trials = [_trial(account, threads[cure.thread], cure) for cure in cures]
    tried = iter(proofs(bench_of_account(account), [trial for trial in trials if trial is not None]))
    found = []
    for cure, trial in zip(cures, trials, strict=True):
        proof = next(tried) if trial is not None else None
        known = proof is not None and proof.calls and not proof.refused
        usd = proof.money if proof is not None and known else None
        found.append(replace(cure, saves=cure.saves if usd is None else usd, edits=()))
    return sorted((one for one in found if one.saves > 0), key=lambda one: -one.saves)


def _trial(account: Account, thread: ThreadCosts, cure: Cure) -> Trial | None:
    last = len(thread.calls)
    if cure.kind in _CACHES:
        return Trial(cure.thread, last, cache=_CACHES[cure.kind])
    edits = cure.edits or tuple(_edits(account, thread, cure))
    length = account.session.tree[thread.calls[-1].sent_head].depth
    if not edits or is_long_thread(last, length):
        return None
    return Trial(cure.thread, last, edits, since=max(0, cure.call - 1))


def _edits(account: Account, thread: ThreadCosts, cure: Cure) -> list[Edit]:
    tree, call = account.session.tree, thread.calls[cure.call - 1]
    context = Context.of_call(tree, call, call.sent_head)
    if cure.kind == savings.TOOLS:
        idle = [p for p in context.tools if context.reading(p).name in cure.names]
        return [make(DROP, context.targets([p])) for p in idle]
    places = sorted(tree[node].depth - 1 for node in cleared_nodes(thread, cure))
    return [make(REPLACE, context.targets([p]), {"text": CLEARED}) for p in places]
