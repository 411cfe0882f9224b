"""What begins an epoch: compaction of all kinds, resuming, another model."""

from __future__ import annotations

from tests.cases.claude_code import Script, text, tool_use, usage
from tests.cases.claude_code_odd.table import hello, odd


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
def left_and_came_back() -> bytes:
    """A person leaves the client and goes on with the session later; nothing else tells of another process."""
    script = hello(Script())
    script.user(
        "<command-name>/exit</command-name>\n  <command-message>exit</command-message>\n  <command-args></command-args>"
    )
    script.user("<local-command-stdout>Goodbye!</local-command-stdout>")
    script.user("back again", seconds=7200)
    script.assistant(text("welcome"), id="msg_2", use=usage(write=1020))
    script.user("what does <command-name>/exit</command-name> do?")
    script.assistant(text("it leaves"), id="msg_3", use=usage(write=1040))
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
