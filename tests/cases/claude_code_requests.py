"""Look-alikes of Claude Code's session files with the records of their requests, and what went over the wire."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from tests.cases.claude_code_script import Record, Script, dump, text, thinking, tool_result, tool_use, usage

NEW = "2.1.330"
MODEL = "claude-opus-5-5"
BILLING = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.330.424; cc_entrypoint=sdk-cli;"}
PARAMS: Record = {
    "model": MODEL,
    "betas": ["claude-code-20250219", "effort-2025-11-24"],
    "max_tokens": 128000,
    "thinking": {"type": "adaptive", "display": "omitted"},
    "output_config": {"effort": "medium"},
}
MARKER = {"type": "ephemeral"}


def tool(name: str) -> Record:
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": f"Where {name} looks."}}}
    return {"name": name, "description": f"{name} does one thing.", "input_schema": schema}


SHAPE: Record = {
    "system": [text("You are a Claude agent."), text("Be brief, be right.")],
    "tools": [tool("Read"), tool("Bash"), {**tool("mcp__catalog__price_of"), "defer_loading": True}],
}
OTHER_SHAPE: Record = {"system": SHAPE["system"], "tools": [tool("Bash"), tool("Read"), tool("Write")]}


def digest(value: Any) -> str:
    """As the client names messages and shapes."""
    return hashlib.sha256(_spelled(value).encode()).hexdigest()


def _spelled(value: Any) -> str:
    """Without cache markers, keys in the order of their UTF-16 code units."""
    if isinstance(value, dict):
        keys = sorted((key for key in value if key != "cache_control"), key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{_spelled(key)}:{_spelled(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_spelled, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _listed(content: Any) -> list[Record]:
    return [text(content)] if isinstance(content, str) else content


class Client:
    """Writes a session as the client does: what is said, and every request before it goes out.

    `sent` holds the bodies of its requests, in order, less what no record has (metadata, stream, the billing line).
    """

    def __init__(self, *, agent: str = "", shape: Record = SHAPE, **common: Any) -> None:
        more = {"agentId": agent, "isSidechain": True} if agent else {}
        self.script = Script(version=NEW, prefix=f"{agent}-" if agent else "u", **more, **common)
        self.agent, self.shape = agent, shape
        self.params = dict(PARAMS)
        self.messages: list[Record] = []
        self.sent: list[Record] = []
        self.base = ""
        self.known: list[str] = []
        self.on_file: set[str] = set()
        self.run: tuple[str, str, list[Record]] = ("", "", [])
        self.seen = 0

    def say(self, prompt: str, *before: Record, **fields: Any) -> None:
        """A prompt; with text blocks that the client puts before it, the message is no record of its own."""
        self.script.user(prompt, **fields)
        self.messages.append({"role": "user", "content": [*before, text(prompt)] if before else prompt})

    def turn(self, words: str, **more: Any) -> None:
        """A system turn, which is no record."""
        self.messages.append({"role": "system", "content": [text(words)], **more})

    def results(self, **contents: Any) -> None:
        """The results of parallel calls, by call id: a record each, one message."""
        for call, content in contents.items():
            self.script.result(call, content)
        self.messages.append({"role": "user", "content": [tool_result(c, content) for c, content in contents.items()]})

    def ask(self, *, extra: Record | None = None) -> str:
        """Write down the next request; gives its id."""
        self._notice()
        out = self.script.loose
        own = {"sessionId": self.script.session, **({"agentId": self.agent} if self.agent else {})}
        shape = digest(self.shape)
        if shape not in self.on_file:
            out("api-request-shape", **own, shapeHash=shape, version=NEW, shape=self.shape)
            self.on_file.add(shape)
        hashes = []
        for message in self.messages:
            listed = {**message, "content": _listed(message["content"])}
            hashes.append(digest(listed))
            if hashes[-1] not in self.on_file:
                out("api-request-blob", **own, hash=hashes[-1], message=message)
                self.on_file.add(hashes[-1])
        keep = 0
        while self.base and keep < min(len(self.known), len(hashes)) and self.known[keep] == hashes[keep]:
            keep += 1
        last = len(hashes) - 1
        at = len(_listed(self.messages[-1]["content"])) - 1
        marks = [["system", 0], ["system", 1], ["messages", last, "content", at]]
        id_ = f"request-{self.agent}{len(self.sent) + 1}"
        out(
            "api-request",
            **own,
            id=id_,
            timestamp=self.script.clock.strftime("%Y-%m-%dT%H:%M:%S.500Z"),
            version=NEW,
            querySource=f"agent:{self.agent}" if self.agent else "sdk",
            shapeHash=shape,
            params=self.params,
            **({"base": self.base} if keep else {}),
            keep=keep,
            tail=hashes[keep:],
            cacheControl=[{"path": path, "value": MARKER} for path in marks],
            requestDigest=self._request_digest(),
            **(extra or {}),
        )
        self.base, self.known = id_, hashes
        self.sent.append(self._body())
        return id_

    def _body(self) -> Record:
        """What goes over the wire: a lone text of the person's or of a system turn is a string, unless it is marked."""
        messages = []
        for n, message in enumerate(self.messages):
            content = message["content"]
            if n == len(self.messages) - 1:
                content = [*_listed(content)[:-1], {**_listed(content)[-1], "cache_control": MARKER}]
            elif message["role"] == "system" and len(content) == 1:
                content = content[0]["text"]
            messages.append({**message, "content": content})
        system = [{**one, "cache_control": MARKER} for one in self.shape["system"]]
        params = {key: value for key, value in self.params.items() if key not in ("betas", "model")}
        return {
            "model": self.params["model"],
            "messages": messages,
            "system": system,
            "tools": self.shape["tools"],
            **params,
        }

    def _request_digest(self) -> str:
        """The digest of a whole body with its markers (the client's own check)."""
        body = self._body()
        listed = [{**message, "content": _listed(message["content"])} for message in body["messages"]]
        whole = {**body, "messages": listed, "betas": self.params["betas"]}
        spelled = json.dumps(whole, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(spelled.encode()).hexdigest()

    def answer(self, id_: str, *blocks: Record, ref: str, **fields: Any) -> None:
        """An answer to request `ref`, one record a block."""
        self.script.assistant(*blocks, id=id_, model=MODEL, stop="end_turn", requestRef=ref, **fields)
        self.messages.append({"role": "assistant", "content": list(blocks)})

    def asked(self, id_: str, *blocks: Record, **fields: Any) -> None:
        """A request and its answer."""
        self.answer(id_, *blocks, ref=self.ask(), **fields)

    def spent(self, model: str = MODEL, **figures: Any) -> None:
        """The meter at the end of a process: what the session has used so far."""
        keys = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
        names = ("fresh", "read", "write", "output")
        one = {key: figures.get(name, 0) for key, name in zip(keys, names, strict=True)}
        own = {"sessionId": self.script.session, "totalCostUSD": 0.5}
        self.script.loose("cost-state", **own, modelUsage={model: {**one, "webSearchRequests": 0, "costUSD": 0.5}})

    def restart(self) -> None:
        """Another process goes on: it names no earlier request."""
        self.base = ""

    def _notice(self) -> None:
        """The messages that the records say: of neighbouring records of one side, joined, after each of them."""
        for record in self.script.records[self.seen :]:
            message = record.get("message")
            if record["type"] not in ("user", "assistant") or not isinstance(message, dict):
                continue
            role, id_ = message["role"], message.get("id", "")
            if self.run[:2] != (role, id_):
                self.run = (role, id_, [])
            self.run[2].extend(_listed(message["content"]))
            self.on_file.add(digest({"role": role, "content": self.run[2]}))
        self.seen = len(self.script.records)

    def dump(self) -> bytes:
        return self.script.dump()


REMINDER = text(
    "<system-reminder>\nContents of /home/ada/shop/CLAUDE.md:\n\nMoney is integer cents.\n</system-reminder>"
)


def opening(**how: Any) -> Client:
    """A first prompt with the client's reminders, and the call that answers it with two calls."""
    client = Client(**how)
    client.say("Check the shop.", REMINDER)
    client.turn("# Environment\nLinux", output_config={"effort": "medium"})
    return client


def parallel() -> Client:
    """Results of parallel calls are records of their own and one message; a plain prompt; a system turn after it."""
    client = opening()
    client.asked("m1", thinking("I look."), text("Two at once."), tool_use("t1"), tool_use("t2", path="é.py"))
    client.results(t2="second first: 1.50 é \u2028", t1=[text("and"), text("first")])
    client.turn("<total_tokens>900 tokens left</total_tokens>")
    client.asked("m2", text("Done."))
    client.say("And now?")
    client.asked("m3", text("Nothing."), use=usage(fresh=90))
    return client


def resumed() -> Client:
    """A second process sends the whole list without a base."""
    client = parallel()
    client.restart()
    client.say("Go on.")
    client.asked("m4", tool_use("t3"))
    client.results(t3="ok")
    client.asked("m5", text("Gone."))
    return client


def two_shapes() -> Client:
    """Tools change within the session."""
    client = parallel()
    client.shape = OTHER_SHAPE
    client.say("With other tools.")
    client.asked("m4", text("Fine."))
    client.say("Still.")
    client.asked("m5", text("Yes."))
    return client


def retried() -> Client:
    """Two attempts fail, the third is answered."""
    client = parallel()
    client.say("Again.")
    client.ask()
    client.ask()
    client.asked("m4", text("At last."))
    return client


def compact(client: Client) -> None:
    """A summary takes the place of the history; the last answer is kept; what the file told before is told anew."""
    script = client.script
    script.tip = None
    script.put(
        "system", subtype="compact_boundary", content="Conversation compacted", compactMetadata={"preTokens": 900}
    )
    client.on_file.clear()
    client.run, client.base = ("", "", []), ""
    client._notice()
    client.messages = client.messages[-1:]
    summary = "This session is being continued from a previous conversation. The shop was checked."
    script.user(summary, isCompactSummary=True)
    client.messages.insert(0, {"role": "user", "content": summary})
    client.messages.insert(1, {"role": "system", "content": [], "output_config": {"effort": "medium"}})
    client.say("Where were we?", REMINDER)


def compacted() -> Client:
    """A session that goes on after a compaction."""
    client = parallel()
    compact(client)
    client.asked("m4", text("Here."))
    return client


def odd_hashes() -> Client:
    """Keys that sort otherwise than they stand, numbers, escapes, markers inside inputs, repeated parts."""
    client = opening()
    odd = {"b": 1, "a": {"\U0001f600": 1, "\uffee": 2, "10": 3, "9": 4}, "cache_control": {"type": "x"}, "n": [1, -0.5]}
    use = {"type": "tool_use", "id": "t1", "name": "Odd", "input": odd}
    client.asked("m1", text("same"), text("same"), use)
    client.results(t1='quote " back \\ tab \t end')
    client.asked("m2", text("Done.\u007f"))
    return client


CASES: dict[str, Callable[[], Client]] = {
    one.__name__: one for one in (parallel, resumed, two_shapes, retried, compacted, odd_hashes)
}


def without(client: Client, kind: str, number: int = 0) -> bytes:
    """The file less the nth record of a kind."""
    of_kind = [record for record in client.script.records if record["type"] == kind]
    return dump([record for record in client.script.records if record is not of_kind[number]])


def long_session(calls: int, words: int = 40) -> bytes:
    """A session of many calls, one result after another."""
    client = opening()
    records: list[Record] = []
    for n in range(calls):
        client.asked(f"m{n}", text(f"Step {n}."), tool_use(f"t{n}", command=f"step {n}"))
        client.results(**{f"t{n}": f"result {n} " + "word " * words})
    return dump(records or client.script.records)
