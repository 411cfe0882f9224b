"""What the client adds: its own answers, attachments, queued texts, subagents, titles."""

from __future__ import annotations

import json

from tests.cases.claude_code import Script, dump, text, tool_use, usage
from tests.cases.claude_code_odd.table import hello, odd


@odd
def client_answers() -> bytes:
    """Messages of the model <synthetic>: one that the client says to keep roles in turn, one for an API error."""
    script = hello(Script())
    script.user("are you there?")
    blank = usage(fresh=0)
    script.assistant(
        text("API Error: 529 overloaded"), id="u-1", use=blank, model="<synthetic>", isApiErrorMessage=True
    )
    script.put("system", subtype="api_error", error={"status": 529, "error": {"error": {"message": "Overloaded"}}})
    script.assistant(text("No response requested."), id="u-2", use=blank, model="<synthetic>")
    script.user("and now?")
    script.assistant(text("yes"), id="msg_2")
    return script.dump()


@odd
def attachments() -> bytes:
    """What the client adds: memory, a file, a queued text, a reminder without words, an unknown kind with words."""
    script = Script()
    script.user("hello")
    memory = {"path": "/shop/CLAUDE.md", "type": "Project", "content": "Be brief."}
    for attachment in (
        {"type": "nested_memory", "path": "/shop/CLAUDE.md", "content": memory},
        {"type": "file", "filename": "/shop/a.py", "content": {"type": "text", "file": {"content": "x = 1"}}},
        {"type": "image_of_the_future", "content": {"type": "image", "file": {"base64": "AAAA", "type": "image/png"}}},
        {"type": "todo_reminder", "content": [], "itemCount": 0},
        {"type": "queued_command", "prompt": "and b.py"},
        {"type": "hook_success", "hookEvent": "Stop", "content": "not sent"},
    ):
        script.put("attachment", attachment=attachment)
    script.assistant(text("hi"), id="msg_1")
    return script.dump()


@odd
def results_kept_out() -> bytes:
    """A large result is replaced by a preview when it is sent."""
    script = Script()
    script.user("read it")
    script.assistant(tool_use("toolu_a"), id="msg_1")
    script.result("toolu_a", "very long " * 50)
    preview = {"kind": "tool-result", "toolUseId": "toolu_a", "replacement": "very long ... (preview)"}
    script.loose("content-replacement", sessionId=script.session, replacements=[preview])
    script.assistant(text("I see"), id="msg_2")
    return script.dump()


@odd
def queued_text() -> bytes:
    """A text typed while a tool runs goes with its result; another becomes the next question."""
    script = Script()
    script.user("go")
    script.assistant(tool_use("toolu_a"), id="msg_1")
    script.loose("queue-operation", operation="enqueue", content="auto works too", sessionId=script.session)
    script.loose("queue-operation", operation="remove", sessionId=script.session)
    script.result("toolu_a")
    script.assistant(text("good to know"), id="msg_2")
    script.loose("queue-operation", operation="enqueue", content="next", sessionId=script.session)
    script.loose("queue-operation", operation="dequeue", sessionId=script.session)
    script.user("next")
    script.assistant(text("ok"), id="msg_3")
    return script.dump()


@odd
def sidechain_inline() -> bytes:
    """Old versions write a subagent's records between the call and its result."""
    script = Script(version="1.0.51")
    script.user("ask a helper")
    task = tool_use("toolu_t", "Task", description="Find the types", prompt="Find all types.")
    call = script.assistant(task, id="msg_1", use=usage(write=100))[-1]
    script.tip, script.common = None, {"isSidechain": True}
    script.user("Find all types.")
    script.assistant(tool_use("toolu_s"), id="msg_s1", use=usage(write=50))
    script.result("toolu_s", "types.py")
    script.assistant(text("in types.py"), id="msg_s2", use=usage(read=50, write=10))
    script.common = {}
    script.result("toolu_t", "in types.py", parent=call)
    script.assistant(text("They are in types.py."), id="msg_2", use=usage(read=100, write=30))
    return script.dump()


@odd
def sidechain_as_progress() -> bytes:
    """A subagent's messages inside progress records of the main chain."""
    script = Script()
    script.user("ask a helper")
    task = tool_use("toolu_t", "Task", description="Find the types", prompt="Find all types.")
    call = script.assistant(task, id="msg_1")[-1]
    side = Script(prefix="s")
    side.user("Find all types.")
    side.assistant(tool_use("toolu_s"), id="msg_s1", model="claude-haiku-4-5-20251001")
    side.result("toolu_s", "types.py")
    side.assistant(text("in types.py"), id="msg_s2", model="claude-haiku-4-5-20251001")
    for record in side.records:
        message = {key: record[key] for key in ("type", "message", "uuid", "timestamp", "requestId") if key in record}
        data = {"type": "agent_progress", "message": message, "agentId": "a37a9c9", "prompt": "Find all types."}
        script.put("progress", data=data, parentToolUseID="toolu_t")
    script.result("toolu_t", "in types.py", parent=call)
    script.assistant(text("done"), id="msg_2")
    return script.dump()


@odd
def records_of_a_subagent_alone() -> bytes:
    """A subagent's file, opened by itself."""
    script = Script(isSidechain=True, agentId="a37a9c9")
    return hello(script).dump()


@odd
def titles() -> bytes:
    """Summaries of this and of another session, a title given by hand at the end."""
    script = Script()
    script.loose("summary", summary="Somebody else's session", leafUuid="elsewhere")
    script.loose("summary", summary="Saying hello", leafUuid="u2")
    hello(script)
    script.loose("custom-title", customTitle="My hello", sessionId=script.session)
    return script.dump()


@odd
def no_messages() -> bytes:
    """Snapshots and a summary only."""
    script = Script()
    script.loose("file-history-snapshot", messageId="m", snapshot={"trackedFileBackups": {}}, isSnapshotUpdate=False)
    script.loose("summary", summary="Something", leafUuid="x")
    return script.dump()


def files_of_one_session() -> dict[str, bytes]:
    """A session whose subagent stands in progress records and, with a later answer, in a file of its own."""
    records = [json.loads(one) for one in sidechain_as_progress().splitlines()]
    side = Script(prefix="f", isSidechain=True, agentId="a37a9c9")
    side.user("Find all types.")
    haiku = "claude-haiku-4-5-20251001"
    side.assistant(tool_use("toolu_s"), id="msg_s1", model=haiku)
    side.result("toolu_s", "types.py")
    side.assistant(text("in types.py"), id="msg_s2", model=haiku)
    side.user("anything else?")
    side.assistant(text("no"), id="msg_s3", model=haiku)
    foreign = hello(Script(session="somebody-else", prefix="x", isSidechain=True, agentId="b00"), id="msg_x")
    return {"main.jsonl": dump(records), "agent-a37a9c9.jsonl": side.dump(), "agent-b00.jsonl": foreign.dump()}
