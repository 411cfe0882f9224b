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


def pi() -> list[Any]:
    """Two calls with tools, one that was stopped."""

    def call(id_: str) -> dict[str, Any]:
        return {"type": "toolCall", "id": id_, "name": "bash", "arguments": {"command": "ls"}}

    def usage(*figures: int) -> dict[str, Any]:
        names = ("input", "cacheRead", "cacheWrite", "output")
        return {**dict(zip(names, figures, strict=True)), "totalTokens": sum(figures), "cost": {"total": 0.5}}

    def answer(content: list[Any], stop: str, figures: tuple[int, ...], **rest: Any) -> dict[str, Any]:
        message = {
            "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
            "model": "claude-opus-4-5", "usage": usage(*figures), "stopReason": stop, "timestamp": 1_766_536_349_362,
        }  # fmt: skip
        return {"type": "message", "timestamp": "2025-12-24T00:32:34.170Z", "message": {**message, **rest}}

    def result(id_: str) -> dict[str, Any]:
        content = [{"type": "text", "text": "a.py"}]
        message = {"role": "toolResult", "toolCallId": id_, "toolName": "bash", "content": content, "isError": False}
        return {"type": "message", "timestamp": "2025-12-24T00:32:35.589Z", "message": message}

    user = {"role": "user", "content": [{"type": "text", "text": "Fix the sum."}], "timestamp": 1_766_536_349_359}
    thought = {"type": "thinking", "thinking": "first look", "thinkingSignature": "c2ln"}
    return [
        {"type": "session", "id": "s-1", "timestamp": "2025-12-24T00:32:27.967Z", "cwd": "/w"},
        {"type": "message", "timestamp": "2025-12-24T00:32:29.373Z", "message": user},
        answer([thought, call("t1"), call("t2")], "toolUse", (10, 20, 30, 5)),
        result("t1"),
        result("t2"),
        answer([{"type": "text", "text": "done"}], "stop", (4, 60, 8, 6)),
        answer([], "aborted", (0, 0, 0, 0), errorMessage="Request was aborted."),
    ]


def openhands_log() -> dict[str, Any]:
    """One request with its answer."""
    tool = {"type": "function", "function": {"name": "terminal", "description": "Runs.", "parameters": {}}}
    return {
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "You act."}]},
            {"role": "user", "content": [{"type": "text", "text": "Fix the sum."}]},
        ],
        "tools": [tool],
        "kwargs": {"temperature": 0.0, "tools": [tool]},
        "context_window": 200_000,
        "response": chat_answer("chatcmpl-1", 0),
        "cost": 0.25,
        "timestamp": 1_700_000_010.0,
        "latency_sec": 2.0,
    }


def openhands_events() -> list[Any]:
    """Two calls, the first with two tool calls in one answer."""

    def event(id_: str, kind: str, source: str, **rest: Any) -> dict[str, Any]:
        return {"id": id_, "timestamp": "2026-01-01T00:00:01", "source": source, "kind": kind, **rest}

    def report(prompt: int, output: int, read: int) -> dict[str, Any]:
        usage = {"prompt_tokens": prompt, "completion_tokens": output, "cache_read_tokens": read}
        return {"model_name": "m-1", "accumulated_cost": 0.0, "accumulated_token_usage": usage}

    def stats(id_: str, prompt: int, output: int, read: int, side: int) -> dict[str, Any]:
        value = {"usage_to_metrics": {"default": report(prompt, output, read), "condenser": report(side, 1, 0)}}
        return event(id_, "ConversationStateUpdateEvent", "environment", key="stats", value=value)

    def act(id_: str, call: str, response: str, thought: list[Any]) -> dict[str, Any]:
        made = {"id": call, "name": "terminal", "arguments": '{"command":"ls"}'}
        rest = {"thought": thought, "reasoning_content": "look first", "thinking_blocks": [], "tool_call": made}
        return event(id_, "ActionEvent", "agent", llm_response_id=response, tool_call_id=call, **rest)

    def saw(id_: str, call: str) -> dict[str, Any]:
        said = {"content": [{"cache_prompt": False, "type": "text", "text": "a.py"}], "is_error": False}
        return event(id_, "ObservationEvent", "environment", tool_name="terminal", tool_call_id=call, observation=said)

    tool = {"type": "function", "function": {"name": "terminal"}}
    asked = {"role": "user", "content": [{"type": "text", "text": "Fix the sum."}]}
    done = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    thought = [{"cache_prompt": False, "type": "text", "text": "So."}]
    return [
        event("e-1", "SystemPromptEvent", "agent", system_prompt={"type": "text", "text": "You act."}, tools=[tool]),
        event("e-2", "MessageEvent", "user", llm_message=asked),
        stats("e-3", 100, 5, 10, 0),
        act("e-4", "t1", "r-1", thought),
        act("e-5", "t2", "r-1", []),
        saw("e-6", "t1"),
        saw("e-7", "t2"),
        stats("e-8", 250, 12, 10, 30),
        event("e-9", "MessageEvent", "agent", llm_message=done, llm_response_id="r-2"),
    ]


