"""Look-alikes of agents' recordings, made by hand: no text of a real one."""

from __future__ import annotations

from typing import Any


def chat_answer(id_: str, number: int) -> dict[str, Any]:
    """A provider's answer in OpenAI Chat's shape, as DeepSeek reports usage."""
    return {
        "id": id_,
        "created": 1_700_000_001 + number,
        "model": "deepseek-chat",
        "object": "chat.completion",
        "system_fingerprint": "fp",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "look"}}],
        "usage": {
            "prompt_tokens": 100 + number,
            "completion_tokens": 9,
            "total_tokens": 109 + number,
            "prompt_tokens_details": {"cached_tokens": 64},
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36 + number,
        },
    }


def mini_swe_agent() -> dict[str, Any]:
    """Two calls, one tool answer, an exit."""
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
    return {
        "info": {
            "model_stats": {"instance_cost": 0.002, "api_calls": 2},
            "config": {"agent": {}, "model": {"model_name": "deepseek/deepseek-chat"}, "environment": {"cwd": "/w"}},
            "mini_version": "2.0.0",
            "exit_status": "Submitted",
            "submission": "a patch",
        },
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "Fix the sum."},
            {
                "role": "assistant",
                "content": "look",
                "reasoning_content": "first the files",
                "tool_calls": [call],
                "function_call": None,
                "provider_specific_fields": {"reasoning_content": "first the files"},
                "extra": {"response": chat_answer("resp-1", 0), "cost": 0.001, "timestamp": 1_700_000_003.5},
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a.py", "extra": {"raw_output": "a.py"}},
            {
                "role": "assistant",
                "content": "done",
                "extra": {"response": chat_answer("resp-2", 1), "cost": 0.001, "timestamp": 1_700_000_004.5},
            },
            {"role": "exit", "content": "a patch", "extra": {"exit_status": "Submitted", "submission": "a patch"}},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "sum-1",
    }
