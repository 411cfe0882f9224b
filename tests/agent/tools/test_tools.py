"""The tools, and the workspace that they cannot leave."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from ctxtui.agent.events import ToolCall, ToolResult
from ctxtui.agent.tools import workspace
from ctxtui.agent.tools.registry import TOOLS, Toolbox
from ctxtui.agent.tools.tool import PlannedWrite
from ctxtui.agent.tools.workspace import OutsideWorkspace, Workspace
from ctxtui.core.canonical import Json


@pytest.fixture
def root(tmp_path: Path) -> Path:
    inside = tmp_path / "work"
    (inside / "src").mkdir(parents=True)
    (inside / "src" / "a.py").write_text("def one():\n    return 1\n")
    (inside / "notes.md").write_text("# Notes\nsee one\n")
    (tmp_path / "secret.txt").write_text("one secret\n")
    return inside


def run(root: Path, name: str, **given: Json) -> tuple[str, bool]:
    done = Toolbox(Workspace(root)).run(ToolCall("c", name, given))
    return done.text, done.is_error


def test_reading_with_numbers_and_offset(root: Path) -> None:
    assert run(root, "read_file", path="src/a.py") == ("1\tdef one():\n2\t    return 1", False)
    assert run(root, "read_file", path="src/a.py", offset=2) == ("2\t    return 1", False)
    text, _ = run(root, "read_file", path="src/a.py", limit=1)
    assert text == "1\tdef one():\n[1 more lines: read on with offset 2]"
    (root / "long.txt").write_text(("word " * 10 + "\n") * 3_000)
    text, _ = run(root, "read_file", path="long.txt")
    assert "more characters are not shown; give offset and limit" in text and "read on with offset" not in text


def test_listing_finding_searching(root: Path) -> None:
    assert run(root, "list_dir") == ("src/\nnotes.md", False)
    assert run(root, "find", pattern="*.py") == ("src/a.py", False)
    assert run(root, "find", pattern="note") == ("notes.md", False)
    assert run(root, "grep", pattern=r"\bone\b") == ("notes.md:2:see one\nsrc/a.py:1:def one():", False)
    assert run(root, "grep", pattern="ONE", ignore_case=True, glob="*.md") == ("notes.md:2:see one", False)
    assert run(root, "grep", pattern="(")[1]


@pytest.mark.slow
def test_a_pattern_that_takes_too_long_is_stopped_and_holds_nobody_up(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxtui.agent.tools.read_tools._MAX_MATCH_S", 1.0)
    for name in ("m.txt", "n.txt", "o.txt"):
        (root / name).write_text("a" * 90 + "b\n")
    done: list[tuple[str, bool]] = []
    thread = threading.Thread(target=lambda: done.append(run(root, "grep", pattern="(a|aa)+$")), daemon=True)
    began = time.monotonic()
    thread.start()
    longest = 0.0
    while thread.is_alive() and time.monotonic() - began < 20:
        at = time.monotonic()
        time.sleep(0.01)
        longest = max(longest, time.monotonic() - at)
    assert not thread.is_alive() and time.monotonic() - began < 10 and longest < 0.9
    ((told, failed),) = done
    assert failed and "takes too long" in told and "m.txt:1" in told and "narrow path and glob" in told
    (root / "b.txt").write_text("aaa\n")
    monkeypatch.setattr("ctxtui.agent.tools.read_tools._MAX_MATCH_S", 0.2)
    told, failed = run(root, "grep", pattern="(a|aa)+$")
    assert not failed and told.startswith("b.txt:1:aaa\n[the pattern takes too long")


@pytest.mark.parametrize(
    "pattern", ["(((a{99}){99}){99}){99}", "a{99999999999}", "(?:(?:a|b){999}(?#x)){999}", "(?x)(a ) {9}"]
)
def test_a_pattern_that_is_too_large_is_refused_at_once(root: Path, pattern: str) -> None:
    began = time.process_time()
    told, failed = run(root, "grep", pattern=pattern)
    assert failed and "@ grep; " in told and time.process_time() - began < 0.5
    two = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}.{0,200}[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert run(root, "grep", pattern=two) == (f"nothing fits {two}", False)


def test_writing_and_editing(root: Path) -> None:
    assert run(root, "write_file", path="new/deep/x.txt", content="héllo")[0].startswith("created")
    assert (root / "new/deep/x.txt").read_text() == "héllo"
    assert run(root, "edit_file", path="src/a.py", old="return 1", new="return 2") == (
        "replaced 1 place in src/a.py",
        False,
    )
    text, failed = run(root, "edit_file", path="notes.md", old="e", new="E")
    assert failed and "times" in text
    assert run(root, "edit_file", path="notes.md", old="gone", new="x")[1]


def test_editing_keeps_line_ends_mode_and_odd_bytes(root: Path) -> None:
    odd = root / ("odd" * 85)
    odd.write_bytes(b"a\r\nb\xff\r\n")
    odd.chmod(0o770)
    run(root, "edit_file", path=odd.name, old="a", new="A")
    assert odd.read_bytes() == b"A\r\nb\xff\r\n"
    assert odd.stat().st_mode & 0o777 == 0o770


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/passwd", "src/../../secret.txt", "~/x", "a\0b", "link", "way/secret.txt"]
)
@pytest.mark.parametrize("tool", ["read_file", "write_file", "list_dir"])
def test_nothing_outside_is_touched(root: Path, path: str, tool: str) -> None:
    (root / "link").symlink_to(root.parent / "secret.txt")
    (root / "way").symlink_to(root.parent)
    given = {"path": path, "content": "x"} if tool == "write_file" else {"path": path}
    text, failed = run(root, tool, **given)
    assert failed and "one secret" not in text
    assert (root.parent / "secret.txt").read_text() == "one secret\n"


def test_links_inside_lead_to_where_they_point(root: Path) -> None:
    (root / "alias").symlink_to("src")
    assert run(root, "read_file", path="alias/a.py")[0].startswith("1\tdef one")
    assert "secret" not in run(root, "grep", pattern="secret")[0].replace("nothing fits secret", "")


def test_a_folder_swapped_for_a_link_meanwhile(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between looking and opening, another program puts a link in the place of a folder."""
    outside = root.parent / "elsewhere"
    outside.mkdir()
    (outside / "a.py").write_text("stolen")
    asked = Workspace.resolve

    def swapped(self: Workspace, path: str) -> Path:
        place = asked(self, path)
        (root / "src").rename(root / "gone")
        (root / "src").symlink_to(outside)
        return place

    monkeypatch.setattr(workspace.Workspace, "resolve", swapped)
    text, failed = run(root, "read_file", path="src/a.py")
    assert failed and "stolen" not in text


