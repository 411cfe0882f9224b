"""The end of a session that a tool resumes after a call in the middle."""

from __future__ import annotations

from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.services.editing.session_end import session_end
from tests.cases.kimi_code import LS, Script, call, text
from tests.transcripts.driving import read


def test_an_answer_has_its_results_also_where_the_next_request_has_other_tools() -> None:
    script = Script()
    script.user("look")
    script.answer(call("c1", "a.py"), call("c2", "b.py"))
    script.put("llm.tools_snapshot", hash="other", tools=[LS, {**LS, "name": "Read"}])
    script.answer(text("two files"))
    requests = [one for one in script.records if one["type"] == "llm.request"]
    requests[-1]["toolsHash"] = "other"
    session = read(script.dump()).session
    first, second = session.thread_calls()
    assert not session.tree.holds(second.raw_head, first.response_head)
    end = session_end(session, ChosenCall("main", 1, first))
    kinds = [session.tree[node].block.kind for node in end.nodes]
    assert kinds == [
        "tool",
        "text",
        "header",
        "text",
        "header",
        "tool_use",
        "tool_use",
        "header",
        "tool_result",
        "tool_result",
    ]
    assert end.end is None and end.head == end.nodes[-1]
