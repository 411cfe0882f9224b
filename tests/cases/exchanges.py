"""The same exchanges in every container that records bodies: made-up agents in turn, with judges, retries, subagents
and compactions beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import yaml
from hypothesis import strategies as st

from ctxtui.transcripts.kit.readers import LOGS

MODEL = "claude-opus-4-6"
CHAT_MODEL = "gpt-5.1"
START = 1_780_000_000
TOOLS = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
MARKER = {"cache_control": {"type": "ephemeral"}}

Body = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """One exchange: whole seconds, as some containers round; no answer lasts, as some keep one time only."""

    request: Body
    answer: Body
    status: int
    at: int
    headers: dict[str, str] = field(default_factory=dict)
    url: str = "https://api.anthropic.com/v1/messages"


@dataclass
class Writer:
    """Exchanges in the order in which they are made."""

    made: list[Made] = field(default_factory=list)
    seconds: int = START
    _cached: int = 0

    def ask(self, by: Agent, messages: list[Body], said: Body, status: int = 200) -> None:
        self.seconds += 20
        front: Body = {"system": [{"type": "text", "text": by.who * 9, **MARKER}], "tools": by.tools}
        request = {"model": MODEL, "max_tokens": 50, **front, "messages": messages}
        number = len(self.made) + 1
        answer: Body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        if status == 200:
            read, self._cached = (self._cached, 4_000) if number % 3 else (0, 4_000)
            usage = {"input_tokens": 10 + number, "cache_creation_input_tokens": 4_000 - read,
                     "cache_read_input_tokens": read, "output_tokens": 3}  # fmt: skip
            stop = "tool_use" if said["type"] == "tool_use" else "end_turn"
            answer = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": MODEL,
                      "content": [said], "stop_reason": stop, "usage": usage}  # fmt: skip
        self.made.append(Made(request, answer, status, self.seconds, by.headers))


@dataclass
class Agent:
    """An agent that resends its history. `headers` are what its client says of it."""

    who: str
    messages: list[Body]
    headers: dict[str, str] = field(default_factory=dict)
    tools: list[Body] = field(default_factory=lambda: TOOLS)

    def act(self, writer: Writer, number: int, fails: bool) -> None:
        """A turn: a tool's result or a person's words, after the answer; a request that fails is sent again."""
        use = number % 2 == 0
        id_ = f"toolu_01{len(writer.made):012d}"
        words = f"{self.who} says number {len(writer.made)}."
        said = {"type": "tool_use", "id": id_, "name": "look", "input": {}} if use else {"type": "text", "text": words}
        if fails:
            writer.ask(self, self.messages, said, status=529)
        writer.ask(self, self.messages, said)
        result = {"type": "tool_result", "tool_use_id": id_, "content": "seen"} if use else text(f"Go on, {number}.")
        self.messages = [*self.messages, turn("assistant", said), turn("user", result)]

    def compact(self, writer: Writer) -> None:
        """The agent is made to sum itself up, and goes on from that."""
        story = f"So far {self.who} looked at {len(writer.made)} things and found nothing that was wrong."
        asked = [*self.messages, turn("user", text("Sum up what happened."))]
        writer.ask(self, asked, text(story))
        self.messages = [turn("user", text(f"What happened so far: {story}"))]


def judge(writer: Writer, who: str, words: str, said: str) -> None:
    """One question to a judge, which has no tools and no history."""
    asked = [turn("user", text(words))]
    writer.ask(Agent(who, asked, tools=[]), asked, text(said))


def signature(signed: bool, session: str, agent: str = "") -> dict[str, str]:
    """What a client that names its sessions and agents puts into its headers."""
    named = {"X-Claude-Code-Session-Id": session, **({"X-Claude-Code-Agent-Id": agent} if agent else {})}
    return named if signed else {}


def text(words: str) -> Body:
    return {"type": "text", "text": words}


def turn(role: str, *parts: Body) -> Body:
    return {"role": role, "content": list(parts)}


KINDS = ("turn", "turn", "retry", "judge", "same judge", "subagent", "agent", "compaction")


@st.composite
def scenarios(draw: st.DrawFn, signed: bool = False) -> list[Made]:
    """What several agents and judges asked, one after another."""
    writer = Writer()
    agents = [Agent("You mend bicycles. ", [turn("user", text("The chain slips."))], signature(signed, "s1"))]
    for number in range(draw(st.integers(2, 9))):
        match draw(st.sampled_from(KINDS)):
            case "turn" | "retry" as kind:
                draw(st.sampled_from(agents)).act(writer, draw(st.integers(0, 1)), kind == "retry")
            case "judge":
                judge(writer, "You judge prose. ", f"Rate number {number}.", "4")
            case "same judge":
                judge(writer, draw(st.sampled_from(["You judge prose. ", "You judge songs. "])), "Rate this.", "5")
            case "subagent":
                task = [turn("user", text(f"Find spare part number {number} in the long list of parts."))]
                agents.append(Agent("You search lists. ", task, signature(signed, "s1", f"agent{number}")))
            case "agent":
                task = [turn("user", text(f"Bicycle {number} squeaks."))]
                agents.append(Agent("You mend bicycles. ", task, signature(signed, f"s{number + 2}")))
            case _:
                draw(st.sampled_from(agents)).compact(writer)
    if not writer.made:
        agents[0].act(writer, 0, False)
    return writer.made


def grid() -> list[Made]:
    """Six calls of two judges in turn: all of them are asked the same."""
    writer = Writer()
    for number in range(6):
        who = ("You judge prose. ", "You translate into Frisian. ")[number % 2]
        judge(writer, who, "Rate this.", f"answer {number}")
    return writer.made


def as_chat(made: Sequence[Made]) -> list[Made]:
    """The same exchanges as Chat Completions."""
    return [_chat(one) for one in made]


def _chat(one: Made) -> Made:
    asked = one.request
    messages = [{"role": "system", "content": asked["system"][0]["text"]}]
    messages += [_message(message["role"], part) for message in asked["messages"] for part in message["content"]]
    request = {"model": CHAT_MODEL, "max_completion_tokens": 50, "messages": messages}
    if asked["tools"]:
        request["tools"] = [
            {"type": "function", "function": {"name": tool["name"], "parameters": tool["input_schema"]}}
            for tool in asked["tools"]
        ]
    answer: Body = {"error": {"type": "server_error", "message": "Overloaded"}}
    if one.status == 200:
        used = one.answer["usage"]
        read, written = used["cache_read_input_tokens"], used["cache_creation_input_tokens"]
        usage = {"prompt_tokens": used["input_tokens"] + read + written, "completion_tokens": 3,
                 "prompt_tokens_details": {"cached_tokens": read}}  # fmt: skip
        said = _message("assistant", one.answer["content"][0])
        finish = "tool_calls" if "tool_calls" in said else "stop"
        choice = {"index": 0, "message": said, "finish_reason": finish}
        answer = {"id": f"chatcmpl-{one.answer['id']}", "object": "chat.completion", "created": one.at,
                  "model": CHAT_MODEL, "choices": [choice], "usage": usage}  # fmt: skip
    return Made(request, answer, one.status, one.at, one.headers, "https://api.openai.com/v1/chat/completions")


def _message(role: str, part: Body) -> Body:
    if part["type"] == "tool_result":
        return {"role": "tool", "tool_call_id": part["tool_use_id"], "content": part["content"]}
    if part["type"] == "text":
        return {"role": role, "content": part["text"]}
    function = {"name": part["name"], "arguments": json.dumps(part["input"])}
    return {"role": role, "content": None, "tool_calls": [{"id": part["id"], "type": "function", "function": function}]}


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _lines(values: Sequence[Any]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in values).encode()


def har(made: Sequence[Made]) -> bytes:
    entries = [
        {
            "startedDateTime": _iso(one.at), "time": 0,
            "request": {"method": "POST", "url": one.url, "headers": [
                {"name": name, "value": value} for name, value in one.headers.items()
            ], "postData": {"text": json.dumps(one.request)}},
            "response": {"status": one.status, "content": {"text": json.dumps(one.answer)}},
        }
        for one in made
    ]  # fmt: skip
    return json.dumps({"log": {"version": "1.2", "creator": {"name": "proxy"}, "entries": entries}}).encode()


def pairs(made: Sequence[Made]) -> bytes:
    """JSON lines, each with the bodies of one exchange."""
    times = ("started_at", "ended_at")
    return _lines(
        [
            {"request_headers": one.headers, "request": one.request, "response": one.answer}
            | dict.fromkeys(times, _iso(one.at))
            for one in made
        ]
    )


def listed(made: Sequence[Made]) -> bytes:
    """The same as one list over many lines."""
    return json.dumps([json.loads(line) for line in pairs(made).splitlines()], indent=1).encode()


def cassette(made: Sequence[Made]) -> bytes:
    entries = [
        {
            "request": {
                "method": "post",
                "uri": one.url,
                "body": {"string": json.dumps(one.request)},
                "headers": one.headers,
            },
            "response": {"status": {"code": one.status, "message": "x"}, "body": {"string": json.dumps(one.answer)}},
            "recorded_at": datetime.fromtimestamp(one.at, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"),
        }
        for one in made
    ]
    return yaml.safe_dump({"http_interactions": entries, "recorded_with": "VCR 6"}, sort_keys=False).encode()


def request_logs(made: Sequence[Made]) -> bytes:
    """A folder of logs of one request each, as the edge hands it over."""
    logs = [
        {
            "messages": one.request["messages"], "tools": one.request.get("tools"), "response": one.answer,
            "kwargs": {key: one.request[key] for key in one.request if key not in ("messages", "tools")},
            "context_window": 0, "timestamp": one.at, "latency_sec": 0.0,
        }
        for one in made
    ]  # fmt: skip
    return json.dumps([LOGS, *logs]).encode()


def attached(made: Sequence[Made]) -> bytes:
    """What a relay records."""
    lines: list[Body] = [{"ctxtui_attached": 1, "session": "s", "program": "agent"}]
    for number, one in enumerate(made):
        body = json.dumps(one.request)
        asked = {
            "method": "POST",
            "url": one.url,
            "headers": list(one.headers.items()),
            "body": {"size": len(body), "text": body},
        }
        named = {"x": f"run.{number}", "at": one.at}
        lines += [
            {**named, "asked": asked},
            {**named, "answered": {"status": one.status, "headers": []}},
            {**named, "data": json.dumps(one.answer)},
            {**named, "ended": True},
        ]
    return _lines(lines)


def spans(made: Sequence[Made]) -> bytes:
    """OpenTelemetry's spans with the bodies that were sent, as OpenInference keeps them."""
    found = []
    for number, one in enumerate(made):
        used, model = one.answer.get("usage", {}), one.request["model"]
        read, written = used.get("cache_read_input_tokens", 0), used.get("cache_creation_input_tokens", 0)
        held: Body = {
            "openinference.span.kind": "LLM", "llm.provider": "anthropic" if model == MODEL else "openai",
            "llm.model_name": model, "input.value": json.dumps(one.request), "output.value": json.dumps(one.answer),
        }  # fmt: skip
        if "prompt_tokens" in used:
            held |= {
                "llm.token_count.prompt": used["prompt_tokens"],
                "llm.token_count.completion": used["completion_tokens"],
                "llm.token_count.prompt_details.cache_read": used["prompt_tokens_details"]["cached_tokens"],
            }
        elif used:
            held |= {
                "llm.token_count.prompt": used["input_tokens"] + read + written,
                "llm.token_count.completion": used["output_tokens"],
                "llm.token_count.prompt_details.cache_read": read,
                "llm.token_count.prompt_details.cache_write": written,
            }
        status = {} if one.status == 200 else {"code": "ERROR", "message": "overloaded_error: Overloaded"}
        found.append({
            "name": "messages", "context": {"trace_id": f"0x{7:032x}", "span_id": f"0x{number + 1:016x}"},
            "start_time": _iso(one.at), "end_time": _iso(one.at), "attributes": held, "status": status,
        })  # fmt: skip
    return _lines(found)


CONTAINERS: dict[str, tuple[str, Callable[[Sequence[Made]], bytes]]] = {
    "har": ("a.har", har),
    "bodies": ("a.jsonl", pairs),
    "list": ("a.json", listed),
    "vcr": ("a.yaml", cassette),
    "request logs": ("a.json", request_logs),
    "relay": ("a.jsonl", attached),
    "otlp": ("a.jsonl", spans),
}
"""Each container's file name, and what writes it."""
WITH_HEADERS = ("har", "bodies", "list", "vcr", "relay")
"""Those that hold a request's headers."""
