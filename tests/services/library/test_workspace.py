"""What a session read of files that still hold it."""

from __future__ import annotations

import os
from pathlib import Path

from ctxtui.analysis.content.duplicates import WORKSPACE, DuplicateFinder
from ctxtui.analysis.short_names import Names
from ctxtui.core.tree import ROOT
from ctxtui.services.library.workspace_files import in_workspace
from tests.analysis.content.test_duplicates import CODE, OTHER, Work, numbered


def looked(work: Work, cwd: Path) -> dict[int, tuple[str, int, str]]:
    work.story.call("done")
    tree = work.story.session.tree
    repeats = DuplicateFinder(tree, Names(tree), str(cwd))
    repeats.search_path(work.story.head)
    return {one.node: (one.kind, one.counterpart, one.path) for one in in_workspace(tree, repeats.files(), str(cwd))}


def test_only_what_the_file_still_holds_is_named(tmp_path: Path) -> None:
    (tmp_path / "same.py").write_text(CODE)
    (tmp_path / "other.py").write_text(OTHER.replace("quite", "now"))
    work = Work()
    same = work.do("Read", numbered(CODE), file_path=f"{tmp_path}/same.py")
    work.do("Read", numbered(OTHER), file_path=f"{tmp_path}/other.py")
    work.do("Read", "a much longer text " * 30, file_path=f"{tmp_path}/gone.py")
    assert looked(work, tmp_path) == {same: (WORKSPACE, ROOT, "same.py")}


def test_nothing_outside_the_directory_is_opened(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_text(CODE)
    os.symlink(tmp_path / "secret", inside / "link")
    os.mkfifo(inside / "pipe")
    work = Work()
    for name in (f"{tmp_path}/secret", "../secret", f"{inside}/link", f"{inside}/pipe", f"{inside}", "\0"):
        work.do("Read", numbered(CODE + name), file_path=name)
    assert looked(work, inside) == {}
    assert looked(Work(), tmp_path / "nowhere") == {}
