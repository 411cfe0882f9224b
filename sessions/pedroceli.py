"""Sample 4, Pedroceli: a coding agent on a model with a window of 32,768 tokens, filled by a budget."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sessions.dice import Dice, exactly
from sessions.pedroceli_code import NOTES, source, summarized
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

_FILES: Final = {
    "task file": {
        "pkg/api/handler.go": ("Request", "Reply"),
        "pkg/db/queries.go": ("Row", "Query"),
        "pkg/api/middleware.go": ("Limit", "Client"),
        "pkg/api/limits.go": ("Share", "Quota"),
        "pkg/bot/bot.go": ("Message", "Channel"),
        "pkg/bot/schedule.go": ("Plan", "Slot"),
    },
    "dependency": {"pkg/redis/counter.go": ("Counter",), "pkg/db/pool.go": ("Pool",)},
    "summary": {
        "pkg/audit/audit.go": ("Entry", "Detail"),
        "pkg/command/command.go": ("Command", "Pattern"),
        "pkg/job/job.go": ("Job", "Lease"),
        "pkg/plugin/plugin.go": ("Plugin", "Version", "Hook"),
        "pkg/session/session.go": ("Session", "Agent", "Token"),
        "pkg/webhook/webhook.go": ("Webhook", "Target", "Attempt"),
    },
}
"""The repository as the task wants it: path -> types of the file, by why it was loaded."""
_SYSTEM: Final = """\
You are a careful Go engineer. You work on one task in one repository, in small steps: look, change, test, commit.
Every step is one tool call. The window of your model is small, so only the files that matter are shown below: files
named in the task in full, then what they import, then signatures of the rest. Steps older than the last three are
replaced by facts: files modified, tests passed and failed, errors, fixes, commits.

