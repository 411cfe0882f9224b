"""A skill serves the calls after it, up to the end of the turn in which it was called for."""

from __future__ import annotations

from ctxtui.analysis.content.skills import call_skills
from ctxtui.core.session import MAIN
from tests.cases.sessions import Story, use


def test_what_the_model_asks_for_serves_the_calls_after_it() -> None:
    story = Story().user("debug it").call(use("t1", "Skill", skill="debugging")).results(("t1", "read this"))
    story.call(use("t2", "Read", file_path="/a")).results(("t2", "text")).call("done")
    story.user("thanks").call("you are welcome")
    assert call_skills(story.session, MAIN) == ["", "debugging", "debugging", ""]


def test_what_the_user_typed_serves_its_whole_turn() -> None:
    story = Story().user("<command-message>review is running</command-message><command-name>/review</command-name>")
    story.call(use("t1", "Read", file_path="/a")).results(("t1", "text")).call("done").user("next").call("ok")
    assert call_skills(story.session, MAIN) == ["review", "review", ""]


def test_the_last_one_counts_and_odd_ones_do_not() -> None:
    story = Story().user("go").call(use("t1", "Skill", command="/one"), use("t2", "Skill", skill="two"))
    story.results(("t1", "a"), ("t2", "b")).call(use("t3", "Skill", skill=3), use("t4", "skill", skill="no"))
    story.results(("t3", "a"), ("t4", "b")).call("done")
    assert call_skills(story.session, MAIN) == ["", "two", "two"]


def test_arguments_that_are_nested_too_deeply_name_no_skill() -> None:
    deep = {"type": "function_call", "call_id": "t1", "name": "Skill", "arguments": "[" * 100_000}
    story = Story().user("go").call(deep).results(("t1", "a")).call("done")
    assert call_skills(story.session, MAIN) == ["", ""]