def test_a_walk_does_not_follow_a_folder_that_becomes_a_link(root: Path) -> None:
    outside = root.parent / "elsewhere"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "stolen.py").write_text("")
    (root / "src" / "deep").mkdir()
    (root / "src" / "deep" / "b.py").write_text("")
    walk = Workspace(root).files()
    found = [next(walk)]
    (root / "src").rename(root / "gone")
    (root / "src").symlink_to(outside)
    found += walk
    assert not any("stolen" in name for name in found), found


def test_pipes_folders_and_binaries_are_said(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "blob").write_bytes(b"\0\1\2")
    done: list[tuple[str, bool]] = []
    thread = threading.Thread(target=lambda: done.append(run(root, "read_file", path="pipe")), daemon=True)
    thread.start()
    thread.join(5)
    assert done and done[0][1]
    assert "binary" in run(root, "read_file", path="blob")[0]
    assert run(root, "read_file", path="src")[1]
    assert run(root, "write_file", path="src", content="x")[1]


def test_wrong_input_is_told_to_the_model(root: Path) -> None:
    assert "path is missing" in run(root, "read_file")[0]
    assert "no such input" in run(root, "read_file", path="a", what=1)[0]
    assert "integer" in run(root, "read_file", path="a", offset="x")[0]
    assert "There is no tool" in run(root, "delete")[0]
    assert Toolbox(Workspace(root)).run(ToolCall("c", "find", "text")).is_error


def test_long_results_are_cut_and_say_so(root: Path) -> None:
    (root / "long.txt").write_text("x" * 99 + "\n" + "".join(f"{n} {'y' * 90}\n" for n in range(1500)))
    text, _ = run(root, "read_file", path="long.txt")
    assert len(text) < 61_000 and "more characters are not shown" in text