def openhands_v0_events() -> list[Any]:
    """A task, recalled knowledge, one answer with two calls, a delegate with a call of its own, the end."""

    def event(id_: int, source: str, **rest: Any) -> dict[str, Any]:
        return {"id": id_, "timestamp": f"2025-03-01T00:00:{id_:02}", "source": source, "message": "", **rest}

    def response(name: str, calls: list[str], prompt: int) -> dict[str, Any]:
        made = [{"id": call, "type": "function", "function": {"name": "run", "arguments": "{}"}} for call in calls]
        message = {"role": "assistant", "content": "I look.", "tool_calls": made}
        usage = {"prompt_tokens": prompt, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 10}}
        choices = [{"index": 0, "finish_reason": "tool_calls", "message": message}]
        return {"id": name, "model": "m-1", "choices": choices, "usage": usage}

    def act(id_: int, call: str, made: dict[str, Any], cost: float, action: str = "run", **args: Any) -> dict[str, Any]:
        metadata = {"function_name": "run", "tool_call_id": call, "model_response": made, "total_calls_in_response": 2}
        metrics = {"accumulated_cost": cost}
        return event(id_, "agent", action=action, args=args, tool_call_metadata=metadata, llm_metrics=metrics)

    def saw(id_: int, call: str, text: str, observation: str = "run") -> dict[str, Any]:
        metadata = {"function_name": "run", "tool_call_id": call, "model_response": {}}
        kept = {"observation": observation, "content": text, "extras": {}, "cause": id_ - 1}
        return event(id_, "agent", tool_call_metadata=metadata, **kept)

    first, second, inner = response("r-1", ["t1", "t2"], 100), response("r-2", ["t3"], 160), response("r-3", ["t4"], 50)
    tool = {"type": "function", "function": {"name": "run"}}
    knowledge = {"recall_type": "knowledge", "microagent_knowledge": [{"name": "git", "content": "Use git well."}]}
    return [
        event(0, "agent", action="system", args={"content": "You act.", "tools": [tool]}),
        event(1, "user", action="message", args={"content": "Fix the sum.", "image_urls": ["https://x/a.png"]}),
        event(2, "user", action="recall", args={"query": "Fix the sum."}),
        event(3, "environment", observation="recall", content="", extras=knowledge),
        event(4, "environment", observation="agent_state_changed", content="", extras={"agent_state": "running"}),
        act(5, "t1", first, 0.25),
        act(6, "t2", first, 0.25),
        saw(7, "t1", "a.py"),
        saw(8, "t2", "b.py"),
        act(9, "t3", second, 0.75, "delegate", agent="BrowsingAgent"),
        event(10, "user", action="message", args={"content": "Browse."}),
        act(11, "t4", inner, 0.8),
        saw(12, "t4", "a page"),
        saw(13, "t3", "it is done", "delegate"),
        event(14, "agent", action="finish", args={"final_thought": "Done.", "task_completed": "true"}),
    ]
