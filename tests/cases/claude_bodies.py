"""Look-alikes of what Claude Code writes under `OTEL_LOG_RAW_API_BODIES=file:DIR`, with the transcript of the session.

One session: a title's call, a call that was sent twice, one with a subagent, a compaction, a call after it.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from tests.cases.claude_code_script import SESSION, Record, Script, text, thinking, tool_result, tool_use, usage

BETAS = ["claude-code-20250219", "interleaved-thinking-2025-05-14"]
MODEL = "claude-opus-5-5"
AGENT = "a0f011b00d3d3a2f8"
REMINDER = "<system-reminder>\n# claudeMd\nBe brief.\n</system-reminder>"
COMPACT = "CRITICAL: Respond with TEXT ONLY. Write an <analysis> block followed by a <summary> block."
SUMMARY = "This session is being continued from a previous conversation. Files were read."
TOOLS = [
    {"name": name, "description": f"{name} something", "input_schema": {"type": "object", "properties": {}}}
    for name in ("Read", "Agent")
]


@dataclass
class BodyCase:
    """The files of a session: `transcript`, `agent` (the subagent's), `bodies` by name in order of writing.

    `sent` is what went over the wire, by the id of the answer; `side` are the ids that no transcript has, by kind.
    """

    transcript: bytes = b""
    agent: bytes = b""
    bodies: dict[str, bytes] = field(default_factory=dict)
    sent: dict[str, bytes] = field(default_factory=dict)
    side: dict[str, str] = field(default_factory=dict)


class _Client:
    def __init__(self, index: bool, session: str, prefix: str) -> None:
        self.case = BodyCase()
        self.index, self.session, self.prefix = index, session, prefix
        self.lines: list[Record] = []
        self.count = 0

    def send(self, messages: list[Record], system: str, tools: bool = True) -> str:
        """Write a request; gives the id of the answer it will get."""
        self.count += 1
        body: Record = {
            "model": MODEL,
            "messages": _marked(messages),
            "system": [text("x-anthropic-billing-header: cc_version=2.1.280.abc; cc_entrypoint=cli"), text(system)],
            "tools": TOOLS if tools else [],
            "metadata": {"user_id": json.dumps({"device_id": "d", "session_id": self.session})},
            "max_tokens": 32000,
            "thinking": {"type": "adaptive"},
            "stream": True,
        }
        id_ = f"msg_{self.prefix}{self.count:02d}"
        self.case.sent[id_] = _dump(body)
        self.case.bodies[self.request(id_)] = _dump(_written(body))
        return id_

    def request(self, id_: str) -> str:
        """The file of the request that `id_` answers."""
        return f"0000000{self.prefix or 0}-0000-4000-8000-{int(id_[-2:]):012d}.request.json"

    def answered(self, id_: str, source: str, blocks: list[Record], use: Record, uuid: str) -> None:
        """Write an answer and its line of the index."""
        body = {
            "id": id_,
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [_hidden(one) for one in blocks],
            "stop_reason": "end_turn",
            "usage": use,
        }
        response = f"req_{id_}.response.json"
        self.case.bodies[response] = _dump(body)
        line = {
            "timestamp": f"2026-02-07T09:00:{self.count:02d}.000Z",
            "session_id": self.session,
            "query_source": source,
            "model": MODEL,
            "request_id": f"req_{id_}",
            "message_id": id_,
            "message_uuid": uuid,
            "request_file": self.request(id_),
            "response_file": response,
        }
        self.lines.append(line)

    def done(self) -> BodyCase:
        if self.index:
            self.case.bodies["index.jsonl"] = b"".join(_dump(line) + b"\n" for line in self.lines)
        return self.case


def body_case(*, index: bool = True, session: str = SESSION, prefix: str = "") -> BodyCase:
    """A session with its bodies; without `index` as 2.1.197 wrote them."""
    client = _Client(index, session, prefix)
    main = Script(version="2.1.280", session=session, prefix=f"u{prefix}")
    agent = Script(version="2.1.280", session=session, prefix=f"a{prefix}", agentId=AGENT, isSidechain=True)
    case = client.case

    title = client.send(
        [{"role": "user", "content": "<session>\nread a.txt\n</session> Title?"}], "Write a title", False
    )
    client.answered(title, "generate_session_title", [text("Reading")], usage(40, output=3), "not-in-the-transcript-1")
    case.side["generate_session_title"] = title

    # One attempt is refused; the same request again is answered.
    history: list[Record] = [{"role": "user", "content": [text(REMINDER), text("read a.txt")]}]
    main.user("read a.txt")
    client.send(history, "You are the main agent")
    first = client.send(history, "You are the main agent")
    blocks = [thinking("I read it", "c2lnMQ=="), text("I read a.txt."), tool_use("toolu_1", "Read", path="a.txt")]
    _say(main, client, first, "repl_main_thread", blocks, usage(3, write=900, output=20))
    history += [_said(blocks), {"role": "user", "content": [tool_result("toolu_1", "hello")]}]
    main.result("toolu_1", "hello")

    second = client.send(history, "You are the main agent")
    sealed = {"type": "redacted_thinking", "data": "c2VhbGVk"}
    blocks = [sealed, tool_use("toolu_2", "Agent", prompt="find the port", description="Find the port")]
    _say(main, client, second, "repl_main_thread", blocks, usage(3, read=900, write=60, output=30))
    history += [_said(blocks), {"role": "user", "content": [tool_result("toolu_2", "port 9191")]}]
    _subagent(client, agent)
    main.result("toolu_2", "port 9191", toolUseResult={"agentId": AGENT})

    third = client.send(history, "You are the main agent")
    blocks = [thinking("", "c2lnMw=="), text("The port is 9191.")]
    _say(main, client, third, "repl_main_thread", blocks, usage(3, read=960, write=50, output=10))

    asked = deepcopy(history)
    asked[-1]["content"].append(text(COMPACT))
    compact = client.send(asked, "You are the main agent")
    client.answered(compact, "compact", [text("<summary>Files were read.</summary>")], usage(20, read=1010), "not-2")
    case.side["compact"] = compact

    metadata = {"trigger": "manual", "preTokens": 1060}
    main.tip = None
    main.put("system", subtype="compact_boundary", content="Conversation compacted", compactMetadata=metadata)
    main.user(SUMMARY, isCompactSummary=True)
    main.user("go on")
    history = [{"role": "user", "content": SUMMARY}, {"role": "user", "content": [text("go on")]}]
    last = client.send(history, "You are the main agent")
    _say(main, client, last, "repl_main_thread", [text("Done.")], usage(3, write=300, output=2))

    case.transcript, case.agent = main.dump(), agent.dump()
    return client.done()


def _subagent(client: _Client, agent: Script) -> None:
    history: list[Record] = [{"role": "user", "content": [text(REMINDER), text("find the port")]}]
    agent.user("find the port")
    one = client.send(history, "You are a subagent")
    blocks = [tool_use("toolu_s1", "Read", path="settings.yaml")]
    _say(agent, client, one, "agent:builtin:Explore", blocks, usage(3, write=400, output=9))
    history += [_said(blocks), {"role": "user", "content": [tool_result("toolu_s1", "port: 9191")]}]
    agent.result("toolu_s1", "port: 9191")
    two = client.send(history, "You are a subagent")
    _say(agent, client, two, "agent:builtin:Explore", [text("port 9191")], usage(3, read=400, write=30, output=4))


def _say(script: Script, client: _Client, id_: str, source: str, blocks: list[Record], use: Record) -> None:
    uuids = script.assistant(*blocks, id=id_, use=use, stop="end_turn", model=MODEL)
    client.answered(id_, source, blocks, use, uuids[-1])


def _said(blocks: list[Record]) -> Record:
    return {"role": "assistant", "content": deepcopy(blocks)}


def _marked(messages: list[Record]) -> list[Record]:
    """With a cache marker on the last block, as the client sends it."""
    sent = deepcopy(messages)
    if isinstance(sent[-1]["content"], list):
        sent[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return sent


def _written(body: Record) -> Record:
    """As the client writes `body` to a file: betas put in behind the tools, thinking taken out."""
    made: Record = {}
    for key, value in body.items():
        made[key] = value
        if key == "tools":
            made["betas"] = BETAS
    made["messages"] = [
        {**one, "content": [_hidden(part) for part in one["content"]]}
        if one["role"] == "assistant" and isinstance(one["content"], list)
        else one
        for one in body["messages"]
    ]
    return made


def _hidden(part: Record) -> Record:
    if part["type"] == "thinking":
        return {**part, "thinking": "<REDACTED>"}
    return {**part, "data": "<REDACTED>"} if part["type"] == "redacted_thinking" else part


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
