"""What of a folder is read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ctxtui.core.errors import NotFound
from ctxtui.services.project.reader import MAX_FILE_BYTES, read_project


def test_gitignore_is_kept_as_git_reads_it(tmp_path: Path) -> None:
    files = {
        ".gitignore": "*.log\n/built/\n",
        ".git/config": "x",
        ".git/info/exclude": "mine.txt\n",
        "a.py": "x",
        "a.log": "x",
        "mine.txt": "x",
        "built/b.py": "x",
        "sub/built/b.py": "x",
        "sub/.gitignore": "!keep.log\n*.tmp\n",
        "sub/keep.log": "x",
        "sub/a.tmp": "x",
        "node_modules/z.js": "x",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 30)
    (tmp_path / "big.txt").write_bytes(b"a" * (MAX_FILE_BYTES + 1))
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")
    found = read_project(tmp_path)
    assert set(found.texts) == {".gitignore", "a.py", "sub/.gitignore", "sub/built/b.py", "sub/keep.log"}
    assert set(found.media) == {"p.png"} and set(found.large) == {"big.txt"}
    assert set(read_project(tmp_path / "sub").texts) == {".gitignore", "built/b.py", "keep.log"}
    assert read_project(tmp_path / "built").texts == {}, "git reads nothing in an ignored folder either"


@pytest.mark.parametrize(
    "rules",
    [
        "*\n!*/\n!*.py\n",
        "/*\n!d/\nd/*\n!d/e\n",
        "foo/**\n!foo/keep\n",
        "data/**\n!data/**/\n!data/**/*.csv\n",
        "data/*\n!data/x\n",
        "foo/\n!foo/keep\n",
        "**/x\n!d/**/x \n",
        "d/**/f.py\n*.txt/\n",
        "e\n!e/\n",
        "/\n!/\n[ab].py\n\\#c\n",
        "**/\n",
        "\ufeff*.txt\n",
        "**\n!foo/\n!keep\n",
    ],
)
def test_folders_are_ignored_as_git_does(tmp_path: Path, rules: str) -> None:
    (tmp_path / ".gitignore").write_text(rules, encoding="utf-8")
    for path in (
        "a.py b.txt #c d/c.py d/e/f.py d/e/g.txt d/x e/k.py foo/keep foo/other foo/deep/keep data/a.csv data/b.txt"
        " data/x/c.csv data/x/d.txt data/x/y/e.csv dir.txt/a.py"
    ).split():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    listing = ["git", "-c", "core.excludesFile=", "ls-files", "-o", "--exclude-standard"]
    by_git = subprocess.run(listing, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert sorted(read_project(tmp_path).texts) == sorted(by_git.splitlines())


def test_an_invalid_rule_ignores_nothing(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("!\n*.log\n[z-a]\na\\\n\\\n")
    for name in ("a.py", "a.log"):
        (tmp_path / name).write_text("x")
    assert set(read_project(tmp_path).texts) == {".gitignore", "a.py"}


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_project(tmp_path / "nope")
