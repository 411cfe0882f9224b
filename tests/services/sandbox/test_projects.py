"""A usual project is tested, built and committed in a confined command, with tools of the system or the home folder."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ctxtui.services.sandbox import confined as module
from ctxtui.services.sandbox.command import CommandResult
from tests.services.sandbox.conftest import git


def run(root: Path, *argv: str) -> CommandResult:
    done = asyncio.run(module.run_confined(argv, root, seconds=300))
    assert done.code == 0 and done.notes == (), done.text
    return done


def needs(tool: str) -> str:
    place = shutil.which(tool)
    if place is None or subprocess.run([tool, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"{tool} is not here")
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


PYTHON = {
    "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
    "conftest.py": "",
    ".gitignore": "__pycache__\n.pytest_cache\n",
    "tests/test_it.py": "import subprocess\n\n\ndef test_it(tmp_path):\n    (tmp_path / 'x').write_text('1')\n"
    "    subprocess.run(['git', 'init', '-q', tmp_path / 'repo'], check=True)\n",
}


def fill(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_pytest_of_this_interpreter(kind: str, project: Path) -> None:
    needs("git")
    fill(project, PYTHON)
    # Its plug-ins may be installed from folders elsewhere, which are not seen.
    alone = ("env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1")
    assert "1 passed" in run(project, *alone, sys.executable, "-m", "pytest").text
    assert (project / ".pytest_cache").is_dir(), "a cache is kept"


def test_python_of_pyenv_and_a_virtual_environment_of_it(kind: str, project: Path) -> None:
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    shims = versions.parent / "shims"
    if not shims.is_dir() or str(shims) not in os.environ["PATH"].split(os.pathsep):
        pytest.skip("pyenv is not here")
    needs("python3")
    fill(project, {"a.py": "import json, ssl, sqlite3\nprint(json.dumps(1))\n"})
    assert run(project, "python3", "a.py").text == "1\n"
    assert str(versions.parent) in run(project, "pyenv", "root").text
    subprocess.run(["python3", "-m", "venv", "--without-pip", project / "env-1"], check=True)
    (project / "env-1/bin/tool").write_text(f"#!{project}/env-1/bin/python\nimport a\n")
    (project / "env-1/bin/tool").chmod(0o755)
    assert run(project, "/bin/sh", "-c", "PYTHONPATH=. env-1/bin/tool").text == "1\n"


def test_npm_test(kind: str, project: Path) -> None:
    needs("node"), needs("npm")
    fill(
        project,
        {
            "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "node --test"}}',
            "x.test.js": "require('node:test')('it', () => { require('fs').writeFileSync('made', '1') })\n",
            "node_modules/dep/package.json": '{"name": "dep"}',
        },
    )
    assert "pass 1" in run(project, "npm", "test").text and (project / "made").exists()


def test_cargo_build(kind: str, project: Path) -> None:
    needs("cargo")
    fill(
        project,
        {
            "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/main.rs": 'fn main() { println!("made"); }\n',
        },
    )
    run(project, "cargo", "build")
    assert subprocess.run([project / "target/debug/x"], capture_output=True, check=True).stdout == b"made\n"
    # The next one finds what this one made.
    assert "Compiling" not in run(project, "cargo", "build").text


def test_a_commit_of_a_project_with_tests(kind: str, project: Path) -> None:
    needs("git")
    fill(project, PYTHON)
    git(project, "init", "-q")
    git(project, "config", "user.name", "Ada")
    git(project, "config", "user.email", "ada@example.org")
    run(project, "git", "add", "-A")
    run(project, "git", "commit", "-q", "-m", "a change")
    assert git(project, "log", "--format=%s") == "a change" and git(project, "status", "-s") == ""
