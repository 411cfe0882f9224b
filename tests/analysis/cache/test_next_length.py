"""The next request is as long as the context that it goes on from, and what came since: by one source."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.cached_input import entry_lifetime
from ctxtui.analysis.cache.forecast import predicted_usage
from ctxtui.analysis.cache.what_if import Replay
from ctxtui.analysis.figures import figures
from ctxtui.core import block
from ctxtui.core.call import ESTIMATED_INPUT, Call
from ctxtui.core.session import CallSeen
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules_by_call
from tests.analysis.sessions import Script, book

MODEL = "claude-opus-4-5-20251101"


def text(words: int) -> block.Block:
    return block.from_part({"type": "text", "text": "word " * words})


def gone_on(script: Script, call: Call) -> tuple[Book, int, int]:
    """A book, what the context of `call` comes to, and the request after its answer."""
    made = book(script.session, model_table())
    following = Replay(made, cache_rules_by_call(made)).request_after(call, call.response_head)
    total = following.prompt.total
    if following.forecast is not None:
        assert predicted_usage(following.forecast).input == total
    return made, figures(made, call).context_tokens, total


def with_report(script: Script, tokens: int) -> Call:
    return script.call(text(50), usage=Usage(fresh=tokens, output=60))


def with_estimate(script: Script, tokens: int) -> Call:
    call = script.call(text(50))
    call = replace(call, extra={**call.extra, ESTIMATED_INPUT: tokens})
    script.session.apply(CallSeen(call))
    return call


@pytest.mark.parametrize("said", [with_report, with_estimate])
@pytest.mark.parametrize("before", [None, with_report, with_estimate])
@pytest.mark.parametrize("beyond", [900, 0, -300])
def test_what_a_context_has_beyond_its_blocks_travels_with_the_next_call(said, before, beyond: int) -> None:  # type: ignore[no-untyped-def]
    script = Script(MODEL)
    script.hear(text(1_000))
    if before is not None:
        before(script, 2_000)
        script.hear(text(500))
    blocks = sum(book(script.session, model_table()).sums(MODEL, script.head)) if before is not None else 1_000
    call = said(script, blocks + 1_000 + beyond)
    made, context, total = gone_on(script, call)
    answer = sum(made.sums(MODEL, call.response_head)) - sum(made.sums(MODEL, call.sent_head))
    assert context == blocks + 1_000 + beyond
    assert answer > 0 and context + answer - 15 <= total <= context + answer + 15


def test_the_longest_life_is_that_of_the_calls_asked_of_now() -> None:
    script = Script(MODEL)
    written = [Usage(fresh=9), Usage(write_5m=9), Usage(write_1h=9), Usage(write_5m=9)]
    calls = [script.call(text(5), usage=one) for one in written]
    replay = Replay(book(script.session, model_table()), cache_rules_by_call(book(script.session, model_table())))
    for asked in (calls[:1], calls[:2], calls, calls[:2], calls[1:], calls[3:], [], calls):
        assert replay.longest_life(asked) == max(map(entry_lifetime, asked), default=0.0)
