"""What a compaction kept and lost, and what came back."""

from __future__ import annotations

from ctxtui.analysis.content.compactions import (
    CAME_AGAIN,
    DECISION,
    FILE,
    LITERAL,
    READ_AGAIN,
    SAID_AGAIN,
    USED_AGAIN,
    Compaction,
    find_compactions,
    improve_summary,
    preview_compaction,
)
from ctxtui.core.call import Epoch, EpochStart
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT
from ctxtui.views.lists import compactions as views
from ctxtui.views.text.span import plain, width
from tests.cases.sessions import Story, book_of, compacted, use

SUMMARY = "The work so far: src/kept.py was changed. The tests must run under pytest with two workers."


def forgetful(summary: str = SUMMARY) -> Session:
    """Three files, two wishes and a port before a compaction; one file and the port come back after it. Without a
    `summary` it ends before."""
    story = Story()
    story.user("The tests must run under pytest with two workers. Never touch the generated migrations folder please.")
    story.call(
        use("a", "Read", file_path="src/lost.py"),
        use("b", "Edit", file_path="src/kept.py", old_string="x", new_string="y"),
        use("c", "Read", file_path="src/gone.py"),
    )
    story.results(("a", "port = 58231\n" * 60), ("b", "ok"), ("c", "nothing here\n" * 30))
    story.call("We are going with sqlite instead of the plain files for the index.")
    if not summary:
        return story.session
    story.head, story.cached = ROOT, 0
    story.epoch = Epoch(2, EpochStart.COMPACTION, "1k → 0.1k")
    story.user(summary, "summary").user("go on")
    story.call(use("d", "Read", file_path="src/lost.py"), missed=True).results(("d", "port = 58231\n" * 60))
    # The same lines again, and a file that the agent changed itself: neither is read for the compaction's sake.
    story.call(use("e", "Read", file_path="src/lost.py"), use("f", "Write", file_path="src/gone.py", content="new"))
    story.results(("e", "port = 58231\n" * 60), ("f", "written"))
    story.call(use("g", "Read", file_path="src/gone.py")).results(("g", "new"))
    story.user("As I said: never touch the folder of generated migrations.").call("I see.").tip()
    return story.session


def found(session: Session) -> list[Compaction]:
    return find_compactions(book_of(session), MAIN, lambda node, tokens: tokens / 1e6)


def test_files_decisions_and_literals_that_were_lost_and_how_they_came_back() -> None:
    [one] = found(forgetful())
    assert (one.number, one.replaced, one.kept_nodes, one.sealed) == (3, 8, (), False)
    files = {fact.text: fact for fact in one.facts_of(FILE)}
    assert {path: fact.is_kept for path, fact in files.items()} == {
        "src/lost.py": False,
        "src/kept.py": True,
        "src/gone.py": False,
    }
    [again] = files["src/lost.py"].recoveries
    assert (again.how, again.call) == (READ_AGAIN, 3) and again.tokens > 100
    assert not files["src/gone.py"].recoveries, "the agent had written it since"
    assert one.brought_back == [again] and one.again_tokens == again.tokens
    assert one.again_usd is not None and abs(one.again_usd - again.tokens / 1e6) < 1e-9

    decisions = {fact.text: fact for fact in one.facts_of(DECISION)}
    assert decisions["The tests must run under pytest with two workers."].is_kept
    wish = decisions["Never touch the generated migrations folder please."]
    assert not wish.is_kept and [(back.how, back.call, back.tokens) for back in wish.recoveries] == [(SAID_AGAIN, 6, 0)]
    chosen = decisions["We are going with sqlite instead of the plain files for the index."]
    assert not chosen.is_kept and not chosen.recoveries

    assert one.count_facts(LITERAL) == one.literals[0] and not any(fact.text in files for fact in one.facts_of(LITERAL))


def test_a_literal_comes_back_in_a_result_or_is_spelled_out() -> None:
    story = Story()
    story.user("the id is build-4711-x").call("noted").user("and token-99-abcd, too").call("fine")
    story.head, story.epoch = ROOT, Epoch(2, EpochStart.COMPACTION)
    story.user("We talked.", "summary").user("I said build-4711-x").call(use("a", "Bash", command="env"))
    story.results(("a", "T=token-99-abcd")).call("ok").tip()
    [one] = found(story.session)
    back = {fact.text: fact.recoveries[0].how for fact in one.facts_of(LITERAL)}
    assert back == {"build-4711-x": SAID_AGAIN, "token-99-abcd": CAME_AGAIN} and one.literals == (2, 0)
    told = improve_summary(story.session.tree, one, "otherwise")
    assert told.startswith("We talked.") and "spelled out: build-4711-x" in told and "token-99" not in told


