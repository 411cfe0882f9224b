"""Git in a command: a commit reaches the repository, and nothing else of what a hostile command leaves in its copy."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxtui.services.sandbox.repository_copy import copy_repository, find_repository, mentions_git
from tests.services.sandbox.conftest import Sh, git


def state(folder: Path) -> tuple[str, ...]:
    """What git says of the repository."""
    return (git(folder, "for-each-ref"), git(folder, "ls-files", "--stage"), (folder / ".git/HEAD").read_text())


def test_a_commit_is_taken_over(sh: Sh, repository: Path, home: Path) -> None:
    hook = repository / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ntouch /tmp/checked; echo SECRET > ~/.leak\n")
    hook.chmod(0o755)
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n")
    done = sh(
        "mkdir src; echo b > src/b.txt; echo c >> a.txt; git add -A && git commit -q -m second && cat /tmp/checked"
    )
    assert done.code == 0 and done.notes == (), (done.text, done.notes)
    assert (
        git(repository, "log", "--format=%s %an") == "second Ada\nfirst Ada" and git(repository, "status", "-s") == ""
    )
    assert git(repository, "show", "HEAD:src/b.txt") == "b"
    assert git(repository, "fsck", "--strict") == "" and not (home / ".leak").exists()
    assert "second" not in git(repository, "reflog") and "ctxtui" in git(repository, "reflog", "-1")
    done = sh(
        "git mv a.txt d.txt; git checkout -q -b side; git commit -q -am third; git tag -a v1 -m one; git branch -D main"
    )
    assert done.notes == () and git(repository, "branch", "--format=%(refname)") == "refs/heads/side"
    assert git(repository, "cat-file", "-t", "v1") == "tag" and git(repository, "status", "-s") == ""
    done = sh("echo e > e.txt; git add e.txt; rm d.txt; git rm -q --cached src/b.txt")
    assert git(repository, "status", "-s").splitlines() == ["D d.txt", "A  e.txt", "D  src/b.txt", "?? src/"]
    assert sh("git stash -q; git checkout -q --detach HEAD~1").notes == ()
    assert git(repository, "stash", "list") and git(repository, "log", "-1", "--format=%s") == "second"
    assert not list((repository / ".git").glob("*ctxtui*"))


def test_a_first_commit_and_another_work_tree(sh: Sh, root: Path, tmp_path: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.email", "ada@example.org")
    git(root, "config", "user.name", "Ada")
    assert sh("echo a > a; git add a; git commit -q -m one").notes == () and git(root, "log", "--format=%s") == "one"
    tree = tmp_path / "tree"
    git(root, "worktree", "add", "-q", "-b", "other", str(tree))
    done = sh("git log --format=%s; echo b > b; git add b; git commit -q -m two; git status -s", tree)
    assert done.text == "one\n" and done.notes == () and git(tree, "log", "--format=%s") == "two\none"
    assert (tree / ".git").read_text().startswith("gitdir:") and git(root, "log", "--format=%s") == "one"
    # A branch that another work tree has checked out is not moved under it.
    done = sh("git update-ref refs/heads/main HEAD", tree)
    assert "another work tree" in done.notes[0] and git(root, "log", "--format=%s") == "one"
    (tree / ".git").write_text(f"gitdir: {root}/.git/worktrees/../worktrees/tree\n")
    assert find_repository(tree) is not None
    for text in (f"gitdir: {root}/.git", "gitdir: /", "nothing", f"gitdir: {root}"):
        (tree / ".git").write_text(text)
        assert find_repository(tree) is None, "the repository does not name this work tree"


def test_it_reads_the_repository_where_no_copy_is_made(sh: Sh, repository: Path) -> None:
    script = "g=gi; g=${g}t; $g log --format=%s; $g commit --allow-empty -m x"
    done = sh(script)
    assert done.text.startswith("first\n") and "Read-only" in done.text and done.code
    assert all(mentions_git(words.split()) for words in ("git", "/usr/bin/git x", "sh -c git", "a;git"))
    assert not any(mentions_git(words.split()) for words in ("digit", "a.git", "git-lfs x"))


@pytest.mark.parametrize("name", ["a b", "new\nline", "q'uo\"te", "back\\slash", "\udcff", "-x", "#x"])
def test_a_commit_in_a_folder_of_any_name(sh: Sh, root: Path, name: str) -> None:
    folder = root / name
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    git(folder, "config", "user.email", "ada@example.org")
    done = sh("echo a > a; git add a; git commit -q -m two", folder)
    assert (done.text, done.notes) == ("", ()) and git(folder, "log", "--format=%s") == "two\none"


def test_a_repository_with_a_submodule(sh: Sh, repository: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", repository, tmp_path / "part"], check=True)
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "part"), "part")
    git(repository, "commit", "-q", "-m", "part")
    done = sh("echo b > b; git status -s; git add -A && git commit -q -m second; git -C part log --format=%s")
    assert (done.text, done.notes) == ("?? b\nfirst\n", ()) and git(repository, "log", "-1", "--format=%s") == "second"


def test_why_there_is_no_copy_is_told(sh: Sh, repository: Path) -> None:
    (repository / ".git/index").write_bytes(b"none")
    done = sh("git log -1 --format=%s")
    assert (
        done.text == "first\n"
        and "read-only, because it cannot be copied" in done.notes[0]
        and "index" in done.notes[0]
    )


EVIL = "blob=$(echo evil | git hash-object -w --stdin)"


@pytest.mark.parametrize(
    "trick",
    [
        # A tree that holds a folder .git, and commits that hold it.
        f"{EVIL}; t=$(printf \"100644 blob $blob\\tconfig\\n\" | git mktree); "
        "t=$(printf \"040000 tree $t\\t.git\\n\" | git mktree); "
        "git update-ref refs/heads/main $(git commit-tree $t -m x)",
        # References elsewhere, and HEAD to them.
        "git update-ref refs/replace/$(git rev-parse HEAD) $(git commit-tree HEAD^{tree} -m x)",
        "git update-ref refs/ctxtui/x HEAD",
        "echo 'ref: refs/../../config' > .git/HEAD",
        "echo 'ref: refs/heads/../../config' > .git/HEAD",
        "echo 'ref: config' > .git/HEAD",
        "rm .git/HEAD; ln -s /etc/passwd .git/HEAD",
        "echo 1234567890123456789012345678901234567890 > .git/refs/heads/main",
        "git branch \"$(printf 'a\\nb')\"; mkdir '.git/refs/heads/-x'; cp .git/refs/heads/main '.git/refs/heads/-x/y'",
        # Objects that are none, and links.
        "rm -rf .git/objects; ln -s / .git/objects; mkdir -p .git/out; ln -s /etc/passwd .git/out/pack",
        "mkdir .git/objects/ab; echo x | tee .git/objects/x > .git/objects/ab/12345678901234567890123456789012345678",
        "rm -rf .git/out; ln -s / .git/out",
        "mkdir -p .git/objects/info; echo /etc > .git/objects/info/alternates",
        # What git obeys.
        "echo '[core]' > .git/config; echo ../x > .git/commondir; echo x > .git/hooks2; mkdir .git/worktrees; "
        "echo '* filter=x' > .git/info/attributes; echo x > .git/info/grafts",
        "git config alias.ls-files '!touch /tmp/x'; git config core.fsmonitor 'touch ~/PWNED'; git config core.pager x",
    ],
)  # fmt: skip
def test_nothing_else_leaves_a_hostile_copy(sh: Sh, repository: Path, home: Path, trick: str) -> None:
    before = state(repository)
    names = {path.relative_to(repository) for path in (repository / ".git").rglob("*") if "objects" not in path.parts}
    config = (repository / ".git/config").read_bytes()
    done = sh(f"git --version > /dev/null; {trick}")
    assert state(repository) == before, (trick, done)
    after = {path.relative_to(repository) for path in (repository / ".git").rglob("*") if "objects" not in path.parts}
    assert after <= names | {Path(".git/index")} and (repository / ".git/config").read_bytes() == config
    assert not (repository / ".git/objects/info/alternates").exists() and not (home / "PWNED").exists()
    assert git(repository, "fsck", "--strict", "--no-dangling") == "" and git(repository, "status", "-s", "-uno") == ""


INDEX = """
import hashlib, struct
path = b".git/hooks/post-checkout"
entry = struct.pack(">6I", 0, 0, 0, 0, 0, 0) + struct.pack(">4I", 0o100755, 0, 0, 5) + bytes.fromhex(BLOB)
entry += struct.pack(">H", len(path)) + path
data = b"DIRC" + struct.pack(">2I", 2, 1) + entry + bytes(8 - len(entry) % 8)
open(".git/index", "wb").write(data + hashlib.sha1(data).digest())
"""


def test_an_index_with_paths_of_git_s_own_is_not_taken_over(sh: Sh, repository: Path) -> None:
    """Git would write them at the next checkout."""
    (repository / "made.py").write_text(INDEX.replace("BLOB", f"'{git(repository, 'rev-parse', 'HEAD:a.txt')}'"))
    assert ".git/hooks/post-checkout" in sh(f"{sys.executable} made.py; git ls-files").text
    git(repository, "checkout", "-q", "-f", ".") if git(repository, "ls-files") else None
    assert ".git" not in git(repository, "ls-files") and not (repository / ".git/hooks/post-checkout").exists()


def test_what_the_user_did_meanwhile_is_not_lost(sh: Sh, repository: Path) -> None:
    """The user commits while the command runs, which commits, too: theirs stays, and the model is told."""
    script = "echo b > b; git add b; git commit -q -m theirs; touch ready; while [ ! -e go ]; do sleep 0.02; done"

    def user() -> None:
        while not (repository / "ready").exists():
            time.sleep(0.01)
        git(repository, "commit", "-q", "--allow-empty", "-m", "mine")
        (repository / "go").touch()

    thread = threading.Thread(target=user)
    thread.start()
    done = sh(script)
    thread.join()
    assert "refs/heads/main was changed meanwhile" in done.notes[0], done.notes
    assert git(repository, "log", "--format=%s") == "mine\nfirst" and git(repository, "status", "-s", "-uno") == ""


def run_in_copy(repository: Path, tmp_path: Path, command: str, meanwhile: Callable[[], object]) -> str:
    """Run `command` on a copy of `repository` while the user does something, and import; returns why not."""
    scratch, work = tmp_path / "scratch", tmp_path / "work"
    scratch.mkdir()
    copy = copy_repository(repository, scratch, mounted=False)
    assert copy is not None
    work.mkdir()
    (work / "a.txt").write_text("a\n")
    env = {**os.environ, **copy.env, "GIT_WORK_TREE": str(work)}
    subprocess.run(["/bin/sh", "-c", command], cwd=work, env=env, check=True)
    meanwhile()
    subprocess.run(copy.export_command(), cwd=work, env=env, check=True)
    return copy.import_changes()


@pytest.mark.parametrize(
    ("staged", "command", "clash"),
    [
        ("a.txt", "echo theirs > a.txt; git add a.txt; git commit -qm theirs", "a.txt"),
        ("a.txt", "git rm -q --cached a.txt", "a.txt"),
        ("new", "mkdir new; echo b > new/b; git add new/b", "new"),
        ("new/b", "echo b > new; git add new", "new"),
        ("c", "echo mine > b; git add b", ""),
        ("b", "echo mine > b; git add b", ""),
    ],
)
def test_an_entry_that_the_user_staged_meanwhile_is_not_overwritten(
    repository: Path, tmp_path: Path, staged: str, command: str, clash: str
) -> None:
    """Nothing of the command is imported if one of its entries is also the user's."""

    def stage() -> None:
        (repository / staged).parent.mkdir(exist_ok=True)
        (repository / staged).write_text("mine\n")
        git(repository, "add", staged)

    reason = run_in_copy(repository, tmp_path, command, stage)
    assert git(repository, "show", f":{staged}") == "mine" and git(repository, "log", "--format=%s") == "first"
    if clash:
        assert reason == f"not copied into the repository: the index entry of {clash} was changed meanwhile"
    else:
        assert reason == "" and git(repository, "show", ":b") == "mine"


