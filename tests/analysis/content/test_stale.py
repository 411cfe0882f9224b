"""Which tool results are stale, and why."""

from __future__ import annotations

from ctxtui.analysis.content.duplicates import EARLIER, DuplicateFinder, duplicates_in, stale_results
from ctxtui.analysis.short_names import Names
from ctxtui.core.turns import turns_of
from tests.cases.sessions import Story, use


def test_results_of_earlier_turns_and_those_that_do_not_hold_any_more() -> None:
    story, text = Story(), "one line of the file\n" * 60
    story.user("look").call(use("a", "Bash", command="ls"))
    story.results(("a", "a b c")).call("done")
    story.user("again").call(use("b", "Read", file_path="/w/x.py"))
    story.results(("b", text)).call(use("c", "Edit", file_path="/w/x.py", old_string="one", new_string="two"))
    story.results(("c", "ok")).call("fine").tip()
    session = story.session
    calls = session.thread_calls("main")
    head, tree = calls[-1].sent_head, session.tree
    finder = DuplicateFinder(tree, Names(tree), "/w")
    finder.search_path(head)
    turns = turns_of(tree, calls)
    found = stale_results(tree, head, turns, duplicates_in(finder.duplicates, tree, head))
    results = [node for node in tree.path(head) if tree[node].block.kind == "tool_result"]
    assert [found.get(node) for node in results] == [EARLIER, "changed since", None]
    assert stale_results(tree, calls[0].sent_head, turns, ()) == {}
