"""Calls sent again, against the offline provider's playback: the noise floor agrees, a planted load-bearing block ranks
first and removed noise last; the price is quoted first, and nothing is sent above the budget.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.content.agreement import ALIKE, UNCHANGED, WORSE, compare_variants, rank_by_importance
from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.curation.policies.policy import Step
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.offline import Provider, Server, offline
from ctxtui.offline.playback import Playback, RecordedCall
from ctxtui.pricing.price import price
from ctxtui.pricing.rates import find_rates
from ctxtui.providers.endpoint import ANTHROPIC, Endpoint
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.resending import (
    PlannedResend,
    ResendQuote,
    ResentRequest,
    VariantSpec,
    check_budget,
    list_omittable_blocks,
    max_usd,
    plan_resends,
    quote_plan,
    rebuild_request,
    resendable_calls,
    send_plan,
)
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import ANSWER_LIMITS
from tests.cases.sessions import Story, use

LOAD, NOISE = "The rule is in /srv/rules/seven.txt and nowhere else. ", "Rain fell on the harbour all day. "
TOOL = {"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}
HOSTED = ChatModel(Endpoint("anthropic", ANTHROPIC), "claude-opus-4-20250514")


def session(rounds: int = 6) -> Session:
    """A session whose requests are recorded whole: a result that every later step rests on, and one that none does."""
    story = Story(hidden_tokens=0)
    story.add(Item(blocks.make("tool", TOOL), Place("tools")))
    story.user("find the rule")
    for id_, text in (("t1", LOAD * 60), ("t2", NOISE * 90)):
        story.call(use(id_, "Read", file_path=f"/srv/{id_}.txt"), fidelity=Fidelity.WIRE).results((id_, text))
    for n in range(rounds):
        step = use(f"s{n}", "Read", file_path=f"/srv/rules/seven_{n}.txt")
        story.call(step, fidelity=Fidelity.WIRE).results((f"s{n}", f"part {n} of it"))
    story.call("That is the rule.", fidelity=Fidelity.WIRE)
    return story.session


def accounted(made: Session) -> tuple[Account, Counter, Settings]:
    counter, settings = Counter(), Settings()
    return make_account(made, counter, settings), counter, settings


def without(made: Session, text: str) -> list[RecordedCall]:
    """The recorded calls as they would be answered without the result that says `text`: as ever."""
    from ctxtui.curation.policies.tool_results import CLEARED

    found: list[RecordedCall] = []
    for call in made.thread_calls(MAIN):
        items = []
        for item in made.tree.items(call.sent_head):
            if text.encode() in item.block.body:
                value = item.block.value()
                assert isinstance(value, dict)
                item = Item(blocks.from_part({**value, "content": CLEARED}), item.place)
            items.append(item)
        found.append((items, made.tree.items(call.response_head, call.sent_head), call.stop_reason))
    return found


def playback(made: Session) -> Playback:
    """Answers as recorded, also where the noise is gone; where anything else is gone, with another step."""
    lost = [Item(blocks.header("assistant"), Place("messages", "assistant"))]
    lost.append(Item(blocks.from_part(use("x", "Read", file_path="/nowhere.txt")), Place("messages", "assistant")))
    calls = made.thread_calls(MAIN)
    decoys: list[RecordedCall] = [
        ((), [*lost, Item(blocks.from_part(use("y", "Read")), lost[1].place)], "tool_use") for _ in calls
    ]
    right = [
        (made.tree.items(call.sent_head), made.tree.items(call.response_head, call.sent_head), call.stop_reason)
        for call in calls
    ]
    return Playback([*decoys, *right, *without(made, NOISE)])


def played(made: Session, variants: Sequence[VariantSpec], numbers: Sequence[int]):  # type: ignore[no-untyped-def]
    known, counter, settings = accounted(made)
    server = Server(Provider(playback=playback(made)))
    with offline(server) as running:
        partner = replace(HOSTED, endpoint=Endpoint("here", ANTHROPIC, running.url, "k", local=True))
        plan = list(plan_resends(known, counter, settings, partner, MAIN, numbers, variants))
        trials = asyncio.run(send_plan(plan, partner, lambda usage, model: None))
    return plan, trials, server


def test_unchanged_calls_agree_and_the_load_bearing_block_ranks_first() -> None:
    made = session()
    known, _, _ = accounted(made)
    numbers = resendable_calls(made, MAIN)[2:]
    last = made.thread_calls(MAIN)[-1]
    heavy = list_omittable_blocks(known, ChosenCall(MAIN, len(numbers), last), 2)
    assert len(heavy) == 2
    variants = [VariantSpec(name=one.name, without=one.digest) for one in heavy]
    _, trials, server = played(made, variants, numbers)
    found = compare_variants(trials)
    floor = found[0]
    assert floor.variant == UNCHANGED and floor.tools.hits == floor.tools.cases == len(numbers) and floor.failed == 0
    ranked = rank_by_importance(found, {one.name: one.tokens for one in heavy})
    bodies = {one.name: made.tree.blocks[one.digest].body for one in heavy}
    assert LOAD.encode() in bodies[ranked[0].variant], "what every step rests on ranks first"
    assert NOISE.encode() in bodies[ranked[-1].variant] and ranked[-1].tools.share == 1.0, "noise ranks last"
    assert ranked[0].calls.share == 0.0 and ranked[0].lost == tuple(numbers) and ranked[0].verdict == WORSE
    assert ranked[-1].verdict == ALIKE and len(server.seen) == 3 * len(numbers)


def test_a_text_like_the_users_last_one_is_not_cleared() -> None:
    made = session()
    known, _, _ = accounted(made)
    last = made.thread_calls(MAIN)[-1]
    texts = [
        item for item in made.tree.items(last.sent_head) if item.place.role == "user" and item.block.kind == "text"
    ]
    repeated = made.tree.extend(last.sent_head, [*[texts[0]] * 2])
    chosen = ChosenCall(MAIN, 1, replace(last, sent_head=repeated))
    assert texts[0].block.digest not in [one.digest for one in list_omittable_blocks(known, chosen, 99)]


def test_it_is_the_same_twice() -> None:
    made = session(3)
    variants = [VariantSpec(name="clear", steps=(Step(POLICIES["clear_tool_results"], {"trigger": 0, "keep": 1}),))]
    numbers = resendable_calls(made, MAIN)[-3:]
    first, second = played(made, variants, numbers), played(made, variants, numbers)
    assert first[0] == second[0] and compare_variants(first[1]) == compare_variants(second[1])


def test_nothing_is_sent_above_the_budget_or_at_an_unknown_price() -> None:
    made = session(3)
    known, counter, settings = accounted(made)
    plan = list(plan_resends(known, counter, settings, HOSTED, MAIN, resendable_calls(made, MAIN), []))
    found = quote_plan(plan)
    assert found.requests == len(plan) and found.usd is not None and found.usd > 0
    check_budget(found, found.usd + 0.01)
    with pytest.raises(CtxtuiError, match="nothing was sent"):
        check_budget(found, found.usd / 2)
    unknown = replace(HOSTED, model="nobody-knows-1")
    with pytest.raises(CtxtuiError, match="no price is known"):
        check_budget(quote_plan(list(plan_resends(known, counter, settings, unknown, MAIN, [1], []))), 100.0)


def test_a_local_gateway_is_quoted_at_list_price_and_a_local_server_at_nothing() -> None:
    known, _, _ = accounted(session(1))

    def quote(endpoint: Endpoint, model: str = HOSTED.model) -> float | None:
        return max_usd(replace(HOSTED, endpoint=endpoint, model=model), 10**6, 10**6, known.table)

    gateway = Endpoint("anthropic", ANTHROPIC, "http://127.0.0.1:1", local=True)
    assert quote(gateway) == quote(HOSTED.endpoint) != 0.0
    assert quote(gateway, "nobody-knows-1") == 0.0
    assert quote(dataclasses.replace(gateway, kind="ollama")) == 0.0
    assert quote(dataclasses.replace(gateway, kind="ollama"), "nobody-knows-1:cloud") == 0.0


@pytest.mark.parametrize("model", ["gpt-5.4", "claude-sonnet-4-5", "gemini-2.5-pro"])
def test_a_long_prompt_is_quoted_at_the_rate_of_long_prompts(model: str) -> None:
    known, _, _ = accounted(session(1))
    provider = {"gpt": "openai", "cla": "anthropic", "gem": "google"}[model[:3]]
    chat_model = ChatModel(Endpoint(provider, ANTHROPIC), model)
    usage = Usage(fresh=300_000, output=1_000)
    charged = price(usage, model, provider, None, known.table)
    quoted = max_usd(chat_model, 300_000, 1_000, known.table)
    assert charged is not None and quoted is not None and quoted >= charged.usd
    plain = max_usd(chat_model, 1_000, 0, known.table)
    assert plain is not None and quoted > 300 * plain, "the short rate was used"


def test_a_quote_is_on_the_terms_of_the_call() -> None:
    made = session(1)
    known, counter, settings = accounted(made)
    plain = quote_plan(list(plan_resends(known, counter, settings, HOSTED, MAIN, [2], []))).usd
    call = made.thread_calls(MAIN)[1]
    made.calls[call.id] = replace(call, extra={**call.extra, "usage": {"inference_geo": "us"}})
    dearer = quote_plan(list(plan_resends(known, counter, settings, HOSTED, MAIN, [2], []))).usd
    assert plain and dearer == pytest.approx(1.1 * plain)
    for discount in ({"processing": "batch"}, {"service_tier": "flex"}):
        made.calls[call.id] = replace(call, extra={**call.extra, **discount})
        assert quote_plan(list(plan_resends(known, counter, settings, HOSTED, MAIN, [2], []))).usd == plain
    made.calls[call.id] = replace(call, extra={**call.extra, "service_tier": "priority"})
    quote = quote_plan(list(plan_resends(known, counter, settings, HOSTED, MAIN, [2], [])))
    assert quote.usd is None, "the price of this tier is not published"


def test_a_quote_is_at_the_rate_of_the_longest_lifetime_that_the_request_asks_for() -> None:
    chat_model = ChatModel(Endpoint("openai", "openai_responses"), "gpt-5.6-sol")
    quotes = []
    for lifetime in ("30m", "12h"):
        body = {**RESPONSES_BODY, "prompt_cache_options": {"mode": "explicit", "ttl": lifetime}}
        request = DIALECTS["openai_responses"].decode_request(canonical.dumps(body))
        made = Session()
        head = made.tree.extend(ROOT, request.items)
        made.apply(CallSeen(Call("1", MAIN, head, head, head, skeleton=request.skeleton, model="gpt-5.6-sol")))
        known, counter, settings = accounted(made)
        quotes += plan_resends(known, counter, settings, chat_model, MAIN, [1], [])
    rates = find_rates("gpt-5.6-sol", "openai", table=known.table)
    short, long = (quote.usd for quote in quotes)
    assert rates is not None and short is not None and long is not None and not quotes[0].refused
    assert long - short == pytest.approx(quotes[0].input * (rates.write_12h - rates.write_30m)) != 0


QUESTION = {"role": "user", "content": "x"}
RESPONSES_BODY = {"model": "m", "input": [QUESTION]}
CHAT_BODY = {"model": "m", "messages": [QUESTION]}
GOOGLE_BODY = {"contents": [{"role": "user", "parts": [{"text": "x"}]}]}
LIMITED = {"model": "m", "max_tokens": 64_000, "messages": [QUESTION]}


@pytest.mark.parametrize(
    ("dialect", "body", "usage", "limit"),
    [
        ("anthropic", LIMITED, Usage(output=100), 1_024),
        ("anthropic", LIMITED, Usage(output=800), 1_600),
        ("anthropic", {**LIMITED, "max_tokens": 300}, Usage(output=300), 300),
        ("anthropic", {**LIMITED, "thinking": {"type": "enabled", "budget_tokens": 9_000}}, Usage(output=9), 64_000),
        ("anthropic", {**LIMITED, "thinking": {"type": "disabled"}}, Usage(output=9), 1_024),
        ("openai_chat", {**CHAT_BODY, "max_completion_tokens": 64_000}, Usage(output=9), 1_024),
        ("openai_chat", {**CHAT_BODY, "max_completion_tokens": 64_000, "reasoning_effort": "high"}, Usage(), 64_000),
        ("openai_chat", {**CHAT_BODY, "max_completion_tokens": 64_000, "reasoning_effort": "none"}, Usage(), 1_024),
        ("openai_chat", CHAT_BODY, Usage(output=900, reasoning=800), Settings().answer_tokens),
        ("openai_responses", {**RESPONSES_BODY, "reasoning": {"effort": "high"}}, Usage(), Settings().answer_tokens),
        ("openai_responses", RESPONSES_BODY, Usage(output=9), 1_024),
        ("google", {**GOOGLE_BODY, "generationConfig": {"maxOutputTokens": 65_536, "topK": 1}}, Usage(), 1_024),
        ("google", {**GOOGLE_BODY, "generation_config": {"max_output_tokens": 65_536}}, Usage(), 1_024),
        ("google", GOOGLE_BODY, Usage(output=9), 1_024),
        ("ollama_chat", {**CHAT_BODY, "options": {"num_predict": 65_536, "top_k": 1}}, Usage(), 1_024),
        ("ollama_chat", CHAT_BODY, Usage(output=9), 1_024),
    ],
)
def test_the_answer_is_limited_as_quoted(dialect: str, body: dict[str, Json], usage: Usage, limit: int) -> None:
    rebuilt = rebuilt_request(dialect, body, usage)
    assert rebuilt.answer == limit and not rebuilt.refused
    request = DIALECTS[dialect].decode_request(rebuilt.body)
    assert request.answer_limit == limit and len(re.findall(rb"[nN]um_predict|[mM]ax_?\w*[tT]okens", rebuilt.body)) == 1
    assert (b'"topK":1' in rebuilt.body) == (b"topK" in canonical.dumps(body))


def test_the_limit_is_called_as_recorded_or_as_the_provider_calls_it() -> None:
    for body, name in ((CHAT_BODY, "max_completion_tokens"), ({**CHAT_BODY, "max_tokens": 9}, "max_tokens")):
        sent = canonical.loads(rebuilt_request("openai_chat", body, Usage()).body)
        assert [key for key in sent if key in ANSWER_LIMITS] == [name]


def test_a_call_whose_parameters_are_not_recorded_gets_those_of_a_chat() -> None:
    made = session(1)
    call = made.thread_calls(MAIN)[1]
    context = Context.of_call(made.tree, call, call.sent_head)
    rebuilt = rebuild_request(Applied(context, length=len(context)), call, HOSTED, Settings())
    sent = canonical.loads(rebuilt.body)
    assert call.skeleton is None and not rebuilt.refused
    assert sent["max_tokens"] == rebuilt.answer == 1_024 and "cache_control" not in sent
    called = {"type": "function_call", "call_id": "c", "name": "Read", "arguments": "{}"}
    items = [called, {"type": "function_call_output", "call_id": "c", "output": "x"}]
    rebuilt = rebuilt_request("openai_responses", {**RESPONSES_BODY, "input": items}, Usage(), recorded=False)
    assert canonical.loads(rebuilt.body)["store"] is False


def test_nothing_that_names_a_user_or_a_conversation_is_sent_again() -> None:
    named = {
        "user": "u",
        "metadata": {"a": "b"},
        "prompt_cache_key": "k",
        "safety_identifier": "s",
        "conversation": "conv_1",
        "previous_response_id": "resp_1",
    }
    sent = canonical.loads(rebuilt_request("openai_responses", {**RESPONSES_BODY, **named}, Usage()).body)
    assert isinstance(sent, dict) and not set(named) & set(sent)


def rebuilt_request(dialect: str, body: dict[str, Json], usage: Usage, *, recorded: bool = True) -> ResentRequest:
    request = DIALECTS[dialect].decode_request(canonical.dumps(body))
    tree = Tree()
    head = tree.extend(ROOT, request.items)
    call = Call("1", MAIN, head, head, head, skeleton=request.skeleton if recorded else None, usage=usage)
    context = Context.of_call(tree, call, head)
    applied = Applied(context, length=len(context))
    return rebuild_request(applied, call, ChatModel(Endpoint("openai", dialect), "m"), Settings())


def test_a_quote_is_no_less_than_what_is_charged() -> None:
    made = session(2)
    known, counter, settings = accounted(made)
    for one in plan_resends(known, counter, settings, HOSTED, MAIN, resendable_calls(made, MAIN), []):
        call = made.thread_calls(MAIN)[one.number - 1]
        paid = known.costs[call.id]
        assert paid is not None and one.usd is not None and one.usd >= paid.usd


def test_what_cannot_be_sent_again_says_why() -> None:
    bare = Story().user("hi").call("hello").session
    with pytest.raises(CtxtuiError, match="lacks system prompt and tools"):
        resendable_calls(bare, MAIN)
    story = Story(hidden_tokens=0)
    story.add(Item(blocks.make("tool", TOOL), Place("tools"))).user("go").call(fidelity=Fidelity.WIRE)
    made = story.session
    known, counter, settings = accounted(made)
    other = ChatModel(Endpoint("openai", "openai_chat"), "gpt-5")
    plan = list(plan_resends(known, counter, settings, other, MAIN, [1], []))
    assert plan[0].refused and quote_plan(plan) == ResendQuote(0, 0.0, 1)
    trials = asyncio.run(
        send_plan(
            [replace(plan[0])],
            replace(HOSTED, endpoint=Endpoint("here", ANTHROPIC, "http://127.0.0.1:9", "k", local=True)),
            lambda usage, model: None,
        )
    )
    assert trials[0].new is None and trials[0].error == plan[0].refused


def test_a_provider_that_fails_is_a_trial_that_failed() -> None:
    made = session(1)
    known, counter, settings = accounted(made)
    dead = replace(HOSTED, endpoint=Endpoint("here", ANTHROPIC, "http://127.0.0.1:9", "k", local=True))
    plan: list[PlannedResend] = list(plan_resends(known, counter, settings, dead, MAIN, [1], []))
    trials = asyncio.run(send_plan(plan, dead, lambda usage, model: None))
    assert trials[0].new is None and trials[0].error and compare_variants(trials)[0].failed == 1
