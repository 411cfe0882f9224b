"""Files that other programs obey: writing one is asked for each time, whatever the user allowed for the session.

Three kinds: names that begin with a dot (``.git``, ``.github``, ``.claude``, ``.env``, ``.mcp.json``: what tools,
shells and continuous integration read unasked), names that build, test, package and continuous integration tools run
code from, and what agents take as their instructions. The list is a floor, not a fence: any source file may be run."""

from __future__ import annotations

import unicodedata
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


def guard(path: PurePath) -> str:
    """Why a file at `path` (relative to the workspace, symlinks followed) is asked for each time; "" where it is
    not."""
    names = [_plain(part) for part in path.parts]
    dotted = next((name for name in names if name.startswith((".", "git~")) and name != "."), "")
    if dotted:
        return f"{dotted} is read by other programs"
    last = names[-1] if names else ""
    if last in _INSTRUCTIONS:
        return f"{last} instructs agents"
    if last in _RUN or last.endswith(_ENDS):
        return f"{last} is run by other programs"
    if last in _HOOKS and (last != "update" or "hooks" in "".join(names[-2:-1])):
        return f"{last} is a hook of git"
    return ""


def _plain(name: str) -> str:
    """A name as file systems that fold it understand it: case, full-width letters, and what nobody sees are no
    difference; nor is a dot or a blank at its end."""
    seen = "".join(char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return seen.casefold().rstrip(". ") or seen
