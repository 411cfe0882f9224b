"""What a chat's next request will come to: foretold in a worker, while the screen hears that an answer began."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from msgspec.structs import replace

from ctxtui.agent.conversation import Conversation, ConversationStart, Draft, begin
from ctxtui.core.call import Call
from ctxtui.core.session import CallSeen, Session
from ctxtui.core.usage import Usage
from ctxtui.providers.endpoint import Endpoint
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.request_forecast import RequestForecaster
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import Priced, Pricer, local_pricer, prices_for

MODEL = "claude-opus-4-20250514"
PARAMS = {"model": MODEL, "max_tokens": 1000, "cache_control": {"type": "ephemeral"}, "stream": True}
LONG = "Of this there are more tokens than the least that a provider caches. " * 400
PATIENCE = 60.0


def chat() -> tuple[Session, Conversation]:
    session = Session()
    return session, begin(session.tree, ConversationStart("anthropic", PARAMS, (), LONG))


def teller(session: Session, prices: Pricer) -> RequestForecaster:
    counter = Counter()
    book = book_for(session, counter, Settings())
    for_model = cache_rules().for_model(book.card(MODEL), "anthropic")
    return RequestForecaster(book, counter, for_model, ChatModel(Endpoint("anthropic", "anthropic"), MODEL), prices)


def asked(conversation: Conversation, words: str) -> Draft:
    conversation.add_user_message(words)
    return conversation.draft()


def test_an_answer_that_begins_waits_for_no_price() -> None:
    session, conversation = chat()
    known = local_pricer(prices_for(Settings()))
    asks, may = threading.Event(), threading.Event()

    def slow(calls: Sequence[Call]) -> list[Priced]:
        asks.set()
        assert may.wait(PATIENCE)
        return known(calls)

    one = teller(session, slow)
    first = asked(conversation, "What is it?")
    worker = threading.Thread(target=one.forecast, args=(first, 1000.0))
    worker.start()
    assert asks.wait(PATIENCE)
    # The screen's thread, in whose place another one can be waited for.
    screen = threading.Thread(target=one.note_answer_begun, args=(first, 1001.0), daemon=True)
    screen.start()
    screen.join(PATIENCE / 4)
    waited = screen.is_alive()
    may.set()
    worker.join(PATIENCE)
    assert not waited, "the screen stands still until the process with the prices has started"
    second = one.forecast(asked(conversation, "And then?"), 1002.0)
    assert second is not None and second.read > 2000 and second.usd, "the cache holds what was asked first"


def test_what_began_is_known_whenever_it_is_told() -> None:
    known = local_pricer(prices_for(Settings()))
    found = []
    for early in (True, False):
        session, conversation = chat()
        one = teller(session, known)
        first = asked(conversation, "What is it?")
        if early:
            # A rule that asks for no forecast: the answer began before anything was foretold of it.
            one.note_answer_begun(first, 1001.0)
        now = one.forecast(first, 1000.0)
        assert now is not None and now.total > 2000 and not now.read
        if not early:
            one.note_answer_begun(first, 1001.0)
        then = one.forecast(asked(conversation, "And then?"), 1002.0)
        assert then is not None
        found.append(then.read)
    assert found[0] == 0 and found[1] > 2000


def test_a_chat_that_goes_on_knows_what_was_reported_and_what_is_cached() -> None:
    session, conversation = chat()
    known = local_pricer(prices_for(Settings()))
    first = asked(conversation, "What is it?")
    plain = teller(session, known).forecast(first, 1000.0)
    assert plain is not None
    usage = Usage(write_5m=plain.total + 290)
    heads = (first.raw_head, first.sent_head, first.sent_head)
    call = Call("c1", "main", *heads, model=MODEL, started=1000.0, first_byte=1001.0, usage=usage)
    session.fold([CallSeen(replace(call, skeleton=first.skeleton))])
    then = teller(session, known).forecast(asked(conversation, "And then?"), 1060.0)
    assert then is not None and not then.miss
    assert then.read == usage.write_5m and 0 < then.total - usage.input < 20
    late = teller(session, known).forecast(asked(conversation, "And now?"), 5000.0)
    assert late is not None and late.read == 0 and late.miss == "expired" and late.total > usage.input
