"""Sample 3, an LM Studio bridge: a hundred rounds on a local model, all schemas and the whole history every time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sessions import bridge_tools
from sessions.dice import Dice, exactly
from sessions.recording import CHARS_PER_TOKEN, Exchange, Json, Recording, moment, tokens

MODEL: Final = "meta-llama-3.1-70b-instruct"
ROUND: Final = 424
"""Tokens by which the prompt grows each round: an assistant message with a call, its result, the loop's nudge."""
NUDGE: Final = (
    "Go on with the next step. Do not sum up what you have done so far: call exactly one tool, or answer DONE when "
    "nothing is left to do. If a call failed, say in one sentence why, and try it in another way."
)


class Loop(NamedTuple):
    """One autonomous loop: the server whose tools are offered, prompt tokens of each round, the task."""

    server: str
    prompts: Sequence[int]
    task: str
    calls: Sequence[tuple[str, dict[str, str]]]


_REPO: Final = {"owner": "lakeside", "repo": "harbour-tracker"}
LOOPS: Final = (
    Loop(
        "github",
        [7328 + ROUND * n for n in range(100)],
        "Go through the open issues of lakeside/harbour-tracker and label all of them, please.",
        (
            ("list_issues", {**_REPO, "state": "open"}), ("get_issue", _REPO), ("search_code", {"q": "tide table"}),
            ("get_file_contents", {**_REPO, "path": "src/tides.ts"}), ("update_issue", {**_REPO, "labels": "triage"}),
            ("get_pull_request_files", _REPO), ("add_issue_comment", {**_REPO, "body": "Reproduced on the pier data."}),
        ),
    ),
    Loop(
        "memory",
        [1984 + ROUND * n for n in range(5)],
        "Write all that we know about the harbour and its ships into the knowledge graph.",
        (("search_nodes", {"query": "harbour"}), ("create_entities", {"entities": "pier three"}),
         ("add_observations", {"observations": "the crane is out of order"}), ("read_graph", {})),
    ),
    Loop(
        "filesystem",
        [5703, 6937],
        "Read the log below and find out which module wrote the line about the lost anchor.\n\n",
        (("search_files", {"path": "src", "pattern": "anchor"}), ("read_text_file", {"path": "src/anchor.ts"})),
    ),
    Loop(
        "fetch",
        [578, 938],
        "Summarise the page at https://example.org/harbour/notices for the crew. What matters is this: ",
        (("fetch", {"url": "https://example.org/harbour/notices"}), ("fetch", {"url": "https://example.org/harbour"})),
    ),
)  # fmt: skip
_FACTS: Final = (
    "the tide table is read once at the start and never again",
    "the report says that ships leave the list as soon as the crane has been booked",
    "nobody has answered this question since the harbour master left the project",
    "the same message appears when the connection to the weather station is lost",
    "a second run gives the expected result, which points to a race between two writers",
    "the test for the eastern pier is skipped on machines without a time zone database",
    "the author proposes to keep the old names until the next release is out",
    "the change was merged without a review and undone on the following morning",
    "the anchor position is rounded to whole metres before it is stored",
    "the documentation still describes the format of the previous version",
)
_PLACES: Final = ("src/tides.ts", "src/anchor.ts", "src/pier/crane.ts", "test/harbour.test.ts", "docs/format.md")


def _facts(dice: Dice) -> Iterator[str]:
    while True:
        place = f"{dice.pick(_PLACES)}:{dice.between(3, 480)}"
        label = dice.pick(("bug", "question", "stale", "duplicate", "help wanted"))
        day = f"2026-0{dice.between(1, 3)}-{dice.between(10, 28)}"
        yield f"#{dice.digits(3)} [{label}] {day} {place} {dice.pick(_FACTS)}.\n"


def _said(dice: Dice, loop: Loop) -> Json:
    """The assistant's message: a sentence and a call."""
    name, given = dice.pick(loop.calls)
    given = {**given, **({"issue_number": dice.digits(3)} if "issue" in name and name != "list_issues" else {})}
    call = {"id": dice.digits(9), "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    return {"role": "assistant", "content": f"Next I use {name}.", "tool_calls": [call]}


def _letters(message: Json) -> int:
    calls = [call["function"] for call in message.get("tool_calls", [])]
    return len(message["content"]) + sum(len(call["name"]) + len(call["arguments"]) for call in calls)


def _answered(said: Json, growth: int, seen: dict[Json, str], dice: Dice) -> list[Json]:
    """The result of its call, so long that the round grows the prompt by `growth` characters, and the loop's nudge.
    The same call gets the same result again."""
    left = growth - _letters(said) - len(NUDGE)
    (call,) = said["tool_calls"]
    asked = (call["function"]["arguments"], left)
    seen[asked] = seen.get(asked) or exactly("", left, _facts(dice))
    return [{"role": "tool", "tool_call_id": call["id"], "content": seen[asked]}, {"role": "user", "content": NUDGE}]


def _response(message: Json, prompt: int, at: float, dice: Dice) -> Json:
    answer = tokens(_letters(message))
    return {
        "id": f"chatcmpl-{dice.hex(22)}",
        "object": "chat.completion",
        "created": int(at),
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
    }


def _run(recording: Recording, loop: Loop, thread: str, at: float) -> float:
    """Record one loop that starts at `at`; returns when it ended. The first message fills up to the first prompt."""
    dice = Dice(f"bridge {loop.server}")
    tools = bridge_tools.tools(loop.server)
    room = loop.prompts[0] * CHARS_PER_TOKEN - bridge_tools.size(tools)
    task = loop.task if len(loop.task) >= room else exactly(loop.task, room, _facts(dice))
    messages: list[Json] = [{"role": "user", "content": task}]
    seen: dict[Json, str] = {}
    for number, prompt in enumerate(loop.prompts):
        request = {"model": MODEL, "tools": tools, "messages": list(messages)}
        said = _said(dice, loop)
        first = round(at + 0.3 + prompt / 900, 3)
        end = round(first + _letters(said) / CHARS_PER_TOKEN / 14, 3)
        recording.exchanges.append(Exchange(request, _response(said, prompt, at, dice), at, first, end, thread))
        growth = (loop.prompts[number + 1] - prompt) * CHARS_PER_TOKEN if number + 1 < len(loop.prompts) else 0
        if growth:
            messages += [said, *_answered(said, growth, seen, dice)]
        at = round(end + dice.real(0.2, 1.5), 3)
    return at


def record() -> Recording:
    """The sample: the loop over the GitHub server, and three short ones as threads of their own."""
    title = "LM Studio bridge: a hundred rounds of GitHub tools"
    recording = Recording("3-lm-studio-bridge", title, "openai_chat", "lm studio")
    at = moment("2026-03-05 14:30:00")
    for i, loop in enumerate(LOOPS):
        thread = "main" if i == 0 else loop.server
        if i:
            recording.threads[thread] = (f"{loop.server} server", "main")
        at = _run(recording, loop, thread, at)
    return recording