def test_reading_asks_nobody(root: Path) -> None:
    """What docs/privacy.md says of models: every file of the folder can be read, also those that begin with a dot."""
    (root / ".env").write_text("KEY=1\n")
    box = Toolbox(Workspace(root))
    assert not any(box.asks(name) for name in ("read_file", "list_dir", "find", "grep", "recall"))
    assert run(root, "read_file", path=".env") == ("1\tKEY=1", False)


def test_only_writers_ask() -> None:
    assert {tool.name for tool in TOOLS if tool.writes} == {"write_file", "edit_file"}
    with pytest.raises(OutsideWorkspace):
        Workspace("/").resolve("a\0b")


def test_references_are_expanded_in_inputs_and_read_back(root: Path) -> None:
    box = Toolbox(Workspace(root), contents=lambda: {"CODE_1": "x = 1\n"})
    call = ToolCall("c", "write_file", {"path": "made.py", "content": "# made\n{{REF:CODE_1}}{{REF:gone}}"})
    wrote = box.run(box.expand(call))
    assert not wrote.is_error and (root / "made.py").read_text() == "# made\nx = 1\n{{REF:gone}}"
    for name in ("CODE_1", "{{REF:CODE_1}}"):
        assert box.run(ToolCall("c", "recall", {"name": name})).text == "x = 1\n"
    missing = box.run(ToolCall("c", "recall", {"name": "gone"}))
    assert missing.is_error and "nothing is kept under 'gone' @ recall; names: CODE_1" in missing.text


def plan(root: Path, name: str, **given: Json) -> PlannedWrite:
    found = Toolbox(Workspace(root)).plan(ToolCall("c", name, given))
    assert isinstance(found, PlannedWrite), found
    return found


def test_a_write_is_planned_with_its_real_place_and_all_its_content(root: Path) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / "docs").symlink_to(".git")
    found = plan(root, "write_file", path="src/../docs/./hooks/post-checkout", content="#!/bin/sh\n")
    assert (found.path, found.given_path) == (".git/hooks/post-checkout", "src/../docs/./hooks/post-checkout")
    assert found.guard and found.before is None and found.after == b"#!/bin/sh\n"
    assert not (root / ".git/hooks/post-checkout").exists(), "planned is not done"
    edit = plan(root, "edit_file", path="src/a.py", old="1", new="2")
    assert (edit.path, edit.guard) == ("src/a.py", "")
    assert edit.before == b"def one():\n    return 1\n" and edit.after == b"def one():\n    return 2\n"


def test_only_what_was_planned_is_written(root: Path) -> None:
    box = Toolbox(Workspace(root))
    call = ToolCall("c", "write_file", {"path": "src/a.py", "content": "new"})
    found = plan(root, "write_file", path="src/a.py", content="new")
    (root / "src" / "a.py").write_text("somebody was here")
    told = box.run(call, found)
    assert told.is_error and "changed meanwhile" in told.text
    assert (root / "src" / "a.py").read_text() == "somebody was here"
    (root / "src" / "a.py").unlink()
    assert box.run(call, found).is_error and not (root / "src" / "a.py").exists()


def test_a_path_that_leads_elsewhere_by_now_is_not_written(root: Path) -> None:
    (root / ".git").mkdir()
    found = plan(root, "write_file", path="src/hook", content="x")
    (root / "src").rename(root / "gone")
    (root / "src").symlink_to(".git")
    told = Toolbox(Workspace(root)).run(ToolCall("c", "write_file", {"path": "src/hook", "content": "x"}), found)
    assert told.is_error and "leads to another file" in told.text and not list((root / ".git").iterdir())


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("write_file", {"path": "../secret.txt", "content": "x"}, "outside"),
        ("write_file", {"path": "src", "content": "x"}, "a folder"),
        ("write_file", {"path": "pipe", "content": "x"}, "not a file"),
        ("write_file", {"path": "a"}, "content is missing"),
        ("edit_file", {"path": "gone.py", "old": "a", "new": "b"}, "No such file"),
        ("read_file", {"path": "src/a.py"}, "writes nothing"),
    ],
)
def test_what_cannot_be_written_is_told_instead_of_planned(
    root: Path, name: str, given: dict[str, Json], why: str
) -> None:
    os.mkfifo(root / "pipe")
    found = Toolbox(Workspace(root)).plan(ToolCall("c", name, given))
    assert isinstance(found, ToolResult) and found.is_error and why in found.text
