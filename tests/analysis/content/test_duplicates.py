"""Repeats: the same text twice, nearly the same, files read again or changed since; what holds stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.analysis.content.duplicates import (
    EDITED,
    IDENTICAL,
    NEAR,
    REREAD,
    DuplicateFinder,
    containment,
    duplicates_in,
    make_sketch,
)
from ctxtui.analysis.short_names import Names
from ctxtui.core.block_content import BlockContent
from ctxtui.core.file_accesses import CHANGE, READ, WHOLE, Touch, find_touches, shell_command
from ctxtui.core.tree import ROOT
from tests.cases.sessions import Story, use

CODE = "\n".join(f"def function_{n}(argument): return argument * {n}" for n in range(40))
OTHER = "\n".join(f"the line number {n} of quite another text" for n in range(40))


def numbered(text: str) -> str:
    return "\n".join(f"{n:>6}→{line}" for n, line in enumerate(text.splitlines(), 1))


class Work:
    """A session in which files are read and changed."""

    def __init__(self) -> None:
        self.story = Story().user("go")
        self.made = 0

    def do(self, name: str, result: str, id_: str = "", **given: object) -> int:
        """One tool call with its result; the result's node."""
        self.made += 1
        id_ = id_ or f"t{self.made}"
        self.story.call(use(id_, name, **given)).results((id_, result))
        return self.story.head

    def found(self) -> dict[int, tuple[str, int]]:
        tree = self.story.session.tree
        repeats = DuplicateFinder(tree, Names(tree), "/w")
        for call in self.story.call("done").session.thread_calls():
            while not repeats.search_path(call.sent_head, 2):
                pass
        whole = DuplicateFinder(tree, Names(tree), "/w")
        whole.search_path(self.story.session.thread_calls()[-1].sent_head)
        assert whole.duplicates == repeats.duplicates
        return {one.node: (one.kind, one.counterpart) for one in repeats.duplicates.values()}


def test_a_file_that_is_read_again_makes_the_first_reading_superfluous() -> None:
    work = Work()
    first = work.do("Read", numbered(CODE), file_path="/w/a.py")
    second = work.do("Read", numbered(CODE), file_path="/w/a.py")
    assert work.found() == {first: (REREAD, second)}


def test_a_part_that_is_read_again_leaves_the_whole() -> None:
    work = Work()
    work.do("Read", numbered(CODE), file_path="/w/a.py")
    part = work.do("Read", "\n".join(numbered(CODE).splitlines()[9:30]), file_path="/w/a.py", offset=10, limit=21)
    found = work.found()
    assert list(found) == [part] and found[part][0] == NEAR


def test_a_call_with_the_id_of_an_earlier_one_does_not_read_its_file() -> None:
    work = Work()
    work.do("Read", numbered(CODE), "again", file_path="/w/a.py")
    work.do("Bash", "Monday", "again", command="date")
    assert work.found() == {}


def test_a_file_that_was_changed_makes_what_was_read_of_it_outdated() -> None:
    work = Work()
    before = work.do("Read", numbered(CODE), file_path="/w/a.py")
    other = work.do("Read", numbered(OTHER), file_path="/w/b.py")
    edit = work.do("Edit", "done", file_path="/w/a.py", old_string="x", new_string="y")
    found = work.found()
    assert found == {before: (EDITED, edit)} and other not in found


def test_the_result_of_a_change_is_not_outdated_by_a_later_read() -> None:
    work = Work()
    work.do("Write", numbered(OTHER), file_path="/w/a.py", content="x")
    work.do("Read", numbered(CODE), file_path="/w/a.py")
    assert work.found() == {}


def test_of_three_equal_reads_the_last_one_stays() -> None:
    work = Work()
    first, second, third = (work.do("Read", numbered(CODE), file_path="/w/a.py") for _ in range(3))
    assert work.found() == {first: (REREAD, third), second: (REREAD, third)}


def test_a_part_that_was_read_before_the_whole_was_read_twice_is_outdated() -> None:
    work = Work()
    part = work.do("Read", "\n".join(numbered(CODE).splitlines()[:20]), file_path="/w/a.py", offset=1, limit=20)
    first, second = (work.do("Read", numbered(CODE), file_path="/w/a.py") for _ in range(2))
    assert work.found() == {part: (REREAD, second), first: (REREAD, second)}


