"""Sample 3, an LM Studio bridge: a hundred rounds on a local model, all schemas and the whole history every time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from examples.bridge.repositories import NAMES, REPOSITORIES, TROUBLES, Repository
from sessions.dice import Dice, exactly
from sessions.recording import CHARS_PER_TOKEN, Exchange, Json, Recording, moment, tokens

MODEL: Final = "meta-llama-3.1-70b-instruct"
ROUND: Final = 424
"""Tokens by which the prompt grows each round: an assistant message with two calls, and their results."""
TASK: Final = "Search for fastmcp repos and say what each one does."
TEST: Final = (
    "Search for 'fastmcp' repos, then for each repo read the README, analyze it, and create a comparison document"
)
"""The task of the authors' test plan."""
SCHEMAS: Final = Path(__file__).resolve().parents[1] / "examples" / "bridge" / "tools"
Asked = tuple[str, Mapping[str, Json]]


class Loop(NamedTuple):
    """One autonomous loop: the server whose tools are offered, prompt tokens of each round, the task, the calls of each
    round in turn; whether the prompts are those that the server's log told, by its own tokenizer."""

    server: str
    prompts: Sequence[int]
    task: str
    rounds: Sequence[Sequence[Asked]]
    logged: bool = False


def tools(server: str) -> list[Json]:
    """What a server lists, as the bridge passes it on."""
    listed = json.loads((SCHEMAS / f"{server}.json").read_text(encoding="utf-8"))["tools"]
    return [
        {
            "type": "function",
            "function": {"name": one["name"], "description": one["description"], "parameters": one["inputSchema"]},
        }
        for one in listed
    ]


def size(tools: list[Json]) -> int:
    """Bytes of the schemas as the bridge measured them."""
    return len(json.dumps(tools, indent=2))


def _at(one: Repository) -> dict[str, Json]:
    return {"owner": one.owner, "repo": one.name}


def _studied(one: Repository) -> Iterator[Sequence[Asked]]:
    at = _at(one)
    yield ("get_file_contents", {**at, "path": "README.md"}), ("list_commits", {**at, "perPage": 5})
    yield ("list_issues", {**at, "state": "open"}), ("search_code", {"q": f"mcp.tool repo:{one.owner}/{one.name}"})


def _github() -> Iterator[Sequence[Asked]]:
    yield ("search_repositories", {"query": "fastmcp"}), ("search_users", {"q": "fastmcp"})
    for one in REPOSITORIES[:8]:
        yield from _studied(one)


def _memory() -> Iterator[Sequence[Asked]]:
    for one in REPOSITORIES[:4]:
        entity = {"name": one.name, "entityType": "repository", "observations": [one.about]}
        yield ("create_entities", {"entities": [entity]}), ("search_nodes", {"query": one.name})


LOOPS: Final = {
    "main": Loop("github", [7328 + ROUND * n for n in range(100)], TASK, tuple(_github())),
    "memory": Loop(
        "memory",
        [1984 + ROUND * n for n in range(5)],
        "Remember what each of the fastmcp repos is for.",
        tuple(_memory()),
    ),
    "fetch": Loop(
        "fetch", [578, 938], f"{TEST}. These were found:\n", [(("fetch", {"url": "https://gofastmcp.com"}),)]
    ),
    "github": Loop(
        "github", [5703, 6937], "Search for fastmcp repos", [(("search_repositories", {"query": "fastmcp"}),)], True
    ),
}
"""Threads by name: two that the authors reckoned, two that they found in the server's log."""


def _facts(dice: Dice) -> Iterator[str]:
    while True:
        label = dice.pick(("bug", "question", "enhancement", "stale"))
        day = f"2025-10-{dice.between(10, 28)}"
        yield f"{dice.pick(NAMES)} #{dice.digits(3)} [{label}] {day}: {dice.pick(TROUBLES)}.\n"


def _said(dice: Dice, asked: Sequence[Asked]) -> Json:
    """The assistant's message: its calls."""
    calls = [
        {"id": dice.digits(9), "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for name, given in asked
    ]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def letters(messages: Sequence[Json]) -> int:
    """Characters of messages as the bridge counted them."""
    return sum(len(json.dumps(one)) for one in messages)


def _answered(said: Json, growth: int, seen: dict[Json, str], dice: Dice) -> list[Json]:
    """The results of its calls, so long that the round grows the prompt by `growth` characters. The same call gets the
    same result again."""
    results = [{"role": "tool", "tool_call_id": one["id"], "content": ""} for one in said["tool_calls"]]
    left = growth - letters([said, *results])
    for number, (call, result) in enumerate(zip(said["tool_calls"], results, strict=True)):
        share = left // (len(results) - number)
        asked = (call["function"]["arguments"], share)
        if asked not in seen:
            seen[asked] = _escaped(share, dice)
        result["content"] = seen[asked]
        left -= share
    return results


def _escaped(size: int, dice: Dice) -> str:
    """Facts that take `size` characters in JSON, where the end of a line takes two."""
    text = ""
    for line in _facts(dice):
        if len(json.dumps(text + line)) - 2 > size - 60:
            break
        text += line
    return exactly(text, size - text.count("\n"), (line.replace("\n", " ") for line in _facts(dice)))


def _response(message: Json, prompt: int, at: float, dice: Dice) -> Json:
    answer = tokens(letters([message]))
    return {
        "id": f"chatcmpl-{dice.hex(22)}",
        "object": "chat.completion",
        "created": int(at),
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
    }


def _run(recording: Recording, loop: Loop, thread: str, at: float) -> float:
    """Record one loop that starts at `at`; returns when it ended. The task is continued up to the first prompt."""
    dice, offered = Dice(f"bridge {thread}"), tools(loop.server)
    messages: list[Json] = [{"role": "user", "content": loop.task}]
    room = loop.prompts[0] * CHARS_PER_TOKEN - size(offered) - letters(messages)
    if room > 2 * CHARS_PER_TOKEN:
        messages[0]["content"] += _escaped(room, dice)
    seen: dict[Json, str] = {}
    for number, prompt in enumerate(loop.prompts):
        request = {"model": MODEL, "messages": list(messages), "tools": offered, "tool_choice": "auto"}
        said = _said(dice, loop.rounds[number % len(loop.rounds)])
        first = round(at + 0.3 + prompt / 2200, 3)
        end = round(first + letters([said]) / CHARS_PER_TOKEN / 40, 3)
        recording.exchanges.append(Exchange(request, _response(said, prompt, at, dice), at, first, end, thread))
        if number + 1 < len(loop.prompts):
            growth = (loop.prompts[number + 1] - prompt) * CHARS_PER_TOKEN
            messages += [said, *_answered(said, growth, seen, dice)]
        at = round(end + dice.real(0.2, 0.6), 3)
    return at


def record() -> Recording:
    """The sample: the loop over the GitHub server, and three short ones as threads of their own."""
    title = "LM Studio bridge: a hundred rounds of GitHub tools"
    recording = Recording("3-lm-studio-bridge", title, "openai_chat", "lm studio")
    at = moment("2025-10-30 04:33:34")
    for thread, loop in LOOPS.items():
        if thread != "main":
            recording.threads[thread] = (f"{loop.server} server{', as its log tells' if loop.logged else ''}", "main")
        at = _run(recording, loop, thread, at)
    return recording
