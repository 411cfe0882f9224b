"""Sessions shaped like recorded ones, made from a seed, and random sequences of edits of them."""

from __future__ import annotations

from random import Random
from typing import Any

from ctxtui.core.edit import REVERT, USER, Edit, make
from ctxtui.core.edit_kinds import KINDS, PIN
from ctxtui.curation.context import Context
from tests.curation.conversations import PAYLOADS

MODELS = {
    "anthropic": ["claude-opus-4-5", "claude-sonnet-4-5", "claude-opus-4-8", "claude-opus-5-5", "claude-sonnet-5-5"],
    "openai_chat": ["gpt-5.4", "gpt-4o"],
    "openai_responses": ["gpt-5.5", "gpt-5.6"],
    "google": ["gemini-3.1-pro-preview", "gemini-2.5-flash"],
}
SIGNATURE = "Eo" * 40
NAMES = ["read_file", "run", "search", "edit_file", "mcp__web__fetch"]
WORDS = ["hello", "src/app/main.py:42", "error: no such file", "x" * 700, "wörld 漢字", "def f():\n    return 1\n" * 30]


def _text(rng: Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 3)))


def _mark(rng: Random, block: dict[str, Any], chance: float = 0.1) -> dict[str, Any]:
    return {**block, "cache_control": {"type": "ephemeral"}} if rng.random() < chance else block


def anthropic(rng: Random) -> dict[str, Any]:
    """A request as coding agents send them: tools, a marked system prompt, tool loops with thinking."""
    model = rng.choice(MODELS["anthropic"])
    tools = [
        {"name": name, "description": f"{name} " + _text(rng), "input_schema": {"type": "object", "properties": {}}}
        for name in NAMES[: rng.randint(1, 5)]
    ]
    messages: list[dict[str, Any]] = []
    for turn in range(rng.randint(1, 5)):
        content: Any = [{"type": "text", "text": _text(rng)} for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.2:
            content.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}})
        messages.append({"role": "user", "content": content[0]["text"] if rng.random() < 0.3 else content})
        if model in ("claude-opus-4-8", "claude-opus-5-5") and rng.random() < 0.15:
            messages.append({"role": "system", "content": "mind the time"})
        for step in range(rng.randint(0, 4)):
            messages += _round(rng, f"toolu_{turn}_{step}", [tool["name"] for tool in tools])
        if messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant", "content": _answer(rng)})
    if rng.random() < 0.7:
        messages.append({"role": "user", "content": _text(rng)})
    else:
        messages += _round(rng, "toolu_last", [tool["name"] for tool in tools])
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": "go on"})
    system = [_mark(rng, {"type": "text", "text": "You are an agent. " + _text(rng)}, 0.8)]
    return {"model": model, "max_tokens": 4096, "system": system, "tools": tools, "messages": _few_marks(messages)}


