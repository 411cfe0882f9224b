"""Look-alikes of the rollouts of Codex 0.169 (facts §13): base instructions and tools as items, kinds of parts, a usage
record for each response, compactions, subagents; with the inputs of the requests that the client sends."""

from __future__ import annotations

import copy
from typing import Any

from tests.cases.codex import Record, Script, count

ROOT_ID = "01a20291-3cde-77b1-b3ad-000000000001"
CHILD_ID = "01a20291-4160-7240-ae1e-000000000002"
META = "internal_chat_message_metadata_passthrough"
BASE = "You are Codex, an agent based on a model. You and the user share one workspace."
GRAMMAR = 'start: "a" | "b"\n'
SUMMARY = "Another language model started to solve this problem and produced a summary.\n"
CHECKPOINT = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Summarise."}]}


def tool(name: str, words: str = "Does it.") -> Record:
    schema = {"type": "object", "properties": {"cell": {"type": "string", "description": "Which one."}}}
    return {"type": "function", "name": name, "description": words, "strict": False, "parameters": schema}


def tools() -> list[Record]:
    grammar = {"type": "grammar", "syntax": "lark", "definition": GRAMMAR}
    execute = {"type": "custom", "name": "exec", "description": "Runs JavaScript.", "format": grammar}
    return [
        {"type": "namespace", "name": "functions", "description": "Yours.", "tools": [execute, tool("wait")]},
        {"type": "namespace", "name": "clock", "description": "Time.", "tools": [tool("sleep")]},
        tool("plain"),
        {"type": "namespace", "name": "empty", "description": "None yet.", "tools": []},
    ]


class Client(Script):
    """A client at work: `requests` are the inputs of what it sent. `known` says that it knows the model, and so sends
    base instructions and tools as items."""

    def __init__(self, session: str = ROOT_ID, model: str = "gpt-6.1-sol", *, known: bool = True) -> None:
        super().__init__(session=session, model=model)
        self.known = known
        self.history: list[Record] = []
        self.requests: list[list[Record]] = []
        self.made = 0

    def begin(self, **meta: Any) -> None:
        self.meta(cli_version="0.169.0", session_id=ROOT_ID, base_instructions={"text": BASE}, **meta)
        self.event("task_started", turn_id="t", model_context_window=self.window)
        if self.known:
            self.add("additional_tools", role="developer", tools=tools())
            self.say("developer", ["model.base_instructions"], BASE)
        developer = ["<skills_instructions>\nnone\n</skills_instructions>", "<permissions instructions>\nask\n"]
        self.say("developer", ["host_skills.instructions", "permissions.instructions"], *developer)
        context = ["# AGENTS.md instructions for /home/ada/shop\n\nBe brief.", "<environment_context>\n  x\n"]
        self.say("user", ["agents_md.instructions", "environments.environment_context"], *context)
        self.put("world_state", {"full": True, "state": {"model": self.model, "model_catalog": "ea1a55de"}})
        self.context()

    def add(self, type_: str, **fields: Any) -> None:
        """An item of the history."""
        self.made += 1
        self.item(type_, id=f"{type_[:3]}_{self.session[9:23]}-{self.made:012d}", **fields)
        self.history.append(self.records[-1]["payload"])

    def say(self, role: str, kinds: list[str], *texts: str) -> None:
        told = {"turn_id": "t", "create_time": 1795339402.52, "content_item_kinds": kinds}
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text} for text in texts]
        self.add("message", role=role, content=content, **{META: told})

    def ask(self, words: str) -> None:
        """A person speaks, in tags if they like."""
        self.say("user", ["user.text"], words)

    def sends(self, extra: Record | None = None) -> None:
        self.requests.append(copy.deepcopy([*self.history, *([extra] if extra else [])]))

    def used(self, input_: int, cached: int, output: int, reasoning: int) -> Record:
        """The record of a response's usage; the count that repeats it comes later."""
        last = {**count(input_, cached, output, reasoning), "cache_write_input_tokens": input_ - cached}
        self.total = {key: self.total.get(key, 0) + value for key, value in last.items()}
        self.put(
            "token_usage_record",
            {"response_id": f"resp_{len(self.requests):04d}", "usage": last, "thread_token_usage": self.total},
        )
        return last

    def answer(self, words: str, input_: int, cached: int, *calls: str, reasoning: int = 40) -> None:
        """One call: reasoning, words, calls of `exec` with their results."""
        self.sends()
        self.add("reasoning", summary=[], content=None, encrypted_content="gAAAAB" + "x" * 400)
        self.say("assistant", ["unknown"], words)
        for name in calls:
            self.add(
                "custom_tool_call", status="completed", call_id=name, name="exec", namespace="functions", input="1"
            )
        last = self.used(input_, cached, 60, reasoning)
        for name in calls:
            self.add("custom_tool_call_output", call_id=name, output=[{"type": "input_text", "text": "done"}])
        self.repeat(last)

    def compact_here(self, input_: int) -> None:
        """The client asks the model for a summary, whose answer is in the record."""
        self.repeat(count(1, 0, 1))
        self.sends(CHECKPOINT)
        self.add("reasoning", summary=[], content=None, encrypted_content="gAAAAB" + "y" * 400)
        self.say("assistant", ["unknown"], "The files were listed.")
        last = self.used(input_, 0, 60, 20)
        self.repeat(last)
        kept = [one for one in self.history if one.get("role") in ("user", "developer")]
        if self.known:
            kept = [one for one in self.history if one["type"] == "additional_tools"] + kept
        text = SUMMARY + "The files were listed."
        summary = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        self._compacted(text, [*kept, {**summary, META: {"content_item_kinds": ["compaction.summary"]}}])

    def compact_there(self, input_: int) -> None:
        """The provider compacts; only its usage is in the record."""
        self.sends({"type": "compaction_trigger"})
        last = self.used(input_, 0, 60, 0)
        self.repeat(last)
        kept = [one for one in self.history if one["type"] == "additional_tools" or one.get("role") == "developer"]
        self._compacted("", [*kept, {"type": "compaction", "encrypted_content": "gAAAAC" + "z" * 500}])

    def _compacted(self, message: str, history: list[Record]) -> None:
        self.history = copy.deepcopy(history)
        response = f"resp_{len(self.requests):04d}"
        made = {"message": message, "replacement_history": history, "compaction_response_id": response}
        self.put("compacted", made)
        self.repeat({**count(), "total_tokens": 900})


