"""OpenAI's caches, by hand: breakpoints from 5.6 on, whole steps before (facts §4)."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.cache import outcome as why
from tests.cache.bodies import Desk, figures, rules_of


def said(role: str, *texts: str, mark: int = -1, **more: Any) -> dict[str, Any]:
    """A message of text parts; part number `mark` has a breakpoint."""
    kind = "output_text" if role == "assistant" else "input_text"
    parts: list[dict[str, Any]] = [{"type": kind, "text": t} for t in texts]
    if mark >= 0:
        parts[mark]["prompt_cache_breakpoint"] = {"mode": "explicit", **more}
    return {"role": role, "content": parts}


def result(number: int) -> list[dict[str, Any]]:
    return [
        {"type": "function_call", "call_id": f"c{number}", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{number}", "output": "r"},
    ]


def desk(model: str = "gpt-5.6-sol", **figures_: Any) -> Desk:
    return Desk("openai_responses", model, "openai", **figures_)


EXPLICIT = {"prompt_cache_options": {"mode": "explicit"}}


def test_the_end_of_the_latest_user_message_is_a_breakpoint() -> None:
    one = desk()
    first = one.send(0, [said("user", "a#2000")])
    assert figures(first) == (0, 2000, 0) and first.to_usage().write_30m == 2000
    # Boundaries are exact, not rounded.
    grown = [said("user", "a#2000"), said("assistant", "b#33"), said("user", "c#7")]
    assert figures(one.send(1, grown)) == (2000, 40, 0)
    assert figures(one.ask(2, grown)) == (2040, 0, 0)


def test_growing_the_last_message_breaks_its_breakpoint() -> None:
    one = desk()
    one.send(0, [said("user", "a#2000")])
    assert figures(one.ask(1, [said("user", "a#2000", "b#7")])) == (0, 2007, 0)


def test_a_run_of_tool_outputs_ends_where_something_else_comes() -> None:
    one = desk()
    start = [said("user", "a#2000"), *result(1), *result(2)[1:]]
    assert one.send(0, start).written == 2300
    assert one.ask(1, [*start, said("assistant", "b"), *result(3)]).read == 2300
    # A run that grew is another one; the user's message before it still is an end.
    assert one.ask(1, [*start, *result(3)[1:]]).read == 0
    one.send(2, [said("user", "a#2000")])
    assert one.ask(3, [*start, *result(3)[1:]]).read == 2000


def test_the_developer_block_at_the_start_is_an_end() -> None:
    one = desk()
    one.send(0, [said("developer", "rules#3000")])
    assert one.ask(1, [said("developer", "rules#3000"), said("user", "hi")]).read == 3000
    other = desk()
    other.send(0, [], instructions="rules#3000")
    assert other.ask(1, [said("user", "hi")], instructions="rules#3000").read == 3000


def test_below_1024_tokens_nothing_is_cached() -> None:
    one = desk()
    short = one.send(0, [said("user", "a#1023")])
    assert figures(short) == (0, 0, 1023) and short.reasons[-1].kind == why.MINIMUM and short.reasons[-1].by == 1
    assert one.send(1, [said("user", "a#1024")]).written == 1024


def test_explicit_mode_writes_its_latest_four_and_nothing_without_one() -> None:
    one = desk()
    bare = one.send(0, [said("user", "a#2000")], **EXPLICIT)
    assert figures(bare) == (0, 0, 2000) and bare.reasons[0].kind == why.NO_MARKER
    five = [said("user", f"{n}#1500", mark=0) for n in range(5)]
    assert one.send(1, five, **EXPLICIT).written == 7500
    assert one.ask(2, five[:2], **EXPLICIT).read == 3000
    # The first of five was not written.
    assert one.ask(2, five[:1], **EXPLICIT).read == 0


def test_implicit_mode_writes_one_and_the_latest_three_explicit() -> None:
    one = desk()
    four = [said("user", f"{n}#1500", mark=0) for n in range(4)]
    one.send(0, [*four, said("user", "last")])
    assert one.ask(1, four[:2], **EXPLICIT).read == 3000
    assert one.ask(1, four[:1], **EXPLICIT).read == 0


def test_a_breakpoint_is_found_however_far_back() -> None:
    one = desk()
    one.send(0, [said("user", "a#2000", mark=0)], **EXPLICIT)
    many = [said("user", "a#2000", mark=0), *(said("user", f"{n}") for n in range(60))]
    assert one.ask(1, many, **EXPLICIT).read == 2000


def test_implicit_entries_are_not_read_in_explicit_mode() -> None:
    one = desk()
    one.send(0, [said("user", "a#2000")])
    assert one.ask(1, [said("user", "a#2000", mark=0), said("user", "b")], **EXPLICIT).read == 0


def test_implicit_ends_are_looked_up_twenty_back() -> None:
    one = desk()
    one.send(0, [said("user", "a#2000")])
    asks = [said("user", f"{n}") for n in range(21)]
    assert one.ask(1, [said("user", "a#2000"), *asks[:20]]).read == 2000
    assert one.ask(1, [said("user", "a#2000"), *asks]).read == 0


def test_thirty_minutes_renewed_by_use_and_twelve_hours() -> None:
    one = desk()
    message = [said("user", "a#2000")]
    one.send(0, message)
    assert one.ask(1801, message).read == 0 and one.ask(1801, message).reasons[0].kind == why.EXPIRED
    one.send(1800, message)
    assert one.ask(3600, message).read == 2000
    long = desk()
    half_day = {"prompt_cache_options": {"mode": "explicit", "ttl": "12h"}}
    kept = long.send(0, [said("user", "a#2000", mark=0)], **half_day)
    assert kept.to_usage().write_12h == 2000
    assert long.ask(43200, [said("user", "a#2000", mark=0)], **half_day).read == 2000


def test_a_breakpoint_on_assistant_output_is_refused() -> None:
    refused = desk().refused([said("user", "a"), said("assistant", "b", mark=0)])
    assert refused == ["prompt_cache_breakpoint is not allowed on assistant output"]


@pytest.mark.parametrize(
    "change",
    [
        {"reasoning": {"effort": "low"}},
        {"text": {"verbosity": "low"}},
        {"text": {"format": {"type": "json_schema"}}},
        {"parallel_tool_calls": False},
        {"service_tier": "flex"},
        {"prompt_cache_key": "k"},
        {"tools": [{"type": "function", "name": "f", "parameters": {}}]},
        {"instructions": "other"},
        {"model": "gpt-5.6-terra"},
    ],
)
def test_what_loses_everything(change: dict[str, Any]) -> None:
    one = desk()
    message = [said("user", "a#2000")]
    one.send(0, message)
    assert one.ask(1, message, text={"verbosity": "medium"}, service_tier="auto").read == 2000
    assert one.ask(1, message, **change).read == 0


def test_the_cache_key_only_routes_on_older_models() -> None:
    one = desk("gpt-5.2")
    one.send(0, [said("user", "a#2000")])
    assert one.ask(1, [said("user", "a#2000")], prompt_cache_key="k").read == 1920


# --- before 5.6: automatic -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "held", "read"),
    [
        ("gpt-5.2", 1023, 0),
        ("gpt-5.2", 1024, 1024),
        ("gpt-5.2", 1279, 1152),
        ("gpt-4o", 5000, 4992),
        ("gpt-5.5", 1024, 896),
        ("gpt-5.5", 1407, 896),
        ("gpt-5.5", 1408, 1408),
        ("gpt-5.4", 20000, 19840),
        ("gpt-5.4-mini", 1920, 1920),
    ],
)
def test_reads_are_whole_steps(model: str, held: int, read: int) -> None:
    assert rules_of(model).reported_read(held, 10**6) == read
    if "5.4" in model or "5.5" in model:
        assert read % 512 == 384


def test_every_prefix_counts_and_any_use_renews_it() -> None:
    one = desk("gpt-5.2", retention=300.0)
    stem = [said("user", "a#2000"), said("user", "b#2000")]
    one.send(0, stem)
    assert figures(one.ask(1, [stem[0], said("user", "other#2000")])) == (1920, 0, 2080)
    one.send(200, [*stem, said("user", "c#100")])
    # The first request is too old, the second had the same prefix.
    assert one.ask(400, [stem[0], said("user", "x#50")]).read == 1920
    gone = one.ask(501, stem)
    assert gone.read == 0 and gone.reasons[0].kind == why.EXPIRED and gone.reasons[0].by == 1


def test_a_long_prefix_that_expired_is_the_reason_though_a_short_one_is_live() -> None:
    one = desk("gpt-5.2", retention=300.0)
    stem = [said("user", "a#500"), said("user", "b#2000")]
    one.send(0, stem)
    one.send(200, stem[:1])
    (reason,) = one.ask(400, stem).reasons
    assert (reason.kind, reason.by) == (why.EXPIRED, 100)


@pytest.mark.parametrize("again", [200, 400])
def test_a_long_prefix_sent_again_but_not_answered_yet_is_the_reason(again: int) -> None:
    one = desk("gpt-5.2", retention=300.0)
    stem = [said("user", "a#2000")]
    one.send(0, stem)
    one.send(again, stem, began=420)
    (reason,) = one.ask(410, stem).reasons
    assert (reason.kind, reason.by) == (why.NOT_YET, 10)


def test_message_bounds_count() -> None:
    one = desk("gpt-5.2")
    one.send(0, [said("user", "a#2000", "b#2000")])
    assert one.ask(1, [said("user", "a#2000"), said("user", "b#2000")]).read == 1920


def test_string_and_list_content_are_one_prompt() -> None:
    one = Desk("openai_chat", "gpt-4o", "openai")
    one.send(0, [{"role": "user", "content": "a#2000"}])
    assert one.ask(1, [{"role": "user", "content": [{"type": "text", "text": "a#2000"}]}]).read == 1920


def test_a_name_that_is_a_word_for_a_spelling_is_read() -> None:
    one = Desk("openai_chat", "gpt-4o", "openai")
    one.send(0, [{"role": "user", "name": "list", "content": "a#3000"}])
    assert one.ask(1, [{"role": "user", "name": "list", "content": "a#3000"}]).read == 2944
    assert one.ask(1, [{"role": "user", "name": "object", "content": "a#3000"}]).read == 0


def test_ids_of_items_are_not_read_but_phases_are() -> None:
    one = desk("gpt-5.2")
    answer = {"type": "message", **said("assistant", "a#3000")}
    one.send(0, [{**answer, "id": "m1", "status": "completed"}])
    assert one.ask(1, [answer]).read == 2944
    assert one.ask(1, [{**answer, "phase": "commentary"}]).read == 0


@pytest.mark.parametrize(("model", "held", "read"), [("deepseek-chat", 127, 64), ("deepseek-v4-flash", 300, 256)])
def test_deepseek_counts_in_64s_or_128s(model: str, held: int, read: int) -> None:
    assert rules_of(model, "deepseek").reported_read(held, 10**6) == read


# --- local servers ---------------------------------------------------------------------------------------------------


def local(provider: str) -> Desk:
    return Desk("openai_chat", "qwen2.5-coder:7b", provider)


def chat(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "content": words}


def test_llama_cpp_keeps_the_last_prompt_of_a_slot() -> None:
    one = local("llama.cpp")
    first = [chat("system", "s#50"), chat("user", "a#70")]
    one.send(0, first)
    # One token is always evaluated anew.
    assert figures(one.ask(1, first)) == (119, 0, 1)
    grown = [*first, chat("assistant", "b#30"), chat("user", "c#5")]
    assert figures(one.send(1, grown)) == (120, 0, 35)
    other = [chat("system", "s#50"), chat("user", "z#10")]
    assert figures(one.send(2, other)) == (50, 0, 10)
    # The slot now holds the other prompt.
    assert one.ask(10**6, grown).read == 50


def test_two_slots_hold_two_prompts() -> None:
    one = Desk("openai_chat", "qwen2.5-coder:7b", "llama.cpp", slots=2)
    a, b, c = ([chat("user", f"{name}#100")] for name in "abc")
    one.send(0, a)
    one.send(1, b)
    assert one.ask(2, a).read == one.ask(2, b).read == 99
    one.send(3, a)
    one.send(4, c)
    assert (one.ask(5, a).read, one.ask(5, b).read, one.ask(5, c).read) == (99, 0, 99)


def test_vllm_counts_blocks_of_sixteen() -> None:
    one = local("vllm")
    one.send(0, [chat("user", "a#40")])
    assert figures(one.ask(1, [chat("user", "a#40"), chat("user", "b#9")])) == (32, 0, 17)


def test_an_unknown_provider_caches_nothing() -> None:
    one = Desk("openai_chat", "some-model", "")
    one.send(0, [chat("user", "a#4000")])
    assert figures(one.send(1, [chat("user", "a#4000")])) == (0, 0, 4000)
