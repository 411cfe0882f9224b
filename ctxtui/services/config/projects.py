"""Which directories belong to the one we are in: its repository's root, the folders between, its worktrees."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

LONGEST_NAME: Final = 200
"""Claude Code cuts a project folder's name here and adds ``-`` and a hash (facts §11)."""

_OTHER: Final = re.compile(r"[^A-Za-z0-9]")


def folder_name(directory: Path) -> str:
    """Claude Code's name for the project in `directory`, before it is cut."""
    return _OTHER.sub("-", str(directory))


def is_own_folder(name: str, directory: Path) -> bool:
    """Whether Claude Code's folder `name` is the one of `directory`."""
    wanted = folder_name(directory)
    if len(wanted) > LONGEST_NAME:
        return name.startswith(wanted[:LONGEST_NAME] + "-")
    return name == wanted


def is_worktree_folder(name: str, directory: Path) -> bool:
    """Whether Claude Code's folder `name` is that of a worktree that it made inside `directory`."""
    return name.startswith(folder_name(directory) + "--claude-worktrees-")


def related(cwd: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """`cwd` first, then the directories above it up to its repository's root, then the repository's worktrees.

    The spelling of ``PWD``, which keeps symbolic links, counts too. Reads only a repository's few ``gitdir`` files.
    """
    found = dict.fromkeys([cwd])
    spelled = env.get("PWD", "")
    if spelled and os.path.isabs(spelled) and _same(Path(spelled), cwd):
        found[Path(spelled)] = None
    root = next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), None)
    if root is not None:
        for folder in cwd.parents:
            if folder == root or root in folder.parents:
                found[folder] = None
        found |= dict.fromkeys(_worktrees(root / ".git"))
    return tuple(found)


def _same(a: Path, b: Path) -> bool:
    try:
        return a.samefile(b)
    except OSError:
        return False


def _worktrees(git: Path) -> Iterator[Path]:
    """The main checkout and every linked worktree of the repository whose ``.git`` (folder or file) is `git`."""
    if git.is_file():
        pointed = Path(_first_line(git).removeprefix("gitdir:").strip())
        if pointed.parent.name != "worktrees":
            return
        git = pointed.parent.parent
        yield git.parent
    for entry in sorted(git.glob("worktrees/*/gitdir")):
        checkout = Path(_first_line(entry)).parent
        if str(checkout) != ".":
            yield checkout


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""
