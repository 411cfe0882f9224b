"""What other programs obey is not written by a command: it is read-only where it is, and put aside where it was not."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from ctxtui.services.sandbox import confined as module
from tests.services.sandbox.conftest import Sh, git

OBEYED = (
    ".claude/settings.json", ".mcp.json", "CLAUDE.md", "Makefile", "ctxtui.toml", ".envrc", ".vscode/tasks.json",
    ".github/workflows/ci.yml", "package.json", "conftest.py", "pyproject.toml", "hooks/pre-commit", "sub/CLAUDE.md",
    "sub/deep/.claude/settings.json", "lib/evil.pth", ".GIT/config", "claude.MD", ".git/hooks/pre-commit", "sub/.git",
    "bare/HEAD bare/config bare/objects/x bare/refs/x", "linked/HEAD linked/commondir", "node_modules/x/.git/config",
    ".venv/.git/config", "build/HEAD build/objects/x build/refs/x",
)  # fmt: skip
FREE = ("src/main.py", ".pytest_cache/v/x", "node_modules/x/package.json", "target/debug/.fingerprint/x", ".venv/bin/x",
        ".coverage", "docs/HEAD", ".main.py.swp", "build/Makefile", "update")  # fmt: skip


def made(names: str, text: str = "evil") -> str:
    """A script that makes these files."""
    return "".join(f"mkdir -p '{os.path.dirname(name) or '.'}'; echo {text} > '{name}';" for name in names.split())


def test_what_is_absent_is_put_aside_and_told(sh: Sh, root: Path) -> None:
    (root / "bare").mkdir()
    (root / "bare" / "notes.txt").write_text("mine\n")
    for groups in (OBEYED[:1], OBEYED):
        done = sh(made(" ".join(groups)))
        assert len(done.notes) == 1 and "controls other programs" in done.notes[0]
        aside = Path(done.notes[0].rpartition(" ")[2])
        # Of what is a repository by what is in it the first, HEAD.
        for name in (names.split()[0] for names in groups):
            assert not os.path.lexists(root / name) and (aside / name).read_text() == "evil\n", name
        assert aside.stat().st_mode & 0o77 == 0 and (root / "bare" / "notes.txt").exists()


def test_what_tools_write_is_free(sh: Sh, root: Path) -> None:
    done = sh(made(" ".join(FREE), "fine"))
    assert done.notes == () and all((root / name).read_text() == "fine\n" for name in FREE)


def test_what_is_there_is_read_only_and_stays_where_it_is(sh: Sh, root: Path) -> None:
    there = [name for name in OBEYED[:15] if name not in ("claude.MD", ".GIT/config")]
    for name in there:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine\n")
    (root / "AGENTS.md").symlink_to("notes.md")
    for name in there:
        top = name.split("/")[0]
        folder = os.path.dirname(name) or "."
        tricks = (
            f"echo evil > '{name}'", f"rm -rf '{name}'", f"mv '{name}' x", f"mv '{top}' y", f"rm -rf '{top}'",
            f"ln -sfn /etc '{top}'", f"mkdir -p '{folder}'", f"echo evil > '{name}'",
            f"echo evil > new; mv new '{name}'",
        )  # fmt: skip
        sh("; ".join(tricks))
        assert (root / name).read_text() == "mine\n", name
    done = sh("ln -sf evil.md AGENTS.md; echo evil > evil.md")
    assert os.readlink(root / "AGENTS.md") == "notes.md" and "AGENTS.md" in done.notes[0]
    done = sh("rm AGENTS.md; echo evil > AGENTS.md")
    assert os.readlink(root / "AGENTS.md") == "notes.md" and "AGENTS.md" in done.notes[0]
    assert sh("true").notes == ()


def test_what_another_program_changes_meanwhile_stays(kind: str, root: Path) -> None:
    (root / "Makefile").write_text("old\n")

    async def main() -> tuple[str, ...]:
        script = "touch ready; while [ ! -e go ]; do sleep 0.02; done"
        running = asyncio.create_task(module.run_confined(["/bin/sh", "-c", script], root, seconds=60))
        while not (root / "ready").exists():
            await asyncio.sleep(0.01)
        # As an editor writes.
        (root / "beside").write_text("mine\n")
        os.replace(root / "beside", root / "Makefile")
        (root / "go").touch()
        return (await running).notes

    assert asyncio.run(main()) == () and (root / "Makefile").read_text() == "mine\n"


def test_commands_side_by_side_do_not_trust_each_other(kind: str, root: Path, home: Path) -> None:
    async def main() -> None:
        first = "mkdir n n/.ssh; touch ready; while [ ! -e go ]; do sleep 0.02; done"
        running = asyncio.create_task(module.run_confined(["/bin/sh", "-c", first], root, seconds=60))
        while not (root / "ready").exists():
            await asyncio.sleep(0.01)
        second = await module.run_confined(["/bin/sh", "-c", "touch n/.ssh/x; cat n/.ssh/id_rsa"], root, seconds=60)
        assert "n/.ssh" in second.notes[0] and "SECRETVALUE" not in second.text
        (root / "go").touch()
        await running

    asyncio.run(main())
    assert module._GUARDED_BY_FOLDER == {}


def test_it_is_put_aside_also_when_the_command_is_cancelled(kind: str, root: Path) -> None:
    async def main() -> None:
        script = "echo evil > CLAUDE.md; touch ready; sleep 60"
        running = asyncio.create_task(module.run_confined(["/bin/sh", "-c", script], root, seconds=60))
        while not (root / "ready").exists():
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    assert not (root / "CLAUDE.md").exists() and module._GUARDED_BY_FOLDER == {}


def outside_runs_nothing(*folders: Path) -> bool:
    """Whether git, run by the user in these folders, starts none of what a command left."""
    for folder in folders:
        for words in (["status", "-s"], ["diff"], ["checkout", "-q", "-b", "z"], ["log", "-1"]):
            subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)
    return not list(folders[0].parent.rglob("PWNED"))


MONITOR = "[core]\\nrepositoryformatversion=0\\nbare=false\\nfsmonitor=touch %s;false\\n"


@pytest.mark.parametrize("word", ["", "git --version; "])
def test_no_repository_is_changed_or_exchanged(sh: Sh, repository: Path, word: str) -> None:
    """Read-only, and, where the command names git, a copy of which this is not taken over."""
    evil = MONITOR % (repository.parent / "PWNED")
    nested = repository / "deep" / "er"
    subprocess.run(["git", "init", "-q", nested], check=True)
    git(nested, "commit", "-q", "--allow-empty", "-m", "x")
    hook = f"#!/bin/sh\\ntouch {repository.parent}/PWNED\\n"
    tricks = (
        f"mkdir ev; cp -r .git/. ev/; printf '{evil}' > ev/config; echo ../ev > .git/commondir",
        f"mv .git .gitold; cp -r .gitold .git; printf '{evil}' > .git/config",
        f"rm -rf .git; git init -q; printf '{evil}' > .git/config",
        f"printf '{evil}' >> .git/config; printf '{hook}' > .git/hooks/post-checkout; chmod +x .git/hooks/*",
        "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes; mkdir -p .git/worktrees/x",
        f"mv deep shallow; mkdir deep; cp -r shallow/er deep/er; printf '{evil}' > deep/er/.git/config",
        f"mv deep/er deep/old; cp -r deep/old deep/er; printf '{evil}' > deep/er/.git/config",
        f"mkdir w; cd w; git init -q; printf '{evil}' > .git/config",
        f"mkdir w; cd w; git init -q --bare; printf '{evil}' > config",
        f"rm .git; ln -s ev .git; echo 'gitdir: ../ev' > deep/er/.git; printf '{evil}' > deep/er/.git/config",
    )
    for trick in tricks:
        sh(word + trick)
        for place in (repository, nested):
            assert (place / ".git").is_dir() and not (place / ".git").is_symlink(), trick
            assert not (place / ".git" / "commondir").exists() and not (place / ".git/info/attributes").exists(), trick
        assert outside_runs_nothing(repository, nested, *(p for p in repository.iterdir() if p.is_dir())), trick


def test_a_repository_elsewhere_in_the_folder_is_kept_too(sh: Sh, root: Path) -> None:
    """A file or a symlink `.git` leads there: a submodule, a work tree, a separate folder."""
    subprocess.run(["git", "init", "-q", "--separate-git-dir", root / "data", root / "sub"], check=True)
    git(root / "sub", "commit", "-q", "--allow-empty", "-m", "x")
    git(root / "sub", "worktree", "add", "-q", str(root / "tree"))
    (root / "linked").mkdir()
    (root / "linked" / ".git").symlink_to("../data")
    evil = MONITOR % (root.parent / "PWNED")
    for trick in (
        f"printf '{evil}' > data/config", f"mv data d2; cp -r d2 data; printf '{evil}' > data/config",
        f"mkdir ev; cp -r data/. ev; printf '{evil}' > ev/config; echo 'gitdir: ../ev' > sub/.git; "
        "echo 'gitdir: ../ev' > tree/.git; ln -sfn ../ev linked/.git; echo ../../../ev > data/worktrees/tree/commondir",
    ):  # fmt: skip
        sh(trick)
        assert outside_runs_nothing(root, root / "sub", root / "tree", root / "linked"), trick
        assert os.readlink(root / "linked" / ".git") == "../data"
