"""Files that a message names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.project.named import find_mentions, find_relevant, format_mention
from ctxtui.services.project.attachments import list_missing_files
from ctxtui.services.project.instructions import read_instructions


def test_what_a_message_names() -> None:
    for text, wanted in (
        ("look at @a.py.", [("a.py.", "a.py")]),
        ('@"a b.png" and (@c/d.txt)', [("a b.png",), ("c/d.txt)", "c/d.txt")]),
        ("me@example.org or @@x, a/@b", [("@x",)]),
        ("@a @a", [("a",)]),
        ("nothing @ all", []),
    ):
        assert find_mentions(text) == wanted, text
    assert format_mention("a.py") == "@a.py" and find_mentions(format_mention("a b.py")) == [("a b.py",)]


def test_what_is_not_there_is_told_where_it_looks_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    assert list_missing_files("@a.py, @b.py and @someone", tmp_path) == ["b.py"]


@pytest.mark.parametrize("name", ["a\0b.md", "loop/x.md", "link.md", "x" * 5000, "/etc/passwd", "../up.md"])
def test_instructions_that_cannot_be_followed_are_left_out(tmp_path: Path, name: str) -> None:
    (tmp_path / "up.md").write_text("above")
    top = tmp_path / "top"
    (top / ".git").mkdir(parents=True)
    (top / "real.md").write_text("real")
    (top / "link.md").symlink_to("real.md")
    (top / "loop").symlink_to("loop")
    (top / "CLAUDE.md").write_text(f"see @{name} and @./real.md" if name != "link.md" else "see @link.md")
    assert list(read_instructions(top)) == (["CLAUDE.md", "real.md"] if name != "link.md" else ["CLAUDE.md"])


def test_what_has_to_do_with_a_message() -> None:
    texts = {"garden.md": "roses lilies project", "todo.md": "project bread", "deploy.md": "project servers staging"}
    assert find_relevant(texts, "the garden") == ["garden.md"]
    assert find_relevant(texts, "deploying to servers in staging") == ["deploy.md"]
    assert find_relevant(texts, "this project") == []
