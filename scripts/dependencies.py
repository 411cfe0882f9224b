"""Run the tests with other versions of the dependencies than constraints.txt names: `oldest` or `newest`.

`oldest` takes the lower bound of every dependency in pyproject.toml, `newest` whatever the bounds allow; what these
need in turn is the newest. ``newest --write`` makes constraints.txt of them if all tests pass (`make constraints`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
HEAD = "# Names and exact versions; made by `make constraints`. The bounds stand in pyproject.toml."
EXTRAS = ("mcp", "code", "forward", "keyring")
"""The extras that `make install` installs, besides the tools of the developers."""
INSTALLERS = ("pip", "setuptools", "wheel")


def lower_bounds(project: dict[str, object]) -> Iterator[str]:
    """``name==version`` for the lower bound of each dependency of the program. Raises `SystemExit` if one has none."""
    dependencies, extras = project["dependencies"], project["optional-dependencies"]
    assert isinstance(dependencies, list) and isinstance(extras, dict)
    for text in [*dependencies, *(text for name in EXTRAS for text in extras[name])]:
        requirement = Requirement(text)
        versions = [bound.version for bound in requirement.specifier if bound.operator in (">=", "==")]
        if len(versions) != 1:
            raise SystemExit(f"{text} has no lower bound")
        yield f"{requirement.name}=={versions[0]}"


def install(folder: Path, constraints: str) -> Path:
    """The interpreter of a new environment in `folder` with the checkout, its extras and the developers' tools."""
    (folder / "constraints.txt").write_text(constraints, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    command = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "-c",
        folder / "constraints.txt",
        "-e",
        f".[dev,{','.join(EXTRAS)}]",
    ]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    return python


def installed(python: Path, distribution: str) -> str:
    """What is installed, as constraints."""
    excluded = [word for name in (distribution, *INSTALLERS) for word in ("--exclude", name)]
    command = [python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check", *excluded]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return "\n".join([HEAD, *sorted(lines, key=str.lower)]) + "\n"


def main() -> int:
    """Install, run the tests and return their exit code; arguments after ``--`` are pytest's."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("versions", choices=["oldest", "newest"])
    parser.add_argument("--write", action="store_true", help="with newest: write constraints.txt if the tests pass")
    parser.add_argument("tests", nargs="*", default=["tests"], help="arguments for pytest (default: all tests)")
    arguments = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    constraints = "\n".join(lower_bounds(project)) + "\n" if arguments.versions == "oldest" else ""
    with tempfile.TemporaryDirectory(prefix="ctxtui-dependencies-") as folder:
        python = install(Path(folder), constraints)
        code = subprocess.run([python, "-m", "pytest", "-n", "auto", *arguments.tests], cwd=ROOT).returncode
        if arguments.write and arguments.versions == "newest" and code == 0:
            CONSTRAINTS.write_text(installed(python, project["name"]), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
