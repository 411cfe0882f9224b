"""Long runs of an agent as request bodies: large and repeated results, code in messages, images, unused tools."""

from __future__ import annotations

from random import Random
from typing import Any

_WORDS = "queue worker lease journal retry digest schedule quota cache index reader writer token prefix".split()


def long_run(seed: int, turns: int = 8, rounds: int = 5, longest: int = 500) -> dict[str, Any]:
    """A body of Anthropic's dialect, the same for the same arguments. No file has more lines than `longest`, no
    other result more than five times as many words."""
    rng = Random(f"long run {seed}")
    files = [_file(rng, n, longest) for n in range(6)]
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        asked = [{"type": "text", "text": f"Turn {turn}: {_words(rng, rng.randint(10, 80))}"}]
        if rng.random() < 0.4:
            asked.append(
                {
                    "type": "text",
                    "text": f"### Trial {turn}\n```python\n{_code(rng, rng.randint(20, longest * 4 // 5))}```\n",
                }
            )
        if rng.random() < 0.2:
            asked.append(
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
            )
        _hear(messages, asked)
        for number in range(rounds):
            id_ = f"t{turn}_{number}"
            path, text = rng.choice(files)
            kind = rng.random()
            tool, given = (
                ("Read", {"file_path": path}) if kind < 0.5 else ("Bash", {"command": f"make part_{turn}_{number}"})
            )
            told = (
                text
                if kind < 0.5
                else _json(rng, longest * 6 // 25)
                if kind < 0.7
                else _words(rng, rng.randint(5, 5 * longest))
            )
            said = [
                {"type": "text", "text": _words(rng, 8)},
                {"type": "tool_use", "id": id_, "name": tool, "input": given},
            ]
            messages.append({"role": "assistant", "content": said})
            _hear(messages, [{"type": "tool_result", "tool_use_id": id_, "content": told}])
        messages.append({"role": "assistant", "content": [{"type": "text", "text": _words(rng, 60)}]})
    _hear(messages, [{"type": "text", "text": "Go on."}])
    tools = [
        {"name": name, "description": _words(rng, rng.randint(10, 120)), "input_schema": {"type": "object"}}
        for name in ("Read", "Bash", "Grep", "Fetch", "Notebook")
    ]
    return {"model": "claude-opus-4-5", "max_tokens": 1000, "tools": tools, "messages": messages}


def _hear(messages: list[dict[str, Any]], content: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == "user":
        messages[-1]["content"] += content
    else:
        messages.append({"role": "user", "content": content})


def _words(rng: Random, count: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(count))


def _code(rng: Random, lines: int) -> str:
    return "".join(f"    {rng.choice(_WORDS)}_{n} = {rng.choice(_WORDS)}({n})\n" for n in range(lines))


def _file(rng: Random, n: int, longest: int) -> tuple[str, str]:
    return f"/src/{rng.choice(_WORDS)}_{n}.py", _code(rng, rng.randint(30, longest))


def _json(rng: Random, rows_at_most: int) -> str:
    rows = ",\n".join(
        f'    {{"name":   "{rng.choice(_WORDS)}",   "value":   {n}}}' for n in range(rng.randint(5, rows_at_most))
    )
    return f"[\n{rows}\n]"
