"""The transcript as something to read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ctxtui.core.session import Session
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import plain, width
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.reading import FILE, NOTHING, TEXT, Reading
from tests.cases.scenes import rows_of, study_of
from tests.cases.sessions import HOSTILE, Story, compacted, every_category, hostile, long_session, use

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n+newer\n*** End Patch"


def talk() -> Session:
    story = Story()
    story.user("Please fix it.\n\nThe second paragraph.").call(
        "## Plan\n\nI fix **it**.",
        use("a", "Bash", command="npm test " + "x" * 300),
        use("b", "Read", file_path="a.py"),
    )
    story.results(("b", "1\u2192import os"), ("a", "12 passing\n1 failing"))
    story.call(
        use(
            "c", "Edit", file_path="a.py", old_string="keep\nold line\nkeep too", new_string="keep\nnew line\nkeep too"
        ),
        use("d", "Write", file_path="b.py", content="\n".join(f"line {n}" for n in range(40))),
        use("e", "apply_patch", input=PATCH),
    )
    story.results(("c", "ok"), ("d", "ok"), ("e", "ok")).user("<reminder>", "meta").call("Done.").tip()
    return story.session


def reading(session: Session) -> ContextRows:
    rows = rows_of(study_of(session))
    rows.reading = Reading(rows)
    return rows


def text(rows: ContextRows, pane: int = 100) -> list[str]:
    grid = Grid.for_pane(pane, pane)
    out = []
    for index in range(rows.count):
        lines = [rows.line(index, line, grid, " ") for line in range(rows.height(index, grid))]
        assert all(width(line) <= pane for line in lines), (index, lines)
        out += [plain(line).rstrip() for line in lines]
    return out


def test_each_text_stands_once_and_in_full_and_each_call_with_its_result_is_a_line() -> None:
    drawn = text(reading(talk()))
    whole = "\n".join(drawn)
    assert whole.count("Please fix it.") == 1 and "       The second paragraph." in drawn
    assert whole.count("## Plan") == 1 and "I fix **it**." in whole
    assert sum("npm test" in line for line in drawn) == 1
    [shell] = [line for line in drawn if "npm test" in line]
    assert "…" in shell and "12 passing" in shell, (
        "parallel calls keep their results, and long ones leave room for them"
    )
    [read] = [line for line in drawn if "Read" in line]
    assert "a.py" in read and "import os" in read
    assert "not recorded" in drawn[0] and "more lines  e" not in whole and "cacheable" not in whole


def test_changes_of_files_are_diffs_cut_after_some_lines() -> None:
    rows = reading(talk())
    drawn = text(rows)
    [edit] = [line for line in drawn if "Edit" in line]
    assert "+1 −1" in edit, "as many as the lines below it that are marked"
    assert "       │ - old line" in drawn and "       │ + new line" in drawn and "       │   keep" in drawn
    assert "       │ + line 0" in drawn and "       │ + line 13" in drawn and "line 20" not in "\n".join(drawn)
    assert "       │ ⋯ 26 more lines  ⏎ opens" in drawn
    assert "       │ + newer" in drawn
    grid = Grid.for_pane(100, 100)
    [write] = [
        n for n in range(rows.count) if rows.reading is not None and "Write" in plain(rows.line(n, 0, grid, " "))
    ]
    assert rows.reading is not None and rows.reading.kind(write) == FILE
    rows.toggle(write)
    assert "       │ + line 39" in text(rows), "enter opens all of it"


def test_enter_folds_a_text_and_raw_json_is_still_there() -> None:
    rows = reading(talk())
    grid = Grid.for_pane(100, 100)
    assert rows.reading is not None
    [said] = [n for n in range(rows.count) if rows.reading.kind(n) == TEXT and rows.is_user_row(n)]
    rows.toggle(said)
    assert rows.height(said, grid) == 2 and "The second paragraph." not in "\n".join(text(rows))[:400].split("\n")[1:3]
    rows.toggle(said)
    assert "       The second paragraph." in text(rows)
    rows.toggle(said, raw=True)
    assert '"Please fix it.' in "\n".join(text(rows))


@pytest.mark.parametrize("session", [every_category(), hostile(), compacted()], ids=["all", "hostile", "compacted"])
@pytest.mark.parametrize("pane", [30, 80, 200])
def test_anything_can_be_read_at_any_width(session: Session, pane: int) -> None:
    drawn = "\n".join(text(reading(session), pane))
    assert "\x1b" not in drawn and "\u202e" not in drawn and HOSTILE not in drawn


def test_a_compaction_keeps_its_rule_and_results_find_their_calls_quickly() -> None:
    rows = reading(compacted())
    assert any("compaction" in line for line in text(rows))
    long = reading(long_session(300))
    grid = Grid.for_pane(100, 100)
    assert long.reading is not None
    middle = range(200, 220)
    kinds = [long.reading.kind(n) for n in middle]
    assert set(kinds) - {NOTHING} and all(long.height(n, grid) >= 0 for n in middle)


def sealed(count: int) -> Session:
    story = Story()
    story.user("go")
    for n in range(count):
        story.call(
            {"type": "reasoning", "summary": [], "encrypted_content": f"cipher{n}"}, use(f"c{n}", "Bash", command="ls")
        )
        story.results((f"c{n}", "a"))
    return story.call("done").tip().session


def test_encrypted_reasoning_has_one_row_that_stands_for_all_also_back_and_forth() -> None:
    study = study_of(sealed(4))
    rows = rows_of(study)
    assert "(empty)" not in "\n".join(text(rows))
    [line] = [line for line in text(rows) if "encrypted reasoning" in line]
    assert "in 4 blocks, only its provider can read it" in line
    known = study.thread("main")
    for index, count in ((1, 2), (0, 1), (4, 4), (2, 3)):
        rows.show(study.scene("main", index), known.boundaries, known.ledger, rows.shown)
        drawn = [line for line in text(rows) if "encrypted reasoning" in line]
        assert (
            len(drawn) == 1 and ("in " in drawn[0]) == (count > 1) and (count == 1 or f"in {count} blocks" in drawn[0])
        )


def test_the_words_of_an_open_text_stand_once() -> None:
    rows = rows_of(study_of(talk()))
    [said] = [n for n in range(rows.count) if rows.is_user_row(n)]
    rows.toggle(said)
    drawn = "\n".join(text(rows))
    assert drawn.count("Please fix it.") == 1 and "› user" in drawn


def test_a_command_with_asterisks_is_no_change_of_a_file() -> None:
    story = Story()
    story.user("Go.").call(
        "", use("a", "Bash", command='echo "*** done"'), use("b", "Bash", command=f"patch <<E\n{PATCH}")
    )
    story.results(("a", "*** done"), ("b", "ok")).tip()
    rows = reading(story.session)
    assert rows.reading is not None
    kinds = [rows.reading.kind(n) for n in range(rows.count)]
    assert kinds.count(FILE) == 1
    assert not any("│" in line for line in text(rows) if "done" in line)


@pytest.mark.parametrize(
    ("name", "arguments", "signs"),
    [
        ("edit", {"filePath": "a.py", "oldString": "old", "newString": "new"}, "-+"),
        ("edit", {"path": "a.py", "edits": [{"oldText": "old", "newText": "new"}]}, "-+"),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "new"}, "+"),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "a.py", "insert_text": "new"}, "+"),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<E\n{PATCH}"]}, "-+"),
        ("Bash", {"command": "sed -i 's/old/new/' a.py"}, ""),
        ("edit_file", {"target_file": "a.py", "instructions": "old to new"}, ""),
    ],
)
def test_a_change_of_a_file_is_shown_in_the_spellings_of_clients(
    name: str, arguments: dict[str, object], signs: str
) -> None:
    story = Story().user("Go.").call("", use("a", name, **arguments)).results(("a", "the result"))
    drawn = text(reading(story.call("Done.").session))
    assert any("│ + new" in line for line in drawn) == ("+" in signs)
    assert any("│ - old" in line for line in drawn) == ("-" in signs)
    assert any("the result" in line for line in drawn) == (not signs) and not any("+0" in line for line in drawn)


def test_a_large_result_stands_once_when_another_thread_has_read_it() -> None:
    story = Story().user("Look.")
    story.call(use("a", "Bash", command="cat log")).results(("a", "line\n" * 150_000)).call("Done.")
    study, tasks = study_of(story.session), list[Callable[[], None]]()
    rows = rows_of(study)
    rows.readings = Readings(study.session, study.book.names, tasks.append)
    rows.reading = Reading(rows)
    text(rows)
    assert tasks
    for task in tasks:
        task()
    assert sum("line" in line for line in text(rows)) == 1


def test_a_call_has_no_result_before_the_call_that_sent_it_and_its_own_in_a_fork() -> None:
    story = Story().user("Go.").call("", use("a", "Bash", command="ls"))
    asked = story.head
    story.results(("a", "the first")).call("Done.")
    story.head = asked
    story.results(("a", "the second")).call("Done.")
    study = study_of(story.session)
    rows, known = rows_of(study), study.thread("main")
    rows.reading = Reading(rows)
    for index, result in ((1, "the first"), (2, "the second"), (0, "")):
        rows.show(study.scene("main", index), known.boundaries, known.ledger, rows.shown)
        [line] = [line for line in text(rows) if "Bash" in line]
        assert line.rstrip(" 0123456789").endswith(result) and ("←" in line) == bool(result)
