"""Files that other programs obey: writing one is asked for each time, whatever the user allowed for the session, and
commands cannot write them.

Three kinds: names that begin with a dot (``.git``, ``.github``, ``.claude``, ``.env``, ``.mcp.json``: what tools,
shells and continuous integration read unasked), names that build, test, package and continuous integration tools run
code from, and what agents take as their instructions. The list is a floor, not a fence: any source file may be run."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import PurePath
from typing import Final

_RUN: Final = frozenset(
    # Continuous integration
    "jenkinsfile azure-pipelines.yml azure-pipelines.yaml bitbucket-pipelines.yml appveyor.yml buildspec.yml "
    "cloudbuild.yaml codemagic.yaml wercker.yml "
    # Builds, tests, tasks, containers
    "makefile gnumakefile justfile taskfile.yml taskfile.yaml rakefile gemfile procfile dockerfile containerfile "
    "docker-compose.yml docker-compose.yaml compose.yml compose.yaml vagrantfile tiltfile build.rs cargo.toml "
    "cmakelists.txt build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradlew mvnw pom.xml "
    "lefthook.yml lefthook.yaml "
    # Python
    "pyproject.toml setup.py setup.cfg tox.ini noxfile.py conftest.py pytest.ini sitecustomize.py usercustomize.py "
    # JavaScript
    "package.json package-lock.json bunfig.toml deno.json gruntfile.js gulpfile.js "
    # ctxtui
    "ctxtui.toml".split()
)
_INSTRUCTIONS: Final = frozenset(
    "claude.md claude.local.md agents.md agents.override.md gemini.md conventions.md skill.md".split()
)
_HOOKS: Final = frozenset(
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive "
    "post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate "
    "fsmonitor-watchman".split()
)
"""Names of git's hooks (githooks(5)): ``core.hooksPath`` may name any folder. ``update`` alone says too little."""
_ENDS: Final = (".pth", ".code-workspace")


_GENERATED: Final = frozenset(
    # Python
    ".venv venv __pycache__ site-packages .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .coverage "
    ".testmondata .benchmarks .eggs .ipynb_checkpoints .pytype .pyre .pdm-build .dmypy.json "
    # JavaScript
    "node_modules .next .nuxt .svelte-kit .turbo .parcel-cache .vite .astro .output .angular .docusaurus .swc .nx "
    ".nyc_output .eslintcache .stylelintcache .tsbuildinfo .expo .wrangler .pnpm-store "
    # Others
    "target build dist out _build .gradle .kotlin .dart_tool .build .stack-work .zig-cache .bloop .metals .terraform "
    ".cxx .ccls-cache .cache .ds_store".split()
)
"""Folders and files that tools fill by themselves: what is below is theirs, but for a repository."""
_REPOSITORY: Final = ({"head", "objects", "refs"}, {"head", "commondir"})
"""Names by which git takes a folder for a repository."""


def guard(path: PurePath) -> str:
    """Why a file at `path` (relative to the workspace, symlinks followed) is asked for each time; "" where it is
    not."""
    names = [_plain(part) for part in path.parts]
    dotted = next((name for name in names if _is_dotted(name)), "")
    if dotted:
        return f"{dotted} is read by other programs"
    return _guard_name(names[-1], "".join(names[-2:-1])) if names else ""


def guarded_names(folder: str, folders: Iterable[str], files: Iterable[str], *, generated: bool) -> set[str]:
    """The `folders` and `files` of a folder of this name that a command must not write; where tools fill it
    (`generated`) those are repositories alone. "." is the folder itself: a repository without a work tree."""
    plain = {name: _plain(name) for name in (*folders, *files)}
    found = {name for name, seen in plain.items() if is_repository(seen)}
    if any(names <= set(plain.values()) for names in _REPOSITORY):
        found.add(".")
    if not generated:
        found |= {name for name, seen in plain.items() if _is_dotted(seen) and not is_generated(name)}
        found |= {name for name in files if _guard_name(plain[name], _plain(folder))}
    return found


def is_generated(name: str) -> bool:
    """Whether tools and editors write the folder or file `name` by themselves."""
    return (
        _plain(name) in _GENERATED
        or name.startswith((".coverage.", "cmake-build", ".#", ".~lock.", ".nfs"))
        or name.endswith((".swp", ".swo", ".swx"))
    )


def is_repository(name: str) -> bool:
    """Whether `name` is what git looks for its repository under."""
    return _plain(name) == ".git" or name.casefold().startswith("git~")


def _is_dotted(name: str) -> bool:
    return name.startswith((".", "git~")) and name != "."


def _guard_name(name: str, folder: str) -> str:
    if name in _INSTRUCTIONS:
        return f"{name} instructs agents"
    if name in _RUN or name.endswith(_ENDS):
        return f"{name} is run by other programs"
    if name in _HOOKS and (name != "update" or "hooks" in folder):
        return f"{name} is a hook of git"
    return ""


def _plain(name: str) -> str:
    """A name as file systems that fold it understand it: case, full-width letters, and what nobody sees are no
    difference; nor is a dot or a blank at its end."""
    if not name.isascii():
        name = "".join(char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return name.casefold().rstrip(". ") or name
