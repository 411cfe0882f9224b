"""Sample 4, Pedroceli: a coding agent on a model with a window of 32,768 tokens, filled by a budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Final

from sessions.dice import Dice, exactly
from sessions.pedroceli_code import NOTES, signatures, source
from sessions.recording import CHARS_PER_TOKEN, Exchange, Json, Recording, moment, tokens

MODEL: Final = "qwen2.5-coder:32b"
SYSTEM, TASK, TOOLS = 2048, 512, 1024
"""Tokens of the three fixed parts, as budgeted."""
FILES: Final = {"task file": 15000, "dependency": 5000, "summary": 2000}
"""Tokens of the repository's files by why they were loaded."""
KEPT: Final = 3
"""Rounds kept in full; older ones become facts."""
ROUND: Final = 1000
"""Tokens of one round: the call, its result."""
ROUNDS: Final = 7

_PACKAGES: Final = (
    ("queue", ["Job", "Lease"]), ("worker", ["Worker", "Claim"]), ("journal", ["Record", "Cursor"]),
    ("retry", ["Attempt", "Delay"]), ("schedule", ["Plan", "Slot"]), ("quota", ["Share", "Limit"]),
)  # fmt: skip
_OTHERS: Final = (("digest", "Digest"), ("shard", "Shard"), ("event", "Event"), ("batch", "Batch"))
_SYSTEM: Final = """\
You are a careful Go engineer. You work on one task in one repository, in small steps: look, change, test, commit.
Every step is one tool call. The window of your model is small, so only the files that matter are shown below: files
named in the task in full, then what they import, then signatures of the rest. Steps older than the last three are
replaced by facts: files modified, tests passed and failed, errors, fixes, commits.

Rules: never edit a file you have not read; run the tests after every change; commit when they pass.
"""
_TASK: Final = """\
Task: a job is given to two workers when its lease expires while the journal is being written. Find out why in
internal/queue and internal/worker, add a test that fails, mend it, and commit. Do not change the journal's format.
"""
_STEPS: Final = (
    ("read_file", {"path": "internal/queue/queue.go", "lines": "40-120"}, "read internal/queue/queue.go"),
    ("write_test", {"path": "internal/queue/lease_test.go"}, "modified internal/queue/lease_test.go"),
    ("run_tests", {"package": "./internal/queue"}, "tests: 41 passed, 1 failed: TestLeaseExpiresDuringWrite"),
    ("edit_file", {"path": "internal/queue/queue.go", "lines": "88-97"}, "modified internal/queue/queue.go"),
    ("run_tests", {"package": "./internal/queue"}, "error: deadlock in PutLease, lock taken twice"),
    ("edit_file", {"path": "internal/queue/queue.go", "lines": "84-99"}, "fix: lease renewed under the same lock"),
    ("run_tests", {"package": "./..."}, "tests: 212 passed, 0 failed"),
    ("commit", {"message": "queue: renew the lease before the journal is written"}, "commit 4be19c2"),
)


def _remarks(dice: Dice) -> Iterator[str]:
    while True:
        yield f"{dice.pick(NOTES)} "


def _tools() -> list[Json]:
    names = ("read_file", "edit_file", "write_test", "run_tests", "search", "commit")
    text = {"type": "string"}
    schema = {"type": "object", "properties": {"path": text, "lines": text, "package": text, "message": text}}
    made: list[Json] = [
        {"type": "function", "function": {"name": n, "description": "", "parameters": schema}} for n in names
    ]
    left = TOOLS * CHARS_PER_TOKEN - sum(map(_size, made))
    for i, tool in enumerate(made):
        share = left // (len(made) - i)
        tool["function"]["description"] = exactly("", share, _remarks(Dice(names[i])))
        left -= share
    return made


def _size(value: Json) -> int:
    return len(json.dumps(value, separators=(",", ":")))


