"""Each provider's meaning of "input": what was read, written and fresh adds up to what it counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.canonical import loads
from ctxtui.core.usage import Usage
from ctxtui.wire import usage
from ctxtui.wire.openai_chat import decode_response
from tests.wire.hostile import JSONS


def test_anthropic_excludes_the_cache_and_splits_writes() -> None:
    report = {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 3},
    }
    found = usage.anthropic_usage(report)
    assert found == Usage(fresh=10, cache_read=100, write_5m=20, write_1h=30, output=7, reasoning=3)
    assert found.input == 160
    del report["cache_creation"]
    assert usage.anthropic_usage(report) == Usage(fresh=10, cache_read=100, write_5m=50, output=7, reasoning=3)
    assert usage.anthropic_usage({"input_tokens": 5, "output_tokens": 1}) == Usage(fresh=5, output=1, has_cache=False)
    assert usage.anthropic_usage({}) is None


def test_passes_of_one_answer_are_kept_and_the_last_message_is_the_context() -> None:
    message = {"type": "message", "input_tokens": 20, "output_tokens": 5}
    compaction = {"type": "compaction", "input_tokens": 900, "output_tokens": 80}
    found, passes = usage.anthropic_passes(
        {"input_tokens": 20, "output_tokens": 5, "iterations": [compaction, message]}
    )
    assert found is not None and found.input == 20
    assert [one.input for one in passes] == [900, 20]
    assert usage.anthropic_passes({"input_tokens": 20, "output_tokens": 5, "iterations": [message]})[1] == ()
    only, _ = usage.anthropic_passes({"input_tokens": 0, "output_tokens": 0, "iterations": [compaction]})
    assert only is not None and only.input == 900


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 64}},
            Usage(fresh=36, cache_read=64, output=9),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30},
                "completion_tokens_details": {"reasoning_tokens": 4},
            },
            Usage(fresh=6, cache_read=64, write_30m=30, output=9, reasoning=4),
        ),
        (  # DeepSeek
            {
                "prompt_tokens": 100,
                "completion_tokens": 9,
                "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 36,
            },
            Usage(fresh=36, cache_read=64, output=9),
        ),
        (  # Anthropic behind a gateway
            {
                "prompt_tokens": 100,
                "completion_tokens": 9,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 30,
                "prompt_tokens_details": {"cached_tokens": 60},
            },
            Usage(fresh=10, cache_read=60, write_5m=30, output=9),
        ),
        (  # a gateway that leaves the cache out of its input
            {"prompt_tokens": 10, "completion_tokens": 9, "cache_read_input_tokens": 60},
            Usage(fresh=10, cache_read=60, output=9),
        ),
        (  # Ollama, vLLM without details
            {"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 109},
            Usage(fresh=100, output=9, has_cache=False),
        ),
        (  # xAI counts reasoning apart
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 115,
                "completion_tokens_details": {"reasoning_tokens": 100},
                "prompt_tokens_details": {"cached_tokens": 0},
            },
            Usage(fresh=10, output=105, reasoning=100),
        ),
        ({"input_tokens": 10, "output_tokens": 5}, Usage(fresh=10, output=5, has_cache=False)),
        ({"prompt_tokens": 10, "cost": 0.25}, Usage(fresh=10, has_cache=False, cost=0.25)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": None},
            Usage(fresh=10, output=5, has_cache=False),
        ),
        (None, None),
    ],
)  # fmt: skip
def test_chat(report: Any, expected: Usage | None) -> None:
    assert usage.chat_usage(report) == expected


def test_local_servers_report_beside_usage() -> None:
    timings = {"cache_n": 90, "prompt_n": 10, "predicted_n": 5}
    assert usage.chat_usage(None, {"timings": timings}) == Usage(fresh=10, cache_read=90, output=5)
    assert usage.chat_usage({"prompt_tokens": 100, "completion_tokens": 5}, {"timings": timings}) == Usage(
        fresh=10, cache_read=90, output=5
    )
    body = {"model": "l", "message": {"role": "assistant", "content": "x"}, "done": True, "prompt_eval_count": 7}
    found = decode_response({**body, "eval_count": 3, "done_reason": "stop"})
    assert found.usage == Usage(fresh=7, output=3, has_cache=False)
    assert (found.stop_reason, len(found.items)) == ("stop", 2)


def test_responses_counts_the_cache_inside_input() -> None:
    report = {
        "input_tokens": 100,
        "input_tokens_details": {
            "cached_tokens": 60,
            "cache_write_tokens": 30,
            "cache_write_tokens_details": {"ttl_30m_tokens": 10, "ttl_12h_tokens": 20},
        },
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 109,
    }
    found = usage.responses_usage(report)
    assert found == Usage(fresh=10, cache_read=60, write_30m=10, write_12h=20, output=9, reasoning=4)
    assert found.input == 100
    assert usage.responses_usage({"input_tokens": 3, "output_tokens": 1}) == Usage(fresh=3, output=1, has_cache=False)


KEYS = st.sampled_from(
    "input_tokens output_tokens prompt_tokens completion_tokens cache_creation iterations prompt_tokens_details "
    "cached_tokens input_tokens_details total_tokens cost".split()
)


@given(st.dictionaries(KEYS, st.one_of(JSONS, st.dictionaries(KEYS, JSONS, max_size=2)), max_size=5))
def test_no_report_however_odd_breaks_a_reader(report: dict[str, Any]) -> None:
    for found in (usage.chat_usage(report), usage.responses_usage(report), usage.anthropic_passes(report)[0]):
        assert found is None or min(found.fresh, found.input, found.output) >= 0


@pytest.mark.parametrize(("text", "usd"), [("0.10", 0.1), ("1.4e-7", 1.4e-7), ("1e13", None), ("NaN", None)])
def test_a_cost_is_a_number_in_any_spelling(text: str, usd: float | None) -> None:
    report = loads(f'{{"input_tokens": 1, "prompt_tokens": 1, "cost": {text}}}')
    reports = [usage.anthropic_usage(report), usage.chat_usage(report), usage.responses_usage(report)]
    assert [one and one.cost for one in reports] == [usd] * 3
