"""`python scripts/planted.py`: do the tests find the planted defects of ``tests/planted``?

Each patch there is a small defect and names the test modules that find it (``Found-by:``). In a copy of the checkout,
made beside it so that the corpus is found from there, these modules have to pass first; then each defect is applied by
itself, and a test of its modules has to fail. With ``--all`` the whole suite has to find it (hours).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PLANTED = ROOT / "tests" / "planted"
FOUND_BY = "Found-by: "
APPLY = ("git", "apply", "-C1")
FAILED = 1
"""Exit code of pytest where tests failed; every other one says that they could not be run as meant, or passed."""


class Defect(NamedTuple):
    """A patch and the test modules that find it."""

    patch: Path
    tests: tuple[str, ...]


def main() -> int:
    """Plant the defects, one after the other; the exit code is 1 where one is not found."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", help="beginnings of patch names, such as 07 (all)")
    options.add_argument("--all", action="store_true", help="look for them with the whole suite")
    given = options.parse_args()
    defects = [one for one in planted() if not given.names or one.patch.name.startswith(tuple(given.names))]
    copy = ROOT.parent / f"{ROOT.name}-planted-{os.getpid()}"
    try:
        copy_checkout(copy)
        return look_for(defects, copy, whole=given.all)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def planted() -> list[Defect]:
    """The defects, by number."""
    return [Defect(patch, modules_of(patch)) for patch in sorted(PLANTED.glob("*.patch"))]


def modules_of(patch: Path) -> tuple[str, ...]:
    """The test modules that a patch names."""
    lines = patch.read_text(encoding="utf-8").splitlines()
    return tuple(word for line in lines if line.startswith(FOUND_BY) for word in line.removeprefix(FOUND_BY).split())


def copy_checkout(copy: Path) -> None:
    """Copy every file that is in the repository, or new and not ignored, as it is now."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)


def look_for(defects: list[Defect], copy: Path, *, whole: bool) -> int:
    """Plant each of `defects` in `copy` and run its tests; 1 where one is not found, or where tests fail without it."""
    begun = time.monotonic()
    where = run(copy, "-c", "import ctxtui; print(ctxtui.__file__)").stdout.strip()
    if not Path(where).is_relative_to(copy):
        print(f"the tests of the copy would import {where}")
        return 1
    tests = [] if whole else sorted({module for one in defects for module in one.tests})
    plain = pytest(copy, tests)
    if plain.returncode:
        print(f"{plain.stdout}\nthese tests fail without any defect: nothing was planted")
        return 1
    print(f"{len(tests) or 'all'} modules pass without defects ({time.monotonic() - begun:.0f} s)", flush=True)
    missed = sum(not is_found(one, copy, whole=whole) for one in defects)
    print(f"{len(defects) - missed} of {len(defects)} found ({time.monotonic() - begun:.0f} s)")
    return 1 if missed else 0


def is_found(defect: Defect, copy: Path, *, whole: bool) -> bool:
    """Whether a test fails while `defect` is planted in `copy`; says which."""
    begun = time.monotonic()
    apply(defect.patch, copy)
    ran = pytest(copy, [] if whole else list(defect.tests))
    apply(defect.patch, copy, "--reverse")
    test = next((line for line in ran.stdout.splitlines() if line.startswith("FAILED ")), "").partition(" - ")[0]
    found = ran.returncode == FAILED and bool(test)
    said = test.removeprefix("FAILED ") if found else f"NOT FOUND (pytest ended with {ran.returncode})"
    print(f"{defect.patch.stem:24} {time.monotonic() - begun:3.0f} s  {said}", flush=True)
    return found


def apply(patch: Path, copy: Path, *options: str) -> None:
    """Apply `patch` in `copy`, whatever repository that stands in."""
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(copy.parent)}
    subprocess.run([*APPLY, *options, str(patch)], cwd=copy, env=env, check=True)


def pytest(copy: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `tests` of `copy` (none: all) up to the first that fails."""
    return run(copy, "-m", "pytest", *(["-n0"] if tests else ["-n", "auto"]), "-x", "-q", *tests)


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in `copy`, with its modules in front of the checkout's, also in child processes."""
    env = {**os.environ, "PYTHONPATH": str(copy)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # each run would compile everything
    return subprocess.run([sys.executable, *arguments], cwd=copy, env=env, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
