"""What a release promises: bounded dependencies, constraints without addresses, no machine's paths in the project."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.corpus import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
APART = ("parquet", "cluster", "docs")
INSTALLED = [r for name, requirements in EXTRAS.items() if name not in APART for r in requirements]
"""Requirements of the extras that `make install` installs."""


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {plain(name): version for name, version in pairs}


def test_constraints_are_names_and_versions_only() -> None:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line), line


@pytest.mark.parametrize("requirement", [*PROJECT["dependencies"], *INSTALLED])
def test_every_dependency_is_constrained(requirement: str) -> None:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None
    assert plain(name.group()) in constraints()


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("textual", ">=8.2.5,<9"),
        ("tree-sitter", "<0.26"),
        ("anthropic", "<3"),
        ("openai", "<4"),
        ("genai-prices", "=="),
        ("sqlite-utils", "<5"),
        ("aiohttp", ">=3.13.4"),
        ("brotli", ">=1.2"),
    ],
)
def test_bounds(name: str, bound: str) -> None:
    wanted = [r for r in [*PROJECT["dependencies"], *INSTALLED] if re.match(rf"{name}\b(?!-)", r)]
    assert len(wanted) == 1
    assert bound in wanted[0]


def test_what_scripts_install_is_pinned_and_runs_nothing_while_it_is_installed() -> None:
    text = (ROOT / "scripts/install_mcp_servers.sh").read_text(encoding="utf-8")
    named = [word for line in re.findall(r'_servers="([^"]*)"', text) for word in line.split()]
    assert len(named) == 4 and all(re.search(r"[^@](==|@)\d", word) for word in named), named
    clients = (ROOT / "scripts/clients.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line.split(maxsplit=3)[3] for line in clients if line and not line.startswith("#")]
    assert wanted and all(re.search(r"[^@](==|@)\d", word) for line in wanted for word in line.split()), wanted
    scripts = [path.read_text(encoding="utf-8") for path in (ROOT / "scripts").glob("*.sh")]
    installs = [line for script in scripts for line in script.splitlines() if "npm install -" in line]
    assert installs and all("--ignore-scripts" in line for line in installs), installs


def test_python_versions() -> None:
    assert PROJECT["requires-python"] == ">=3.11"


def test_install_script_names_what_is_missing(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    command = ["sh", "scripts/install.sh"]
    done = subprocess.run(command, cwd=ROOT, env={"PATH": "/usr/bin:/bin", "PYTHON": str(old)}, capture_output=True)
    assert done.returncode != 0
    assert b"is not a Python >= 3.11" in done.stderr
    assert done.stderr.count(b"\n") == 1
