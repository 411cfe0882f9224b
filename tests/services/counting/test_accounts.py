"""An account prices what-ifs as the calls themselves."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.call import Call
from ctxtui.core.session import CallSeen
from ctxtui.core.usage import Usage
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import charge_of
from tests.analysis.sessions import Script


def test_other_usage_of_a_call_costs_what_its_terms_say() -> None:
    script = Script("claude-opus-4-5")
    script.hear(block.text("hello")).call(block.text("hi"), usage=Usage(fresh=9_000, output=50))
    (call,) = script.session.calls.values()
    batched: Call = replace(call, extra={"service_tier": "batch"})
    script.session.apply(CallSeen(batched))
    account = make_account(script.session, Counter(), Settings())
    cost = account.costs[call.id]
    assert cost is not None and batched.usage is not None
    assert account.charge(batched.usage, batched) == cost.usd
    assert charge_of(batched, account.table)(batched.usage, batched.started or 0.0) == cost.usd
