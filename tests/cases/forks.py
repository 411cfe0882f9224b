"""Sessions and their forks as each client writes them: generated, with the figures of every call that was made."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

from tests.cases import claude_code_script, codex, opencode, pi

Record = dict[str, Any]


class Family(NamedTuple):
    """A session and its forks: `files` by name, and the input and output of each call that was made, once each."""

    files: dict[str, bytes]
    made: list[tuple[int, int]]


class _Calls:
    """Draws the figures of calls."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.made: list[tuple[int, int]] = []

    def draw(self) -> tuple[int, int]:
        """The input and output of one more call."""
        figures = self.random.randint(1_000, 60_000), self.random.randint(20, 900)
        self.made.append(figures)
        return figures

    def turns(self) -> range:
        """Some more turns."""
        return range(self.random.randint(1, 3))

    def forks(self) -> range:
        """Some forks."""
        return range(1, self.random.randint(2, 4))


def codex_with(replay: Callable[[Record], bool]) -> Callable[[int], Family]:
    """Rollouts whose forks repeat those records of their origin that `replay` chooses, at the time of the fork."""

    def family(seed: int) -> Family:
        calls = _Calls(seed)
        scripts: list[codex.Script] = []
        for number in [0, *calls.forks()]:
            script = codex.Script(session=f"019eef3d-0000-7000-8000-{number:012}")
            script.clock = codex.EPOCH.replace(day=1 + number)
            origin = calls.random.choice(scripts) if scripts else None
            script.meta(**({"forked_from_id": origin.session} if origin else {}))
            if origin is not None:
                stamp = script.records[0]["timestamp"]
                script.total = dict(origin.total)
                script.records += [{**one, "timestamp": stamp} for one in origin.records if replay(one)]
            script.context()
            for _ in calls.turns():
                script.user("and now?")
                script.says(f"answer {calls.random.random()}")
                script.counts(*_split(*calls.draw()))
            scripts.append(script)
        return Family({f"rollout-2026-{s.session}.jsonl": s.dump() for s in scripts}, calls.made)

    return family


def _split(given: int, output: int) -> tuple[int, int, int]:
    return given, given // 2, output


def _is_count(record: Record) -> bool:
    return record["type"] == "session_meta" or record["payload"].get("type") == "token_count"


def opencode_family(seed: int) -> Family:
    """Exports whose forks have the messages of their origin under ids of their own."""
    calls, scripts = _Calls(seed), list[opencode.Script]()
    for number in [0, *calls.forks()]:
        script = opencode.Script()
        script.count = 1_000 * number
        if scripts:
            origin = calls.random.choice(scripts)
            script.read = origin.read
            for message in deepcopy(origin.messages):
                message["info"]["id"] = script.id("msg")
                message["parts"] = [{**part, "id": script.id("prt")} for part in message["parts"]]
                script.messages.append(message)
        for _ in calls.turns():
            script.user("and now?")
            given, output = calls.draw()
            script.read = 0
            script.answer(opencode.text(f"answer {calls.random.random()}"), fresh=given, output=output)
        scripts.append(script)
    return Family({f"export-{n}.json": script.dump() for n, script in enumerate(scripts)}, calls.made)


def pi_family(seed: int) -> Family:
    """Session files whose forks have the entries of their origin."""
    calls, scripts = _Calls(seed), list[pi.Script]()
    for number in [0, *calls.forks()]:
        script = pi.Script()
        if scripts:
            origin = calls.random.choice(scripts)
            script.records, script.tip = deepcopy(origin.records), origin.tip
        script.records[0]["id"] = f"session-{number}"
        for _ in calls.turns():
            script.user("and now?")
            given, output = calls.draw()
            script.read = 0
            script.answer(pi.text(f"answer {calls.random.random()}"), fresh=given, output=output)
        scripts.append(script)
    return Family({f"pi-{n}.jsonl": script.dump() for n, script in enumerate(scripts)}, calls.made)