def test_a_change_makes_every_read_before_it_outdated() -> None:
    work = Work()
    first, second = (work.do("Read", numbered(CODE), file_path="/w/a.py") for _ in range(2))
    edit = work.do("Edit", "done", file_path="/w/a.py", old_string="x", new_string="y")
    assert work.found() == {first: (EDITED, edit), second: (EDITED, edit)}


def test_a_read_stays_outdated_if_the_result_of_the_change_is_a_duplicate() -> None:
    work = Work()
    before = work.do("Read", numbered(CODE), file_path="/w/a.py")
    result = work.do("Edit", OTHER, file_path="/w/b.py", old_string="x", new_string="y")
    again = work.do("Edit", OTHER, file_path="/w/a.py", old_string="x", new_string="y")
    assert work.found() == {before: (EDITED, again), again: (IDENTICAL, result)}


def test_a_read_that_was_a_duplicate_stays_outdated_if_the_other_is_read_again() -> None:
    work = Work()
    first = work.do("Read", CODE, file_path="/w/a.py")
    before = work.do("Read", CODE, file_path="/w/b.py")
    edit = work.do("Edit", "done", file_path="/w/b.py", old_string="x", new_string="y")
    again = work.do("Read", CODE, file_path="/w/a.py")
    assert work.found() == {first: (REREAD, again), before: (EDITED, edit)}


def test_a_change_that_failed_outdates_nothing() -> None:
    work = Work()
    work.do("Read", numbered(CODE), file_path="/w/a.py")
    work.story.call(use("e", "Edit", file_path="/w/a.py")).results(("e", "no such text"), error=True)
    assert work.found() == {}


def test_the_same_text_twice_is_marked_once_wherever_it_stands() -> None:
    work = Work()
    first = work.do("Bash", OTHER, command="make")
    again = work.do("Bash", OTHER, command="make test")
    work.story.user(OTHER)
    pasted = work.story.head
    assert work.found() == {again: (IDENTICAL, first), pasted: (IDENTICAL, first)}


def test_what_was_written_and_then_read_stands_there_twice() -> None:
    work = Work()
    work.do("Write", "ok", file_path="/w/new.py", content=CODE)
    read = work.do("Read", numbered(CODE), file_path="/w/new.py")
    found = work.found()
    assert list(found) == [read] and found[read][0] == NEAR


def test_a_block_that_another_stands_for_is_never_the_one_that_stands() -> None:
    work = Work()
    read = work.do("Read", OTHER, file_path="/w/a.txt")
    copy = work.do("Bash", OTHER, command="print a.txt")
    again = work.do("Read", OTHER, file_path="/w/a.txt")
    found = work.found()
    assert found[read] == (REREAD, again)
    assert all(other not in found for _, other in found.values()), found
    assert copy in found or again not in found


texts = st.sampled_from([CODE, OTHER, CODE + "\n" + OTHER, CODE.replace("_1", "_x"), "short"])
steps = st.lists(st.tuples(st.sampled_from(["Read", "Edit", "Bash"]), st.sampled_from("ab"), texts), max_size=7)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_no_mark_leans_on_a_block_that_is_marked(some: list[tuple[str, str, str]]) -> None:
    work = Work()
    for name, path, text in some:
        work.do(name, text, file_path=f"/w/{path}")
    found = work.found()
    assert all(other not in found and other != node for node, (kind, other) in found.items() if kind != EDITED)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_a_read_before_a_change_is_always_marked(some: list[tuple[str, str, str]]) -> None:
    work = Work()
    nodes = [work.do(name, text, file_path=f"/w/{path}") for name, path, text in some]
    found = work.found()
    for at, (name, path, _) in enumerate(some):
        changed = any(later == "Edit" and other == path for later, other, _ in some[at:])
        assert nodes[at] in found or name != "Read" or not changed


