"""The chain of records: answers in many records, parallel calls, copies, branches, missing parents."""

from __future__ import annotations

from tests.cases.claude_code import Script, text, thinking, tool_use, usage
from tests.cases.claude_code_odd.table import hello, odd


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
def prompt_during_an_answer() -> bytes:
    """A prompt is sent while an answer still comes in: the client runs two conversations and writes both into one
    chain."""
    script = Script()
    script.user("stream the tokens")
    script.assistant(text("I see."), id="msg_1", use=usage(write=1_000))
    script.user("the final message is fine")
    script.assistant(tool_use("toolu_a"), id="msg_1", use=usage(write=1_000, output=200), stop="tool_use")
    script.result("toolu_a", "edited")
    script.assistant(tool_use("toolu_b"), id="msg_2", use=usage(read=800, write=250), stop="tool_use")
    script.result("toolu_b", "headers")
    script.assistant(tool_use("toolu_c"), id="msg_3", use=usage(read=1_000, write=300), stop="tool_use")
    script.result("toolu_c", "committed")
    script.assistant(text("Done."), id="msg_4", use=usage(read=1_300, write=50), stop="end_turn")
    return script.dump()


@odd
def older_prefix_read() -> bytes:
    """Calls that read from the cache what an older call had left, less than the one before them did."""
    script = Script()
    script.user("fix the login")
    script.assistant(tool_use("toolu_a"), id="msg_1", use=usage(write=30_000), stop="tool_use")
    script.result("toolu_a", "clean")
    script.assistant(tool_use("toolu_b", "Agent"), id="msg_2", use=usage(read=30_000, write=100), stop="tool_use")
    script.result("toolu_b", "launched")
    script.assistant(text("It runs."), id="msg_3", use=usage(read=30_100, write=100), stop="end_turn")
    script.user("<task-notification>report", origin={"kind": "task-notification"}, promptSource="system", seconds=720)
    script.assistant(tool_use("toolu_c"), id="msg_4", use=usage(read=30_100, write=11_500), stop="tool_use")
    script.result("toolu_c", "C")
    script.assistant(tool_use("toolu_d"), id="msg_5", use=usage(read=41_600, write=200), stop="tool_use")
    script.result("toolu_d", "D")
    script.assistant(text("Done."), id="msg_6", use=usage(read=41_600, write=9_000), stop="end_turn")
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
def gateway_ids() -> bytes:
    """A gateway that names every answer alike; the request ids differ."""
    script = Script()
    script.user("one")
    script.assistant(text("1"), id="msg", use=usage(write=10), requestId="req_1")
    script.user("two")
    script.assistant(text("2"), id="msg", use=usage(read=10, write=5), requestId="req_2")
    return script.dump()