def claude_code_family(seed: int) -> Family:
    """Session files whose forks have the records of their origin under the fork's session."""
    calls, scripts = _Calls(seed), list[claude_code_script.Script]()
    for number in [0, *calls.forks()]:
        script = claude_code_script.Script(session=f"00000000-1111-4222-8333-{number:012}", prefix=f"u{number}-")
        if scripts:
            origin = calls.random.choice(scripts)
            script.records = [{**one, "sessionId": script.session} for one in origin.records]
            script.tip = origin.tip
        for _ in calls.turns():
            script.user("and now?")
            given, output = calls.draw()
            use = claude_code_script.usage(fresh=given, output=output)
            script.assistant(claude_code_script.text("so"), id=f"msg_{calls.random.random()}", use=use, stop="end_turn")
        scripts.append(script)
    return Family({f"{script.session}.jsonl": script.dump() for script in scripts}, calls.made)


def gemini_family(seed: int) -> Family:
    """Chats of Gemini CLI: an answer is written again when its tool has run, a resumed session begins with all of its
    past, without figures."""
    calls, past, files = _Calls(seed), list[Record](), {}
    for number in [0, *calls.forks()]:
        lines: list[Record] = [{"sessionId": f"chat-{number}", "projectHash": "h", "kind": "main"}]
        if past:
            kept = [{k: v for k, v in one.items() if k not in ("tokens", "toolCalls")} for one in past]
            lines += [{"$set": {"messages": kept[:1]}}, {"$set": {"messages": kept}}]
        for _ in calls.turns():
            given, output = calls.draw()
            id_ = f"{calls.random.random()}"
            asked = {"id": f"u{id_}", "type": "user", "content": [{"text": "and now?"}]}
            tokens = {"input": given, "output": output, "cached": 0, "thoughts": 0, "tool": 0}
            said = {"id": f"a{id_}", "type": "gemini", "content": "", "model": "gemini-3.1-pro-preview"}
            said |= {"timestamp": "2026-11-28T21:46:26.546Z", "tokens": tokens}
            result = {"functionResponse": {"id": id_, "name": "ls", "response": {"output": "a.py"}}}
            tool = {"id": id_, "name": "ls", "args": {}, "result": [result], "status": "success"}
            told = {"id": f"r{id_}", "type": "user", "content": [result]}
            lines += [asked, said, {**said, "toolCalls": [tool]}, told, {"$set": {"lastUpdated": "now"}}]
            past += [asked, said, told]
        files[f"session-{number}.jsonl"] = _lines(lines)
    return Family(files, calls.made)


def copilot_family(seed: int) -> Family:
    """Events of Copilot CLI: a record of each request, sums that go on when the session is resumed, and a copy of the
    file as it was before."""
    calls, files = _Calls(seed), {}
    lines = [_event("session.start", sessionId="s", producer="copilot-agent", selectedModel="claude-sonnet-4-5")]
    for number in [0, *calls.forks()]:
        for _ in calls.turns():
            given, output = calls.draw()
            id_ = f"msg_{calls.random.random()}"
            used = {"apiCallId": id_, "inputTokens": given, "outputTokens": output, "cacheReadTokens": 0}
            lines += [
                _event("user.message", content="and now?"),
                _event("session.usage_record", usage={**used, "model": "claude-sonnet-4-5"}),
                _event("assistant.message", apiCallId=id_, content="so", model="claude-sonnet-4-5"),
            ]
        whole = {"inputTokens": sum(one for one, _ in calls.made), "outputTokens": sum(one for _, one in calls.made)}
        sums = {"requests": {"count": len(calls.made)}, "usage": {**whole, "cacheReadTokens": 0}}
        lines.append(_event("session.shutdown", modelMetrics={"claude-sonnet-4-5": sums}))
        files[f"events-{number}.jsonl"] = _lines(lines)
        lines = [*lines, _event("session.resume")]
    return Family(files, calls.made)


def _event(kind: str, **data: Any) -> Record:
    return {"type": kind, "data": data, "id": "i", "timestamp": "2026-06-25T01:50:34.403Z", "parentId": None}


def _lines(records: list[Record]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


FAMILIES: dict[str, Callable[[int], Family]] = {
    "claude code": claude_code_family,
    "codex": codex_with(lambda record: True),
    "codex counts alone": codex_with(_is_count),
    "copilot cli": copilot_family,
    "gemini cli": gemini_family,
    "opencode": opencode_family,
    "pi": pi_family,
}
"""Families by what writes them."""
