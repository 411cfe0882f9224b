"""Every oddity of Claude Code's files, as small scripts: each function writes one file and says what is odd in it."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.cases.claude_code import Script, dump, line, text, thinking, tool_result, tool_use, usage

ODDITIES: dict[str, Callable[[], bytes]] = {}


def odd(make: Callable[[], bytes]) -> Callable[[], bytes]:
    ODDITIES[make.__name__] = make
    return make


def hello(script: Script, id: str = "msg_1", read: int = 0, write: int = 1000) -> Script:
    """A question and its answer."""
    script.user("hello")
    script.assistant(text("hi"), id=id, use=usage(read=read, write=write, output=5), stop="end_turn")
    return script


@odd
def one_answer_in_many_records() -> bytes:
    """Thinking, words and a call, one record each; the output grows, the last record has the stop reason."""
    script = Script()
    script.user("list the files")
    for output, block in ((3, thinking("hm")), (3, text("Looking.")), (90, tool_use("toolu_a"))):
        stop = "tool_use" if output == 90 else None
        script.assistant(block, id="msg_1", use=usage(read=100, write=50, output=output), stop=stop)
    script.result("toolu_a", "a.py")
    script.assistant(text("One file."), id="msg_2", use=usage(read=150, write=60, output=8))
    return script.dump()


@odd
def parallel_calls() -> bytes:
    """Each result names the record of its call as parent: the graph forks, the context does not."""
    script = Script()
    script.user("read both")
    _, one, two = script.assistant(text("Reading."), tool_use("toolu_a"), tool_use("toolu_b"), id="msg_1")
    script.result("toolu_b", "B", parent=two)
    script.put("attachment", attachment={"type": "hook_additional_context", "content": ["note on B"]})
    script.result("toolu_a", "A", parent=one)
    script.assistant(text("Both read."), id="msg_2")
    return script.dump()


@odd
def results_between_the_calls() -> bytes:
    """Tools run while the answer still streams: call, result, call, result, all of one message."""
    script = Script()
    script.user("two steps")
    script.assistant(tool_use("toolu_a"), id="msg_1", use=usage(output=9))
    script.result("toolu_a", "A")
    script.assistant(tool_use("toolu_b"), id="msg_1", use=usage(output=20))
    script.result("toolu_b", "B")
    script.assistant(text("done"), id="msg_2")
    return script.dump()


@odd
def repeated_blocks() -> bytes:
    """A later record repeats a block, another carries the whole message."""
    script = Script()
    script.user("go")
    script.assistant(text("one"), id="msg_1")
    script.assistant(text("one"), id="msg_1")
    whole = {
        "id": "msg_1",
        "role": "assistant",
        "type": "message",
        "model": "claude-opus-4-6",
        "usage": usage(output=7),
    }
    content = [text("one"), tool_use("toolu_a")]
    script.put("assistant", message={**whole, "content": content, "stop_reason": "tool_use"})
    script.result("toolu_a")
    return script.dump()


@odd
def copied_records() -> bytes:
    """The whole history stands twice, with the same ids; then it goes on."""
    script = hello(Script())
    script.records += [dict(record) for record in script.records]
    script.user("more")
    script.assistant(text("yes"), id="msg_2")
    return script.dump()


@odd
def answer_copied_as_root() -> bytes:
    """A resumed session repeats the last answer under a new uuid, without parent and request id."""
    script = hello(Script())
    script.tip = None
    script.assistant(text("hi"), id="msg_1", use=usage(write=1000, output=5), requestId=None)
    script.user("again")
    script.assistant(text("hi again"), id="msg_2", use=usage(read=1000, write=20))
    return script.dump()


@odd
def edited_question() -> bytes:
    """The second question is asked anew: the first attempt is not in the context of the second."""
    script = hello(Script())
    fork = script.tip
    script.user("wrong question")
    script.assistant(text("wrong answer"), id="msg_2")
    script.tip = fork
    script.user("right question")
    script.assistant(text("right answer"), id="msg_3")
    return script.dump()


@odd
def missing_parent() -> bytes:
    """The record in between is not in the file."""
    script = hello(Script())
    script.tip = "gone"
    script.user("still there?")
    script.assistant(text("yes"), id="msg_2")
    return script.dump()


@odd
def history_not_in_the_file() -> bytes:
    """The file begins in the middle of a conversation."""
    script = Script()
    script.tip = "gone"
    script.assistant(tool_use("toolu_a"), id="msg_1", use=usage(read=90_000, write=10))
    script.result("toolu_a")
    script.assistant(text("done"), id="msg_2", use=usage(read=90_010, write=20))
    return script.dump()


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
def compacted() -> bytes:
    """A boundary without parent, the summary after it, then it goes on."""
    script = hello(Script(), write=150_000)
    script.tip = None
    metadata = {"trigger": "auto", "preTokens": 154_800}
    script.put("system", subtype="compact_boundary", logicalParentUuid="u2", compactMetadata=metadata)
    script.user("This session is being continued. Summary: hello was said.", isCompactSummary=True)
    script.assistant(text("going on"), id="msg_2", use=usage(read=9_000, write=13_297))
    script.user("fine")
    script.assistant(text("yes"), id="msg_3", use=usage(read=22_297, write=10))
    return script.dump()


@odd
def compacted_without_boundary() -> bytes:
    """Old versions write only the summary, without parent."""
    script = hello(Script(version="1.0.51"), write=154_000)
    script.tip = None
    script.user("Summary: hello was said.", isCompactSummary=True)
    script.assistant(text("going on"), id="msg_2", use=usage(write=22_000))
    return script.dump()


@odd
def compacted_keeping_messages() -> bytes:
    """New versions keep the last messages word for word behind the summary."""
    script = hello(Script())
    kept = script.user("keep this")
    last = script.assistant(text("kept answer"), id="msg_2", use=usage(read=1000, write=10))[-1]
    script.tip = None
    segment = {"headUuid": kept, "anchorUuid": "u6", "tailUuid": last}
    script.put("system", subtype="compact_boundary", compactMetadata={"preTokens": 1010, "preservedSegment": segment})
    script.user("Summary.", isCompactSummary=True)
    script.user("next")
    script.assistant(text("yes"), id="msg_3")
    return script.dump()


@odd
def microcompacted() -> bytes:
    """Results of old calls are cleared; the chain of records goes on through the boundary."""
    script = Script()
    script.user("read it")
    script.assistant(tool_use("toolu_a"), id="msg_1", use=usage(write=1000))
    script.result("toolu_a", "a long file " * 100)
    script.assistant(text("read"), id="msg_2", use=usage(read=1000, write=400))
    script.user("next")
    metadata = {"trigger": "auto", "preTokens": 400, "compactedToolIds": ["toolu_a"]}
    script.put("system", subtype="microcompact_boundary", microcompactMetadata=metadata)
    script.assistant(text("ok"), id="msg_3", use=usage(read=800, write=300))
    return script.dump()


@odd
def resumed() -> bytes:
    """Another process goes on: a new session id, then a client that announces itself."""
    script = hello(Script())
    script.session = "5e551011-0000-4000-8000-000000000002"
    script.user("back again", seconds=7200)
    script.assistant(text("welcome"), id="msg_2", use=usage(write=1020))
    data = {"type": "hook_progress", "hookEvent": "SessionStart", "hookName": "SessionStart:resume"}
    script.put("progress", data=data, seconds=7200)
    script.user("once more")
    script.assistant(text("yes"), id="msg_3", use=usage(write=1040))
    return script.dump()


@odd
def other_model() -> bytes:
    """The model is changed between two questions."""
    script = Script()
    script.user("hello")
    script.assistant(text("hi"), id="msg_1", model="claude-opus-4-20250514")
    script.user("faster, please")
    script.assistant(text("ok"), id="msg_2", model="claude-sonnet-4-20250514")
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
def interleaved_lines_of_work() -> bytes:
    """Two lines of work in one chain of parents: an answer comes while the one above still waits for its result."""
    script = Script()
    script.user("go")
    script.assistant(tool_use("toolu_a"), id="msg_a1", use=usage(write=100))
    script.result("toolu_a", "A")
    script.assistant(tool_use("toolu_b"), id="msg_b1", use=usage(read=100, write=10))
    script.assistant(tool_use("toolu_c"), id="msg_a2", use=usage(read=100, write=11))
    script.result("toolu_c", "C")
    script.result("toolu_b", "B")
    script.assistant(text("a is done"), id="msg_a3", use=usage(read=111, write=12))
    return script.dump()


@odd
def interrupted() -> bytes:
    """A call that is never answered, and the person goes on."""
    script = Script()
    script.user("delete it")
    script.assistant(tool_use("toolu_a"), id="msg_1")
    script.user([text("[Request interrupted by user for tool use]")])
    script.user("better not")
    script.assistant(text("fine"), id="msg_2")
    return script.dump()


@odd
def cleared() -> bytes:
    """A second root: the context starts anew in the same file."""
    script = hello(Script())
    script.tip = None
    data = {"type": "hook_progress", "hookEvent": "SessionStart", "hookName": "SessionStart:clear"}
    script.put("progress", data=data)
    script.user("Implement the plan.")
    script.assistant(text("ok"), id="msg_2")
    return script.dump()


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
def unreadable_records() -> bytes:
    """A torn user record with the next one glued to it, a string, NULs, a snapshot cut off."""
    script = hello(Script())
    lines = [line(record) for record in script.records]
    script.user("lost words")
    lost = line(script.records[-1])
    script.assistant(text("heard"), id="msg_2")
    next_ = line(script.records[-1])
    torn = [lost[:-60] + next_, b'"a string"', b"\0\0\0\0", b'{"type":"file-history-snapshot","snapshot":{"x']
    return b"\n".join([*lines, *torn]) + b"\n"


@odd
def damaged_text() -> bytes:
    """A byte order mark, CRLF, invalid UTF-8, a lone surrogate, an escape that is none, a raw control character."""
    script = Script()
    script.user("caf\xe9 \ud83d x")
    script.user("bad \x01 escape %u")
    script.assistant(text("ok"), id="msg_1")
    one, two, three = (line(record) for record in script.records)
    one = one.replace(b"caf\xc3\xa9", b"caf\xe9").replace(b"\xed\xa0\xbd", rb"\ud83d")
    two = two.replace(b"\\u0001", b"\x01").replace(b"%u", rb"\u00zz")
    return b"\xef\xbb\xbf" + b"\r\n".join([one, two, three]) + b"\r\n"


@odd
def pretty_printed() -> bytes:
    """Several records in a row, each over many lines."""
    script = hello(Script())
    return "\n".join(json.dumps(record, indent=2) for record in script.records).encode() + b"\n"


@odd
def one_list() -> bytes:
    """All records in one JSON list."""
    return json.dumps(hello(Script()).records, indent=1).encode()


@odd
def glued_and_cut() -> bytes:
    """All records on one line, the last one cut."""
    script = hello(Script())
    whole = b"".join(line(record) for record in script.records)
    script.user("this is cut")
    return whole + line(script.records[-1])[:-30]


@odd
def strange_shapes() -> bytes:
    """Fields of unexpected types, a message that is a string, unknown types with and without a message."""
    script = Script()
    script.user("hello")
    script.put("assistant", message="just words", version=7, cwd=None, isSidechain="no")
    script.put("user", message={"role": "user", "content": [{"type": "text", "text": "a"}, "b", 3, None]})
    script.put("user", message={"role": "user", "content": {"type": "text", "text": "c"}}, timestamp=12)
    script.put("oracle", message={"role": "user", "content": "from an unknown type"}, timestamp="yesterday")
    script.put("telemetry", payload={"x": 1})
    script.loose("mode-change", mode="plan")
    script.assistant(text("ok"), {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"}, id="msg_1")
    script.assistant({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}, id="msg_1")
    script.user([tool_result("toolu_unknown", "whose?"), text("next")])
    script.assistant(text("hm"), id="msg_2", timestamp="2020-01-01T00:00:00Z")
    return script.dump()


@odd
def gateway_ids() -> bytes:
    """A gateway that names every answer alike; the request ids differ."""
    script = Script()
    script.user("one")
    script.assistant(text("1"), id="msg", use=usage(write=10), requestId="req_1")
    script.user("two")
    script.assistant(text("2"), id="msg", use=usage(read=10, write=5), requestId="req_2")
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
    records = [json.loads(one) for one in ODDITIES["sidechain_as_progress"]().splitlines()]
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