def _files() -> list[Json]:
    """The repository, a part for each file; each kind takes its tokens exactly."""
    plan = {"task file": _PACKAGES, "dependency": [(p, [n]) for p, n in _OTHERS[:2]]}
    parts: list[str] = []
    for kind, packages in plan.items():
        left = FILES[kind] * CHARS_PER_TOKEN
        for i, (package, names) in enumerate(packages):
            share = left // (len(packages) - i)
            head = f"=== internal/{package}/{package}.go ({kind}) ===\n"
            parts.append(head + source(package, names, share - len(head)))
            left -= share
    left = FILES["summary"] * CHARS_PER_TOKEN
    count = 6
    for i, (package, name) in enumerate([*_OTHERS, ("notify", "Notice"), ("audit", "Entry")]):
        share = left // (count - i)
        head = f"=== internal/{package}/{package}.go (summary) ===\n{signatures(source(package, [name], 5000))}"
        parts.append(exactly(head[:share], share, (f"// {n}\n" for n in cycle(NOTES))))
        left -= share
    return [{"type": "text", "text": part} for part in parts]


def _round(number: int, dice: Dice) -> list[Json]:
    """The call of one round and its result, together `ROUND` tokens."""
    name, given, fact = _STEPS[number]
    call = {"id": f"call_{dice.hex(8)}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    said = {"role": "assistant", "content": f"Step {number + 1}: {name}.", "tool_calls": [call]}
    left = ROUND * CHARS_PER_TOKEN - _letters(said)
    output = exactly("", left - len(fact) - 1, _test_log(dice)) if name == "run_tests" else None
    shown = output or source("queue", ["Job", "Lease", "Worker"], left - len(fact) - 1)
    return [said, {"role": "tool", "tool_call_id": call["id"], "content": f"{fact}\n{shown}"}]


def _test_log(dice: Dice) -> Iterator[str]:
    while True:
        package, names = dice.pick(_PACKAGES)
        test = f"Test{dice.pick(names)}{dice.pick(('Expires', 'IsRenewed', 'IsGivenOnce', 'SurvivesRestart'))}"
        yield f"=== RUN   {test}\n--- PASS: {test} ({dice.real(0.01, 1.9, 2):.2f}s)\nok  \tinternal/{package}\n"


def _letters(message: Json) -> int:
    content = message["content"]
    own = len(content) if isinstance(content, str) else sum(len(part["text"]) for part in content)
    calls = [call["function"] for call in message.get("tool_calls", [])]
    return own + sum(len(call["name"]) + len(call["arguments"]) for call in calls)


def record() -> Recording:
    """The sample: seven rounds on one task."""
    recording = Recording("4-pedroceli", "Pedroceli: a Go repository in a 32k window", "openai_chat", "ollama")
    dice, at, tools = Dice("pedroceli"), moment("2026-04-18 07:45:10"), _tools()
    system = exactly(_SYSTEM, SYSTEM * CHARS_PER_TOKEN, _remarks(Dice("pedroceli system")))
    task = exactly(_TASK, TASK * CHARS_PER_TOKEN, _remarks(Dice("pedroceli task")))
    shown = [{"type": "text", "text": task}, *_files()]
    opening = [{"role": "system", "content": system}, {"role": "user", "content": shown}]
    rounds: list[list[Json]] = []
    for number in range(ROUNDS):
        old = [f"step {i + 1}: {_STEPS[i][2]}" for i in range(max(0, number - KEPT))]
        facts = [{"role": "user", "content": "Facts from earlier steps:\n" + "\n".join(old)}] if old else []
        messages = [*opening, *facts, *(m for r in rounds[-KEPT:] for m in r)]
        request = {"model": MODEL, "max_tokens": 8192, "tools": tools, "messages": messages}
        said = _round(number, dice)
        rounds.append(said)
        prompt = tokens(sum(map(_size, tools)) + sum(map(_letters, messages)))
        answer = tokens(_letters(said[0]))
        choice = {"index": 0, "message": said[0], "finish_reason": "tool_calls"}
        usage = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
        first = round(at + 0.5 + prompt / 700, 3)
        end = round(first + answer / 22, 3)
        response = {"id": f"chatcmpl-{dice.digits(3)}", "object": "chat.completion", "created": int(at), "model": MODEL,
                    "system_fingerprint": "fp_ollama", "choices": [choice], "usage": usage}  # fmt: skip
        recording.exchanges.append(Exchange(request, response, at, first, end))
        at = round(end + dice.real(0.5, 20.0), 3)
    return recording
