"""What keeping a cache warm costs, however long the pause: at most twice what is best."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ctxtui.analysis.cache.keep_warm import REFRESH_MARGIN_S, WarmPrefix, decide, refresh_request
from ctxtui.core.errors import Malformed
from ctxtui.wire.registry import DIALECTS

CAP = 1e9


def pause_cost(seconds: float, life: float, refresh: float, rewrite: float, cap: float = CAP) -> tuple[float, int]:
    """USD of a pause of this length, kept warm as `decide` says, and the number of refreshes."""
    expires, paid, count = life, 0.0, 0
    while True:
        prefix = WarmPrefix(expires=expires, refresh_usd=refresh, rewrite_usd=rewrite, pause_usd=paid)
        at = decide(prefix, paid, cap).at
        if at is None or at >= seconds:
            return paid + (rewrite if expires <= seconds else 0.0), count
        expires, paid, count = at + life, paid + refresh, count + 1


@given(
    st.floats(1, 1e6),
    st.sampled_from([300.0, 3600.0]),
    st.floats(0.001, 10),
    st.floats(0.001, 100),
)
@example(300.0, 300.0, 1.0, 1.0)
def test_a_pause_costs_at_most_twice_the_better_choice(
    seconds: float, life: float, refresh: float, rewrite: float
) -> None:
    paid, count = pause_cost(seconds, life, refresh, rewrite)
    # A prefix that expires at the very end of the pause has expired.
    periods = (seconds - life) / (life - REFRESH_MARGIN_S)
    assume(abs(periods - round(periods)) > 1e-6 or seconds == life)
    needed = 0 if seconds < life else math.floor(periods) + 1
    best = 0.0 if seconds < life else min(rewrite, needed * refresh)
    assert paid <= 2 * best + 1e-9 or (seconds < life and paid <= refresh)
    assert count * refresh <= rewrite + 1e-9


@given(st.floats(1, 1e6), st.floats(0.001, 10), st.floats(0.001, 100), st.floats(0, 50))
def test_never_more_than_the_limit(seconds: float, refresh: float, rewrite: float, cap: float) -> None:
    _, count = pause_cost(seconds, 300.0, refresh, rewrite, cap)
    assert count * refresh <= cap + 1e-9


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"expires": None}, "nothing is cached"),
        ({"refresh_usd": None}, "the price is not known"),
        ({"rewrite_usd": None}, "the price is not known"),
        ({"pause_usd": 0.95}, "it would cost more than the rewrite that it avoids"),
        ({"refresh_usd": 0.6, "rewrite_usd": 0.7}, "the limit of $0.5 is reached"),
    ],
)
def test_it_says_why_not(changed: dict[str, float | None], why: str) -> None:
    usual: dict[str, float | None] = {"expires": 300.0, "refresh_usd": 0.1, "rewrite_usd": 1.0, "pause_usd": 0.0}
    assert decide(WarmPrefix(**usual | changed), 0.0, 0.5) == (None, why)  # type: ignore[arg-type]
    assert decide(WarmPrefix(**usual), 0.0, 0.5).at == 300.0 - REFRESH_MARGIN_S  # type: ignore[arg-type]


BODY = b'{ "model":"claude-x", "max_tokens" : 32000,"stream":true, %b"messages":[{"role":"user","content":"hoi"}]}'


@pytest.mark.parametrize(
    ("thinking", "limit"),
    [
        (b"", 1),
        (b'"thinking":{"type":"adaptive"}, ', 1),
        (b'"thinking":{"type":"enabled","budget_tokens":2048}, ', 2049),
    ],
)
def test_only_the_limit_of_the_answer_differs(thinking: bytes, limit: int) -> None:
    body = BODY % thinking
    made = refresh_request(DIALECTS["anthropic"].decode_request(body))
    assert made.body == body.replace(b"32000", b"%d" % limit) and made.answer_tokens == limit
    assert json.loads(made.body) == json.loads(body) | {"max_tokens": limit}


def test_another_api_is_refused() -> None:
    body = b'{"model":"gpt-x","messages":[{"role":"user","content":"hoi"}]}'
    with pytest.raises(Malformed, match="Messages API"):
        refresh_request(DIALECTS["openai_chat"].decode_request(body))