def test_a_head_that_the_user_moved_meanwhile_stays(repository: Path, tmp_path: Path) -> None:
    reason = run_in_copy(
        repository,
        tmp_path,
        "git checkout -q -b theirs; git commit -q --allow-empty -m theirs",
        lambda: git(repository, "checkout", "-q", "-b", "mine"),
    )
    assert "HEAD was changed meanwhile" in reason
    assert git(repository, "branch", "--format=%(HEAD)%(refname:short)") == "main\n*mine"


def test_nothing_is_imported_while_the_user_holds_the_index(repository: Path, tmp_path: Path) -> None:
    """Otherwise the branch would have the command's commit, and the index would take it back."""
    before = state(repository)
    command = "echo theirs > a.txt; git checkout -q -b side; git add a.txt; git commit -qm theirs"
    reason = run_in_copy(repository, tmp_path, command, (repository / ".git/index.lock").touch)
    (repository / ".git/index.lock").unlink()
    assert "index.lock" in reason and state(repository) == before


def test_a_reference_that_cannot_be_moved_is_told_with_what_was_imported(repository: Path, tmp_path: Path) -> None:
    command = "echo theirs > a.txt; git commit -qam theirs"
    reason = run_in_copy(repository, tmp_path, command, (repository / ".git/refs/heads/main.lock").touch)
    assert reason.startswith("only partly copied into the repository: ") and "main.lock" in reason
    assert git(repository, "log", "--format=%s") == "first" and git(repository, "show", ":a.txt") == "theirs"