Rules: never edit a file you have not read; run the tests after every change; commit when they pass.
"""
_TASK: Final = """\
Task: add rate limiting to the bot, in pkg/api/handler.go, pkg/db/queries.go and pkg/api/middleware.go. Limits come from
pkg/api/limits.go, the bot asks through pkg/bot/bot.go as planned in pkg/bot/schedule.go. Test it and commit what works.
"""


class Step(NamedTuple):
    """One round: the tool, what it is given, and the facts of it by heading (``Error``: what went wrong)."""

    tool: str
    given: dict[str, str]
    facts: dict[str, str]


_STEPS: Final = (
    Step("edit_file", {"path": "pkg/api/handler.go", "lines": "40-58"}, {"Modified": "pkg/api/handler.go"}),
    Step("edit_file", {"path": "pkg/db/queries.go", "lines": "88-97"}, {"Modified": "pkg/db/queries.go"}),
    Step("edit_file", {"path": "pkg/api/handler.go", "lines": "12-16"}, {"Modified": "pkg/api/handler.go"}),
    Step("run_tests", {"package": "./..."}, {"Tests": "12 passed, 0 failed"}),
    Step("commit", {"message": "Add rate limiting middleware"}, {"Committed": '"Add rate limiting middleware"'}),
    Step("edit_file", {"path": "pkg/api/middleware.go", "lines": "20-41"}, {"Modified": "pkg/api/middleware.go"}),
    Step(
        "run_tests",
        {"package": "./pkg/api"},
        {"Tests": "1 failed (TestRateLimit)", "Error": "Redis connection timeout"},
    ),
    Step(
        "edit_file",
        {"path": "pkg/api/middleware.go", "lines": "30-47"},
        {"Modified": "pkg/api/middleware.go", "Fixed": "Added connection retry logic"},
    ),
    Step("run_tests", {"package": "./..."}, {"Tests": "14 passed, 0 failed"}),
    Step("commit", {"message": "Retry when Redis is slow"}, {"Committed": '"Retry when Redis is slow"'}),
    Step("search", {"path": "docs", "message": "rate limit"}, {}),
    Step("edit_file", {"path": "docs/limits.md", "lines": "1-9"}, {"Modified": "docs/limits.md"}),
)
_HEADINGS: Final = ("Modified", "Tests", "Committed", "Error", "Fixed")


def facts(steps: Sequence[Step]) -> str:
    """What remains of older rounds, as the document prints it: a range of steps up to each commit."""
    ranges: list[list[int]] = [[]]
    for number, step in enumerate(steps, 1):
        ranges[-1].append(number)
        if step.tool == "commit":
            ranges.append([])
    told = "\n".join(_range(held, [steps[number - 1] for number in held]) for held in ranges if held)
    return f"=== Previous Work Summary ===\n{told}\n=== Recent Context ==="


def _range(numbers: Sequence[int], steps: Sequence[Step]) -> str:
    lines = [f"Steps {numbers[0]}-{numbers[-1]}:\n"]
    for heading in _HEADINGS:
        said = dict.fromkeys(step.facts[heading] for step in steps if heading in step.facts)
        lines += [f"  - {heading}: {', '.join(said)}\n"] if said else []
    return "".join(lines)


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
    """The repository, a part for each file; task files and dependencies take their tokens exactly."""
    parts: list[str] = []
    for kind, files in _FILES.items():
        left = FILES[kind] * CHARS_PER_TOKEN
        for i, (path, names) in enumerate(files.items()):
            share = left // (len(files) - i)
            head, package = f"=== {path} ({kind}) ===\n", path.split("/")[1]
            whole = source(package, list(names), share - len(head) if kind != "summary" else 8000)
            parts.append(head + (summarized(whole) if kind == "summary" else whole))
            left -= len(parts[-1])
    return [{"type": "text", "text": part} for part in parts]


def _round(number: int, dice: Dice) -> list[Json]:
    """The call of one round and its result, together `ROUND` tokens."""
    step = _STEPS[number]
    function = {"name": step.tool, "arguments": json.dumps(step.given)}
    call = {"id": f"call_{dice.hex(8)}", "type": "function", "function": function}
    said = {"role": "assistant", "content": f"Step {number + 1}: {step.tool}.", "tool_calls": [call]}
    told = "; ".join(step.facts.values()) or "3 files"
    left = ROUND * CHARS_PER_TOKEN - _letters(said) - len(told) - 1
    shown = exactly("", left, _test_log(dice)) if step.tool == "run_tests" else source("api", ["Limit", "Client"], left)
    return [said, {"role": "tool", "tool_call_id": call["id"], "content": f"{told}\n{shown}"}]


def _test_log(dice: Dice) -> Iterator[str]:
    while True:
        path, names = dice.pick([*_FILES["task file"].items()])
        test = f"Test{dice.pick(names)}{dice.pick(('Expires', 'IsRenewed', 'IsGivenOnce', 'SurvivesRestart'))}"
        package = f"github.com/pedro/bot/{path.rpartition('/')[0]}"
        yield f"=== RUN   {test}\n--- PASS: {test} ({dice.real(0.01, 1.9, 2):.2f}s)\nok  \t{package}\n"


def _letters(message: Json) -> int:
    content = message["content"]
    own = len(content) if isinstance(content, str) else sum(len(part["text"]) for part in content)
    calls = [call["function"] for call in message.get("tool_calls", [])]
    return own + sum(len(call["name"]) + len(call["arguments"]) for call in calls)


def record() -> Recording:
    """The sample: twelve rounds on one task."""
    recording = Recording("4-pedroceli", "Pedroceli: a Go repository in a 32k window", "openai_chat", "ollama")
    dice, at, tools = Dice("pedroceli"), moment("2026-04-18 07:45:10"), _tools()
    system = exactly(_SYSTEM, SYSTEM * CHARS_PER_TOKEN, _remarks(Dice("pedroceli system")))
    task = exactly(_TASK, TASK * CHARS_PER_TOKEN, _remarks(Dice("pedroceli task")))
    shown = [{"type": "text", "text": task}, *_files()]
    opening = [{"role": "system", "content": system}, {"role": "user", "content": shown}]
    rounds: list[list[Json]] = []
    for number in range(len(_STEPS)):
        old = _STEPS[: max(0, number - KEPT)]
        summary = [{"role": "user", "content": facts(old)}] if old else []
        messages = [*opening, *summary, *(m for r in rounds[-KEPT:] for m in r)]
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