def turns(client: Client) -> Client:
    """Two turns of three calls."""
    client.begin()
    client.ask("<b>list</b> the files")
    client.answer("Looking.", 900, 0, "call_00000000000001", "call_00000000000002")
    client.answer("Two files.", 1_000, 900)
    client.ask("and their sizes")
    client.answer("Small.", 1_100, 1_000)
    return client


def parent() -> Client:
    """A root agent that starts another one and hears of it."""
    client = Client()
    client.begin(thread_source="user")
    client.ask("count the orders with an agent")
    client.sends()
    arguments = '{"task_name":"count_orders","message":"count"}'
    client.add(
        "function_call",
        call_id="call_00000000000001",
        name="spawn_agent",
        namespace="collaboration",
        arguments=arguments,
    )
    last = client.used(900, 0, 60, 40)
    client.add("function_call_output", call_id="call_00000000000001", output='{"task_name":"/root/count_orders"}')
    client.repeat(last)
    client.answer("Waiting.", 1_000, 900)
    client.put("inter_agent_communication_metadata", {"trigger_turn": True})
    client.add("agent_message", **_message("/root/count_orders", "/root", "Two orders."))
    client.answer("There are two.", 1_100, 1_000)
    return client


def child() -> Client:
    """The agent that `parent` started."""
    client = Client(CHILD_ID)
    spawn = {"parent_thread_id": ROOT_ID, "depth": 1, "agent_path": "/root/count_orders", "agent_nickname": "Ada"}
    source = {"subagent": {"thread_spawn": spawn}}
    client.begin(parent_thread_id=ROOT_ID, source=source, thread_source="subagent", agent_nickname="Ada")
    client.put("inter_agent_communication_metadata", {"trigger_turn": True})
    client.add("agent_message", **_message("/root", "/root/count_orders", "run wc"))
    client.answer("Counting.", 800, 0, "call_00000000000009")
    client.answer("Two orders.", 880, 800)
    return client


def _message(author: str, recipient: str, words: str) -> Record:
    kind = "NEW_TASK" if author == "/root" else "FINAL_ANSWER"
    head = {"type": "input_text", "text": f"Message Type: {kind}\nSender: {author}\nPayload:\n"}
    payload = {"type": "encrypted_content", "encrypted_content": words}
    return {"author": author, "recipient": recipient, "content": [head, payload]}
