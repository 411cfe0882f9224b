"""Dead weight: what was carried and never quoted, and what is not judged."""

from __future__ import annotations

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.analysis.content.dead_results import DeadWeight, find_dead_results
from ctxtui.core.session import MAIN
from tests.cases.sessions import Story, use


def judged(story: Story) -> tuple[DeadWeight, Story]:
    tree, calls = story.session.tree, story.session.thread_calls(MAIN)
    stays = BlockLifetimes(tree)
    stays.advance(calls)
    return find_dead_results(tree, calls, stays, lambda node: len(tree[node].block.body) // 4), story


def read(story: Story, id_: str, text: str, said: str = "on I go") -> Story:
    return story.call(use(id_, "Bash", command="true")).results((id_, text)).call(said)


def lines(name: str, count: int = 60) -> str:
    return "\n".join(f"/srv/{name}/part_{n}.log holds {n * 7919} records" for n in range(count))


def test_a_result_that_nothing_quotes_is_dead_and_one_that_is_quoted_is_not() -> None:
    story = read(Story().user("go"), "t1", lines("alpha"))
    read(story, "t2", lines("beta"), "the file /srv/beta/part_3.log matters")
    for n in range(4):
        story.user(f"and {n}").call("still going")
    found, _ = judged(story)
    tree = story.session.tree
    assert found.judged == 2 and [tree[one.node].block.body.count(b"alpha") > 0 for one in found.dead] == [True]
    one = found.dead[0]
    calls = len(story.session.thread_calls(MAIN))
    assert one.entered == 2 and one.calls == calls - 1 and found.carry == one.tokens * one.calls


def test_an_argument_of_a_tool_call_quotes_too() -> None:
    story = read(Story().user("go"), "t1", lines("alpha"))
    story.call(use("t9", "Read", file_path="/srv/alpha/part_7.log")).results(("t9", "short"))
    for _ in range(4):
        story.call("on")
    assert judged(story)[0].dead == ()


def test_what_the_user_had_said_before_is_no_quote() -> None:
    story = Story().user("look at /srv/alpha/part_7.log")
    read(story, "t1", lines("alpha"), "so /srv/alpha/part_7.log it is")
    for _ in range(4):
        story.call("on")
    assert len(judged(story)[0].dead) == 1


def test_a_result_that_came_late_or_has_nothing_to_quote_is_not_judged() -> None:
    story = read(Story().user("go"), "t1", "plain words only and nothing else in it\n" * 60)
    for _ in range(4):
        story.call("on")
    read(story, "t2", lines("late"))
    found, _ = judged(story)
    assert (found.judged, found.unjudged, found.dead) == (0, 2, ())