def test_a_summary_without_anything_to_add_gets_no_heading() -> None:
    story = Story()
    story.user("the id is build-4711-x").call("noted")
    story.head, story.epoch = ROOT, Epoch(2, EpochStart.COMPACTION)
    story.user("We talked.", "summary").user("go on").call("ok").tip()
    [one] = found(story.session)
    assert one.count_lost(LITERAL) == 1 and improve_summary(story.session.tree, one, "otherwise") == "We talked."


def test_a_literal_in_a_reminder_of_the_client_was_not_spelled_out() -> None:
    story = Story()
    story.user("the id is build-4711-x").call("noted")
    story.head, story.epoch = ROOT, Epoch(2, EpochStart.COMPACTION)
    story.user("We talked.", "summary").user("go on").user("env: build-4711-x", "meta").call("fine")
    story.call(use("a", "Bash", command="make build-4711-x")).tip()
    [one] = found(story.session)
    [literal] = one.facts_of(LITERAL)
    assert [(back.how, back.call) for back in literal.recoveries] == [(USED_AGAIN, 3)]


def test_what_stayed_word_for_word_counts_as_kept_and_an_encrypted_summary_is_told() -> None:
    story = Story()
    story.user("please keep src/main_module.py as it is, whatever happens here").call("yes")
    keep = story.head
    story.call("more")
    story.head, story.epoch = ROOT, Epoch(2, EpochStart.COMPACTION)
    story.add(*story.session.tree.items(keep)).call("on").tip()
    [one] = found(story.session)
    assert (
        len(one.kept_nodes) == 2
        and one.count_lost(DECISION) == one.count_lost(LITERAL) == 0
        and one.count_facts(LITERAL) == 1
    )


def test_no_compaction_and_several() -> None:
    assert [one.number for one in found(compacted())] == [4]
    plain_story = Story()
    plain_story.user("hello").call("hi")
    assert found(plain_story.session) == []


def test_a_better_summary_has_what_was_lost() -> None:
    session = forgetful()
    [one] = found(session)
    told = improve_summary(session.tree, one, "otherwise")
    assert told.startswith(SUMMARY) and "src/lost.py" in told and "generated migrations" in told
    assert told.index("src/lost.py") < told.index("src/gone.py"), "what came back goes first"
    withheld = forgetful(" ")
    [sealed] = found(withheld)
    assert sealed.sealed and improve_summary(withheld.tree, sealed, "otherwise").startswith("otherwise")


def test_the_view_fits_every_width_and_says_the_figures_of_the_analysis() -> None:
    [one] = found(forgetful())
    for room in (40, 80, 120, 200):
        lines = [views.heads(room), *views.bars_of(one, room, 4)]
        assert all(width(line) <= room for line in lines) and len(lines) == 5
        assert "summary" in "".join(map(plain, lines)), "the summary never folds away"
        assert all(width(views.TABLE.draw(fact, room)) == room for fact in one.facts)
    told = "\n".join(plain(line) for line in views.sentences(one))
    assert "names 1 of 3 files" in told and "1 file read again" in told
    assert views.facts(one)[0].text == "src/lost.py"
    assert all(not fact.is_kept for fact in views.facts(one)) and all(
        fact.is_kept for fact in views.facts(one, views.KEPT)
    )
    assert len(views.facts(one, views.ALL)) == len(one.facts)


def test_a_held_summary_loses_what_it_will_lose() -> None:
    """The law: before the client has it, the same facts are kept and lost as in the recording after it."""
    for summary in (SUMMARY, "Nothing.", "src/lost.py, src/gone.py, the index is sqlite, port 58231"):
        recorded, (one,) = found(forgetful(summary)), found(forgetful(summary))
        held = preview_compaction(book_of(forgetful("")), MAIN, summary)
        assert held is not None and held.is_held and recorded
        assert [(fact.kind, fact.text, fact.is_kept, fact.times) for fact in held.facts if fact.kind != LITERAL] == [
            (fact.kind, fact.text, fact.is_kept, fact.times) for fact in one.facts if fact.kind != LITERAL
        ]
        lost = [{fact.text for fact in each.facts_of(LITERAL)} for each in (held, one)]
        assert lost[0] == lost[1] and held.literals == one.literals
        assert (held.number, held.replaced) == (one.number, one.replaced)
        parts = sum(held.after.categories.values()) + (held.after.not_recorded or 0)
        assert held.after.context_tokens == parts and held.summary_tokens > 0
        assert plain(views.title([held], 0)).startswith(" held after call 2")


def test_what_a_summary_leaves_out_can_be_added_before_the_client_has_it() -> None:
    session = forgetful("")
    held = preview_compaction(book_of(session), MAIN, "Nothing.")
    assert held is not None
    better = improve_summary(session.tree, held, "Nothing.")
    again = preview_compaction(book_of(session), MAIN, better)
    assert again is not None and better.startswith("Nothing.")
    assert again.count_lost(FILE) == again.count_lost(DECISION) == 0 < held.count_lost(FILE)


def test_a_session_without_a_call_has_nothing_to_lose() -> None:
    assert preview_compaction(book_of(Session()), MAIN, "Nothing.") is None
