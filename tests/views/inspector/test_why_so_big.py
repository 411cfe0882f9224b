"""Why the context is so big: true, one line, as full as the screen is wide, and it does not move when the cut comes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from ctxtui.analysis.content.heavy_groups import BODIES, FILE, OUTPUT, RESULTS, HeavyGroup, HeavyGroups
from ctxtui.core.category import INDEX
from ctxtui.curation.price.advice import Advice
from ctxtui.views.glossary import arithmetic
from ctxtui.views.inspector import composition, why_so_big
from ctxtui.views.inspector.why_so_big import WhySoBig
from ctxtui.views.text.span import plain, width
from tests.cases.scenes import scene_of
from tests.cases.sessions import HOSTILE, Story, every_category, use
from tests.views.glossary.arithmetic_law import broken, claims

TAG = SimpleNamespace(before=120_900, after=89_900, freed=31_000)
CUT = cast(Advice, SimpleNamespace(names=("clear_tool_results", "compact_json"), tag=TAG))


def reads() -> Story:
    story = Story()
    story.user("look").call(
        use("a", "Read", file_path="/w/README.md"), use("b", "Bash", command="cd /w && CI=1 npm run build")
    )
    story.results(("a", "words\n" * 400), ("b", "built\n" * 900))
    story.call(use("c", "Read", file_path="/w/README.md"), use("d", "Write", file_path="/w/x", content="new " * 500))
    story.results(("c", "words\n" * 400), ("d", "ok")).call("done", use("e", "Grep", pattern="x"))
    return story


def test_groups_that_are_learnt_as_a_session_grows_are_those_learnt_at_once() -> None:
    story = reads()
    tree = story.session.tree
    grown = HeavyGroups(tree, "/w")
    grown.learn_new()
    story.results(("e", "found x\n" * 30)).call("more", use("f", "Read", file_path="/w/README.md"))
    story.results(("f", "words\n" * 90)).call("done")
    scene = scene_of(story.session)
    path, size = tree.path(scene.head), scene.running.block_tokens
    assert grown.groups_on(path, size) is None, "what came is not learnt yet"
    before = grown.learnt_count
    grown.learn_new()
    fresh = HeavyGroups(tree, "/w")
    fresh.learn_new()
    assert grown.learnt_count == fresh.learnt_count > before
    assert list(grown.groups_on(path, size) or ()) == list(fresh.groups_on(path, size) or ()) != []


def test_groups_are_files_programs_and_tools_and_add_up() -> None:
    scene = scene_of(reads().session)
    tree, path = scene.session.tree, scene.session.tree.path(scene.head)
    groups = HeavyGroups(tree, "/w")
    assert groups.groups_on(path, scene.running.block_tokens) is None, "nothing is learnt yet"
    groups.learn(range(1, len(tree)))
    found = groups.groups_on(path, scene.running.block_tokens)
    assert found is not None
    named = {(group.name, group.what): group for group in found}
    assert named["README.md", FILE].count == 2 and ("npm", OUTPUT) in named and ("Write", BODIES) in named
    for category in ("tool_call", "tool_result"):
        whole = sum(group.tokens for group in found if group.category == INDEX[category])
        assert whole == scene.figures.categories[category], "the figures of the composition"
    assert [group.tokens for group in found] == sorted((group.tokens for group in found), reverse=True)


def test_the_figures_are_those_of_the_composition_at_any_width() -> None:
    scene = scene_of(reads().session)
    what = composition.composition(scene)
    tree = scene.session.tree
    groups = HeavyGroups(tree, "/w")
    groups.learn(range(1, len(tree)))
    one = WhySoBig(
        composition=what, groups=groups.groups_on(tree.path(scene.head), scene.running.block_tokens), key="!"
    )
    fullest = plain(why_so_big.line(one, 300))
    assert "README.md twice = " in fullest and "npm output " in fullest and "Write bodies" in fullest
    for room in (60, 80, 120, 200, 300):
        before = plain(why_so_big.line(one, room))
        after = plain(why_so_big.line(WhySoBig(composition=what, groups=one.groups, cut=CUT, key="!"), room))
        assert width(why_so_big.line(one, room)) < room and len(after) < room
        assert after.startswith(before) and "31.0k" in after, "nothing moves when the cut is found"
        assert "clear tool results + " in after or after.endswith(" · ! safe −31.0k"), "a key, and what it lists"
        assert len(before) <= len(fullest)
    assert after.endswith(" · ! clear tool results + compact json −31.0k")
    again = plain(why_so_big.line(WhySoBig(composition=what, key="!", is_searching=True), 300))
    assert again.endswith(" · ! searching"), "no figure of other edits"
    more = WhySoBig(composition=what, cut=CUT, key="!", staged=29_000)
    assert "json −2.0k" in plain(why_so_big.line(more, 300)), "what is staged is in it already"
    assert not broken(arithmetic.explain_safe_cut(more)["safe cut"])
    assert "!" not in plain(why_so_big.line(WhySoBig(composition=what, cut=CUT, key="!", staged=31_000), 300))
    said = arithmetic.explain_safe_cut(WhySoBig(composition=what, cut=CUT, key="!"))["safe cut"]
    assert list(claims(said)) and not broken(said) and said.endswith(" tokens, by clear tool results + compact json.")


def test_what_is_hostile_or_not_counted_is_drawn_safely() -> None:
    what = composition.composition(scene_of(every_category()))
    group = HeavyGroup(INDEX["tool_result"], HOSTILE, FILE, 99_999, 7, 1)
    drawn = plain(why_so_big.line(WhySoBig(composition=what, groups=[group]), 240))
    assert "\x1b" not in drawn and "\u202e" not in drawn and "7 times" in drawn
    uncounted = composition.Composition(total=5, reported=True, half_width=0.1, parts=())
    assert why_so_big.line(WhySoBig(composition=uncounted), 80) == []


def test_the_command_of_an_editor_is_no_program() -> None:
    story = (
        Story().user("go").call(use("a", "str_replace_based_edit_tool", command="create", path="/w/x", file_text="y"))
    )
    story.results(("a", "created " * 50)).call("done")
    scene = scene_of(story.session)
    groups = HeavyGroups(scene.session.tree, "/w")
    groups.learn_new()
    found = groups.groups_on(scene.session.tree.path(scene.head), scene.running.block_tokens)
    assert found is not None
    assert {(group.name, group.what) for group in found if group.category == INDEX["tool_result"]} == {
        ("str_replace_based_edit_tool", RESULTS)
    }