def test_only_what_stands_in_a_context_counts_for_it() -> None:
    work = Work()
    first = work.do("Read", numbered(CODE), file_path="/w/a.py")
    early = work.story.head
    work.do("Read", numbered(CODE), file_path="/w/a.py")
    tree = work.story.session.tree
    repeats = DuplicateFinder(tree, Names(tree))
    repeats.search_path(work.story.head)
    assert [one.node for one in duplicates_in(repeats.duplicates, tree, work.story.head)] == [first]
    assert duplicates_in(repeats.duplicates, tree, early) == [] == duplicates_in(repeats.duplicates, tree, ROOT)


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("Read", '{"file_path":"/w/a.py"}', [Touch("a.py", READ)]),
        ("Read", '{"file_path":"/w/a.py","offset":10,"limit":5}', [Touch("a.py", READ, 10, 14)]),
        ("ReadFile", '{"path":"/w/a.py","line_offset":10,"n_lines":5}', [Touch("a.py", READ, 10, 14)]),
        ("read_file", '{"filePath":"/w/a.py","startLine":10,"endLine":14}', [Touch("a.py", READ, 10, 14)]),
        ("mcp__fs__read_file", '{"path":"./b"}', [Touch("b", READ)]),
        ("str_replace_editor", '{"command":"view","path":"/w/c","view_range":[3,-1]}', [Touch("c", READ, 3, WHOLE[1])]),
        ("str_replace_editor", '{"command":"insert","path":"/w/c"}', [Touch("c", CHANGE)]),
        ("MultiEdit", '{"file_path":"/x/c"}', [Touch("/x/c", CHANGE)]),
        ("Bash", '{"command":"cat -n src/d.ts"}', [Touch("src/d.ts", READ)]),
        ("shell", '{"command":["bash","-lc","sed -n \'1,20p\' e.md"]}', [Touch("e.md", READ, 1, 20)]),
        ("Bash", '{"command":"cat a b | wc"}', []),
        ("Bash", '{"command":"cat > /w/h.md <<\'EOF\'\\nhello\\nEOF"}', [Touch("h.md", CHANGE)]),
        ("Bash", '{"command":"cd x && cat <<EOF >> i.md\\na\\nEOF"}', [Touch("i.md", CHANGE)]),
        ("Bash", '{"command":"tee -a j.md <<EOF\\na\\nEOF"}', [Touch("j.md", CHANGE)]),
        ("Bash", '{"command":"sed -i.bak \'s/a/b/\' k.py"}', [Touch("k.py", CHANGE)]),
        ("Bash", '{"command":"cat a > b"}', []),
        ("Bash", '{"command":"cat $HOME"}', []),
        ("apply_patch", "*** Begin Patch\n*** Update File: f.py\n@@\n*** Add File: g.py\n", [
            Touch("f.py", CHANGE), Touch("g.py", CHANGE)]),
        ("Task", '{"path":"/w/a.py"}', []),
        ("Read", "[1]", []),
        ("Bash", '{"command":"sed -n %s,9p a.py"}' % ("1" * 5000), []),
    ],
)  # fmt: skip
def test_calls_tell_what_they_touch(name: str, arguments: str, wanted: list[Touch]) -> None:
    assert list(find_touches(BlockContent(name=name, arguments=arguments), "/w")) == wanted


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("Bash", '{"command":"ls"}', "ls"),
        ("shell", '{"command":["bash","-lc","ls"]}', "ls"),
        ("str_replace_based_edit_tool", '{"command":"view","path":"a"}', ""),
        *(("Bash", odd, "") for odd in ("", "[1]", "x", "3", '{"command":3}', '{"command":[]}', '{"command":["a",1]}')),
    ],
)
def test_a_shell_command_is_a_text_or_a_list_of_words(name: str, arguments: str, command: str) -> None:
    assert shell_command(BlockContent(name=name, arguments=arguments)) == command


def test_sketches_find_texts_within_texts() -> None:
    long = "\n".join(f"line {n} says something of its own" for n in range(400))
    part = "\n".join(long.splitlines()[100:250])
    one, other = make_sketch(long), make_sketch(part)
    assert one is not None and other is not None and one.sampled
    both, _, mine = one.common(other)
    assert both >= 0.9 * mine
    share, whole = containment(part, long)
    assert share == 1.0 and whole < 0.5
    assert make_sketch("short") is None
    assert containment('{"a":1}', '{"a":1}') in ((0.0, 0.0), (1.0, 1.0))