_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def _few_marks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One marker at the end, as clients set it."""
    last = messages[-1]["content"]
    if isinstance(last, list):
        last[-1] = {**last[-1], "cache_control": {"type": "ephemeral"}}
    return messages


def _thought(rng: Random) -> list[dict[str, Any]]:
    if rng.random() < 0.4:
        return []
    return [{"type": "thinking", "thinking": rng.choice(["", _text(rng)]), "signature": SIGNATURE}]


def _answer(rng: Random) -> list[dict[str, Any]]:
    return [*_thought(rng), {"type": "text", "text": _text(rng)}]


def _round(rng: Random, id_: str, names: list[str]) -> list[dict[str, Any]]:
    count = rng.choice([1, 1, 1, 2, 3])
    calls = [
        {"type": "tool_use", "id": f"{id_}_{n}", "name": rng.choice(names), "input": {"path": _text(rng)}}
        for n in range(count)
    ]
    results: list[dict[str, Any]] = []
    for call in calls:
        content: Any = rng.choice([_text(rng), [{"type": "text", "text": _text(rng)}], ""])
        results.append({"type": "tool_result", "tool_use_id": call["id"], "content": content})
    said = [{"type": "text", "text": _text(rng)}] if rng.random() < 0.4 else []
    after = [{"type": "text", "text": "reminder"}] if rng.random() < 0.15 else []
    found = [
        {"role": "assistant", "content": [*_thought(rng), *said, *calls]},
        {"role": "user", "content": results + after},
    ]
    if rng.random() < 0.1:
        found.append({"role": "user", "content": _text(rng)})
    return found


def openai_chat(rng: Random) -> dict[str, Any]:
    """A Chat request with tool loops."""
    tools = [
        {"type": "function", "function": {"name": name, "description": _text(rng), "parameters": {"type": "object"}}}
        for name in NAMES[: rng.randint(1, 5)]
    ]
    messages: list[dict[str, Any]] = [{"role": rng.choice(["system", "developer"]), "content": _text(rng)}]
    for turn in range(rng.randint(1, 5)):
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}"}}
        parts = [{"type": "text", "text": _text(rng)}, *([image] if rng.random() < 0.2 else [])]
        messages.append({"role": "user", "content": parts if rng.random() < 0.4 else _text(rng)})
        for step in range(rng.randint(0, 4)):
            ids = [f"call_{turn}_{step}_{n}" for n in range(rng.choice([1, 1, 2, 3]))]
            calls = [
                {
                    "id": i,
                    "type": "function",
                    "function": {"name": rng.choice(tools)["function"]["name"], "arguments": '{"a":1}'},
                }
                for i in ids
            ]
            messages.append({"role": "assistant", "content": rng.choice([None, _text(rng)]), "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": i, "content": _text(rng)} for i in ids]
        if rng.random() < 0.8:
            messages.append({"role": "assistant", "content": _text(rng)})
    return {"model": rng.choice(MODELS["openai_chat"]), "messages": messages, "tools": tools}


def openai_responses(rng: Random) -> dict[str, Any]:
    """A Responses request as Codex sends them."""
    tools = [
        {"type": "function", "name": name, "description": _text(rng), "parameters": {"type": "object"}, "strict": False}
        for name in NAMES[: rng.randint(1, 5)]
    ]
    items: list[dict[str, Any]] = []
    for turn in range(rng.randint(1, 5)):
        items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": _text(rng)}]})
        for step in range(rng.randint(0, 4)):
            if rng.random() < 0.6:
                items.append(
                    {"type": "reasoning", "id": f"rs_{turn}_{step}", "summary": [], "encrypted_content": "gAAA" * 30}
                )
            ids = [f"call_{turn}_{step}_{n}" for n in range(rng.choice([1, 1, 2]))]
            for i in ids:
                items.append(
                    {"type": "function_call", "call_id": i, "name": rng.choice(tools)["name"], "arguments": "{}"}
                )
            items += [{"type": "function_call_output", "call_id": i, "output": _text(rng)} for i in ids]
        if rng.random() < 0.8:
            said = [{"type": "output_text", "text": _text(rng), "annotations": []}]
            items.append({"type": "message", "role": "assistant", "content": said})
    return {
        "model": rng.choice(MODELS["openai_responses"]),
        "instructions": _text(rng),
        "input": items,
        "tools": tools,
        "store": False,
    }


def google(rng: Random) -> dict[str, Any]:
    """A request as Gemini CLI sends them: signed calls, answers in a content of their own."""
    model = rng.choice(MODELS["google"])
    declared = [
        {"name": name, "description": _text(rng), "parametersJsonSchema": {"type": "object"}}
        for name in NAMES[: rng.randint(1, 5)]
    ]
    contents: list[dict[str, Any]] = []
    for turn in range(rng.randint(1, 5)):
        picture = [{"inlineData": {"mimeType": "image/png", "data": _PNG}}] if rng.random() < 0.2 else []
        contents.append({"parts": [{"text": _text(rng)}, *picture], "role": "user"})
        for step in range(rng.randint(0, 4)):
            contents += _step(rng, f"{turn}_{step}", [one["name"] for one in declared], "gemini-3" in model)
        if rng.random() < 0.8:
            contents.append({"parts": [{"text": _text(rng)}], "role": "model"})
    tools: list[dict[str, Any]] = [{"functionDeclarations": declared}]
    return {
        "model": model,
        "contents": contents,
        "systemInstruction": {"parts": [{"text": _text(rng)}], "role": "user"},
        "tools": [*tools, {"googleSearch": {}}] if rng.random() < 0.2 else tools,
        "generationConfig": {"temperature": 1},
    }


def _step(rng: Random, id_: str, names: list[str], signed: bool) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    named = {"id": id_} if signed or rng.random() < 0.5 else {}
    for n in range(rng.choice([1, 1, 2, 3])):
        head = {"name": rng.choice(names), **({"id": f"{id_}_{n}"} if named else {})}
        signature = {"thoughtSignature": "c2ln"} if signed and not n else {}
        calls.append({"functionCall": {**head, "args": {"path": _text(rng)}}, **signature})
        response = rng.choice([{"output": _text(rng)}, {"error": "no such file"}, {"lines": [_text(rng)]}])
        answers.append({"functionResponse": {**head, "response": response}})
    said = [{"text": _text(rng)}] if rng.random() < 0.4 else []
    thought = [{"text": _text(rng), "thought": True}] if rng.random() < 0.2 else []
    reminder = [{"text": "reminder"}] if rng.random() < 0.15 else []
    return [{"parts": [*thought, *said, *calls], "role": "model"}, {"parts": answers + reminder, "role": "user"}]


SHAPES = {
    "anthropic": anthropic,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "google": google,
}


def edits(rng: Random, context: Context) -> list[Edit]:
    """A sequence of edits: single blocks, ranges, messages, all of a kind, with reverts in between."""
    log: list[Edit] = []
    for n in range(rng.randint(1, 8)):
        if log and rng.random() < 0.15:
            log.append(Edit(f"r{n}", REVERT, reverts=rng.choice(log).id))
            continue
        kind = rng.choice([*(k for k in KINDS if k in PAYLOADS), "drop", "drop", "summarize", "breakpoint"])
        payload = rng.choice(PAYLOADS.get(kind, [{"ttl": "5m"}, {"ttl": "1h"}, {}, {"on": False}]))
        author = rng.choice([USER, USER, USER, "window"]) if kind != PIN else USER
        log.append(make(kind, context.targets(_positions(rng, context)), payload, author=author, id=f"e{n}"))
    return log


def _positions(rng: Random, context: Context) -> list[int]:
    here = rng.randrange(len(context))
    what = rng.random()
    if what < 0.4:
        return [here]
    if what < 0.6:
        return list(range(here, min(len(context), here + rng.randint(2, 12))))
    if what < 0.75 and (message := context.message_at(here)) is not None:
        return list(range(message.start, message.stop))
    kind = context.items[here].block.kind
    return [p for p, item in enumerate(context.items) if item.block.kind == kind and rng.random() < 0.6] or [here]
