"""Guarded files: those that other programs execute, or that instruct agents.

The user is asked each time before such a file is written. Confined commands cannot change guarded files; guarded files
that a command creates are moved out of the workspace. The list is a minimum, not a protection: any source file may be
run.
"""

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
"""Names from which tools run code."""
_INSTRUCTIONS: Final = frozenset(
    "claude.md claude.local.md agents.md agents.override.md gemini.md conventions.md skill.md".split()
)
_HOOKS: Final = frozenset(
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive "
    "post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate "
    "fsmonitor-watchman".split()
)
"""Names of git's hooks (githooks(5)), guarded in every folder, as ``core.hooksPath`` may name any."""
_ENDS: Final = (".pth", ".code-workspace")
"""Ends of names from which tools run code."""
_GENERATED: Final = frozenset(
    # Python
    ".venv venv __pycache__ site-packages .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .coverage "
    ".testmondata .benchmarks .eggs .ipynb_checkpoints .pytype .pyre .pdm-build .dmypy.json "
    # JavaScript
    "node_modules .next .nuxt .svelte-kit .turbo .parcel-cache .vite .astro .output .angular .docusaurus .swc .nx "
    ".nyc_output .eslintcache .stylelintcache .tsbuildinfo .expo .wrangler .pnpm-store "
    # Others
    "target build dist out _build .gradle .kotlin .dart_tool .stack-work .zig-cache .bloop .metals .terraform "
    ".cxx .ccls-cache .cache .ds_store".split()
)
"""Folders and files that tools generate: commands may write their contents, except repositories."""
_REPOSITORY: Final = ({"head", "objects", "refs"}, {"head", "commondir"})
"""Sets of names by which git recognizes a folder as a repository."""


def guard_reason(path: PurePath) -> str:
    """The reason to ask each time before writing `path` (relative to the workspace, resolved).

    "" for none.
    """
    names = [_normalize_name(part) for part in path.parts]
    dotted = next((name for name in names if _is_dotted(name)), "")
    if dotted:
        return f"{dotted} is read by other programs"
    return _name_reason(names[-1], "".join(names[-2:-1])) if names else ""


def guarded_names(folder: str, folders: Iterable[str], files: Iterable[str], *, generated: bool) -> set[str]:
    """The `folders` and `files` of a folder that a command must not write.

    In a `generated` folder these are only repositories. "." is the folder itself, if it is a repository without a work
    tree.
    """
    plain = {name: _normalize_name(name) for name in (*folders, *files)}
    guarded = {name for name, plain_name in plain.items() if is_repository(plain_name)}
    if any(names <= set(plain.values()) for names in _REPOSITORY):
        guarded.add(".")
    if not generated:
        guarded |= {name for name, plain_name in plain.items() if _is_dotted(plain_name) and not is_generated(name)}
        guarded |= {name for name in files if _name_reason(plain[name], _normalize_name(folder))}
    return guarded


def is_generated(name: str) -> bool:
    """Whether tools and editors create the folder or file `name` by themselves."""
    return (
        _normalize_name(name) in _GENERATED
        or name.startswith((".coverage.", "cmake-build", ".#", ".~lock.", ".nfs"))
        or name.endswith((".swp", ".swo", ".swx"))
    )


def is_repository(name: str) -> bool:
    # ``git~1`` is the short name of ``.git`` on Windows file systems.
    return _normalize_name(name) == ".git" or name.casefold().startswith("git~")


def _is_dotted(name: str) -> bool:
    return name.startswith((".", "git~")) and name != "."


def _name_reason(name: str, folder: str) -> str:
    if name in _INSTRUCTIONS:
        return f"{name} instructs agents"
    if name in _RUN or name.endswith(_ENDS):
        return f"{name} is run by other programs"
    # ``update`` is too common a name to count everywhere.
    if name in _HOOKS and (name != "update" or "hooks" in folder):
        return f"{name} is a hook of git"
    return ""


def _normalize_name(name: str) -> str:
    """A name as case-folding file systems see it, without trailing dots or blanks."""
    if not name.isascii():
        name = "".join(char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return name.casefold().rstrip(". ") or name
