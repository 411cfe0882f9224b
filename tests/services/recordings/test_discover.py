from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from ctxtui.services.config.projects import folder_name, is_own_folder, is_worktree_folder, related_directories
from ctxtui.services.recordings.discover import find_recordings, id_of

UUID = "0199a213-81c0-7800-8aa1-bbab2a035a53"


class Touched:
    """What is opened and listed inside of the block, as the interpreter itself tells it."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.listed: list[str] = []
        self._on = False
        sys.addaudithook(self._heard)

    def __enter__(self) -> Touched:
        self._on = True
        return self

    def __exit__(self, *error: object) -> None:
        self._on = False

    def _heard(self, event: str, args: tuple[object, ...]) -> None:
        if self._on and event in ("open", "os.scandir", "os.listdir"):
            (self.opened if event == "open" else self.listed).append(str(args[0]))


def touch(path: Path, at: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"{}\n")
    if at:
        os.utime(path, (at, at))
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def env_of(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


def test_sessions_of_both_clients_are_found_newest_first(home: Path, tmp_path: Path) -> None:
    cwd = tmp_path / "my.app"
    cwd.mkdir()
    projects = home / ".claude/projects"
    mine = touch(projects / folder_name(cwd) / f"{UUID}.jsonl", 100)
    other = touch(projects / "-somewhere-else" / "a.jsonl", 300)
    touch(projects / "-somewhere-else" / "agent-1.jsonl", 400)
    touch(projects / "-somewhere-else" / "notes.txt", 400)
    touch(projects / "-somewhere-else" / "a" / "subagents" / "agent-2.jsonl", 400)
    rollout = touch(home / f".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{UUID}.jsonl", 200)
    old = touch(home / f".codex/archived_sessions/rollout-2025-01-02T03-04-05-{UUID}.jsonl", 50)
    touch(home / ".codex/sessions/2026/01/02/other.jsonl", 200)
    found = find_recordings(cwd, env_of(home))
    assert [f.path for f in found] == [other, rollout, mine, old]
    assert [f.group for f in found] == ["elsewhere", "elsewhere", "here", "elsewhere"]
    assert [f.source for f in found] == ["claude code", "codex", "claude code", "codex"]
    assert found[2].cwd == str(cwd)
    assert found[1].id == found[2].id == UUID


def test_variables_move_the_folders(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")}
    one = touch(tmp_path / "c/projects/-p/a.jsonl", 2)
    two = touch(tmp_path / "x/sessions/2026/1/1/rollout-a.jsonl", 1)
    touch(tmp_path / ".claude/projects/-p/b.jsonl", 3)
    assert [f.path for f in find_recordings(tmp_path, env)] == [one, two]


def test_samples_come_with_their_group(tmp_path: Path) -> None:
    sample = touch(tmp_path / "s/pineapple.ctxtui.jsonl")
    found = find_recordings(tmp_path, env_of(tmp_path), (sample, tmp_path / "gone"))
    assert [(f.group, f.id) for f in found] == [("samples", "pineapple")]
    assert not found[0].is_live(time.time(), 120)


def test_live_is_a_recent_write(home: Path, tmp_path: Path) -> None:
    touch(home / ".claude/projects/-p/a.jsonl", 1_000)
    (found,) = find_recordings(tmp_path, env_of(home))
    assert found.is_live(1_100, 120)
    assert not found.is_live(1_121, 120)


def test_nothing_there_is_no_error(tmp_path: Path) -> None:
    assert find_recordings(tmp_path, env_of(tmp_path / "nobody")) == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (f"{UUID}.jsonl", UUID),
        (f"rollout-2026-01-02T03-04-05-{UUID.upper()}.jsonl", UUID),
        ("my session.jsonl", "my session"),
    ],
)
def test_ids_come_from_names(name: str, wanted: str) -> None:
    assert id_of(name) == wanted


def test_folder_names_of_worktrees_and_long_paths() -> None:
    assert is_own_folder("-home-me-my-app", Path("/home/me/my.app"))
    assert is_worktree_folder("-home-me-app--claude-worktrees-fix", Path("/home/me/app"))
    other = "-home-me-app-other", Path("/home/me/app")
    assert not is_own_folder(*other) and not is_worktree_folder(*other)
    long = Path("/" + "a" * 300)
    assert is_own_folder(folder_name(long)[:200] + "-1f2e3d", long)


def test_the_repository_and_its_worktrees_belong_together(tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "trees/fix"
    (main / ".git/worktrees/fix").mkdir(parents=True)
    (main / "src").mkdir()
    tree.mkdir(parents=True)
    (main / ".git/worktrees/fix/gitdir").write_text(f"{tree}/.git\n")
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/fix\n")
    assert set(related_directories(main / "src", {})) == {main / "src", main, tree}
    assert set(related_directories(tree, {})) == {tree, main}
    assert related_directories(tmp_path, {}) == (tmp_path,)


def test_a_linked_spelling_of_the_directory_counts(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    assert set(related_directories(real, {"PWD": str(link)})) == {real, link}
    assert set(related_directories(real, {"PWD": "/somewhere/else"})) == {real}


def test_thousands_of_files_take_no_time(home: Path, tmp_path: Path) -> None:
    for project in range(20):
        folder = home / f".claude/projects/-p{project}"
        folder.mkdir(parents=True)
        for number in range(100):
            (folder / f"{number}.jsonl").touch()
    with Touched() as touched:
        assert len(find_recordings(tmp_path, env_of(home))) == 2000
    assert not [path for path in touched.opened if path.endswith(".jsonl")], "names and times only"
    assert len([path for path in touched.listed if str(home) in path]) <= 100, "each folder is listed a few times"
