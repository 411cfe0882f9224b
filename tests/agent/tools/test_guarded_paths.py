"""Which files are asked for each time: those that other programs obey, however their names are spelled."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from ctxtui.agent.tools.guarded_paths import guard_reason


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/post-checkout",
        ".git/config",
        "deep/er/.git/modules/x/config",
        ".GIT/config",
        "GIT~1/config",
        ".g\u200cit/config",
        "\uff0egit/config",
        ".git./config",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        "Jenkinsfile",
        "ci/azure-pipelines.yml",
        ".claude/settings.json",
        ".mcp.json",
        ".vscode/tasks.json",
        ".env",
        ".bashrc",
        ".husky/pre-commit",
        "scripts/pre-commit",
        "githooks/update",
        "ctxtui.toml",
        "sub/CTXTUI.TOML",
        "CLAUDE.md",
        "docs/AGENTS.md",
        "pyproject.toml",
        "tests/conftest.py",
        "package.json",
        "Makefile",
        "lib/evil.pth",
    ],
)
def test_what_other_programs_obey_is_guarded(path: str) -> None:
    assert guard_reason(PurePath(path))


@pytest.mark.parametrize(
    "path",
    ["src/main.py", "README.md", "docs/a.b.md", "src/hooks/useThing.ts", "update", "data.json", "git/x", "a..b/c"],
)
def test_sources_are_not(path: str) -> None:
    assert guard_reason(PurePath(path)) == ""