@pytest.mark.parametrize(("command", "refused"), [("git add a.txt", False), ("git commit -qam theirs", True)])
def test_a_merge_is_left_to_the_user_to_commit(repository: Path, tmp_path: Path, command: str, refused: bool) -> None:
    """The copy's commit would have one parent, or the repository would still say that it merges."""
    git(repository, "checkout", "-q", "-b", "side")
    for branch in ("side", "main"):
        git(repository, "checkout", "-q", branch)
        (repository / "a.txt").write_text(f"{branch}\n")
        git(repository, "commit", "-q", "-am", branch)
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "merge", "-q", "side")
    seen = tmp_path / "seen"
    script = f"git rev-parse MERGE_HEAD > {seen}; echo both > a.txt; {command}"
    reason = run_in_copy(repository, tmp_path, script, lambda: None)
    assert (
        seen.read_text().strip() == git(repository, "rev-parse", "side") and (repository / ".git/MERGE_HEAD").exists()
    )
    assert git(repository, "log", "-1", "--format=%s") == "main"
    if refused:
        assert "MERGE_HEAD" in reason and git(repository, "ls-files", "-u")
    else:
        assert reason == "" and git(repository, "show", ":a.txt") == "both"


def test_a_work_tree_has_its_own_settings(root: Path, repository: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(repository, "worktree", "add", "-q", "-b", "other", str(tree))
    git(repository, "config", "extensions.worktreeConfig", "true")
    git(repository, "config", "--worktree", "user.name", "Main")
    git(tree, "config", "--worktree", "user.name", "Other")
    git(tree, "sparse-checkout", "set", "--no-cone", "/a.txt")
    script = "git config user.name; git sparse-checkout list; git reflog | wc -l"
    seen = tmp_path / "seen"
    assert run_in_copy(tree, tmp_path, f"{{ {script}; }} > {seen}", lambda: None) == ""
    assert len(git(repository, "reflog").splitlines()) == 1
    assert seen.read_text().split() == ["Other", "/a.txt", str(len(git(tree, "reflog").splitlines()))]


def test_nothing_that_the_repository_names_runs_unconfined(repository: Path, tmp_path: Path) -> None:
    watcher = tmp_path / "watcher"
    watcher.write_text(f"#!/bin/sh\ntouch {tmp_path}/PWNED\n")
    watcher.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(watcher))
    assert run_in_copy(repository, tmp_path, "git commit -q --allow-empty -m x", lambda: None) == ""
    assert not (tmp_path / "PWNED").exists()


def test_a_file_among_the_objects_is_ignored(repository: Path, tmp_path: Path) -> None:
    command = 'touch "$GIT_DIR/objects/ab"; git commit -q --allow-empty -m theirs'
    assert run_in_copy(repository, tmp_path, command, lambda: None) == ""
    assert git(repository, "log", "-1", "--format=%s") == "theirs"


@pytest.mark.parametrize("form", ["sha256"])
def test_other_forms_of_a_repository(sh: Sh, root: Path, form: str) -> None:
    subprocess.run(["git", "init", "-q", f"--object-format={form}", root], check=True)
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    git(root, "config", "user.email", "ada@example.org")
    # There is no key to sign with.
    git(root, "config", "commit.gpgSign", "true")
    git(root, "config", "tag.gpgSign", "true")
    assert (
        sh("git config user.name Ada; echo a > a; git add a; git commit -qm two; git rm -q a; git tag -m x v1").notes
        == ()
    )
    assert git(root, "log", "--format=%s") == "two\none" and git(root, "ls-files") == ""
    assert git(root, "cat-file", "-t", "v1") == "tag"
