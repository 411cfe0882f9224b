"""What the change at hand touches, checked in under 40 seconds: ruff, mypy, and the tests nearest to it.

    python scripts/quick.py [--since REF] [--seconds 28] [--list]

A change is what differs from REF (default: the last commit), new files too. Of the tests that reach a changed module
through imports those run that stand in its room (``tests/core`` is the room of ``ctxtui/core``) or import it directly;
where there are none, the nearest ones. The nearest run first; it is said how many had no time.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("ctxtui", "tests", "benchmarks", "scripts", "sessions")
NAMED = re.compile(rf"(?:{'|'.join(SOURCES)})(?:\.\w+)+|[\w.-]+\.(?:toml|md|tcss|json|jsonl|sh|dict)\b")
"""What the strings of a source file name: modules to be imported later or in a child process, and data files."""


def main() -> int:
    """Check the change; the exit code is 1 where something does not hold."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--since", default="HEAD", metavar="REF", help="what the change is held against (HEAD)")
    options.add_argument("--seconds", type=float, default=28, help="after these no test begins (28)")
    options.add_argument("--list", action="store_true", help="name the tests, run nothing")
    given = options.parse_args()
    begun = time.time()
    changed = changes(given.since)
    tests = nearest(changed, importers(ROOT)) if changed else []
    print(f"{len(changed)} changed files, {len(tests)} test files", flush=True)
    if given.list:
        print("\n".join(tests))
        return 0
    types = subprocess.Popen([sys.executable, "-m", "mypy"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    good = [_run("ruff", "check", "."), _run("ruff", "format", "--check", ".")]
    good.append(not tests or _tests(tests, begun + given.seconds))
    print(types.communicate()[0].strip())
    return 0 if all(good) and types.returncode == 0 else 1


def changes(since: str) -> list[str]:
    """The files that differ from the commit `since`, new ones too; deleted ones are left out."""
    differ = ["git", "diff", "--name-only", "--diff-filter=d", since]
    new = ["git", "ls-files", "--others", "--exclude-standard"]
    out = (
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for command in (differ, new)
    )
    return sorted({line for text in out for line in text.splitlines()})


def importers(root: Path) -> Mapping[str, set[str]]:
    """For every source file, and every data file that a source names, the files that import or name it."""
    files = {str(path.relative_to(root)) for folder in SOURCES for path in (root / folder).rglob("*.py")}
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in files}
    found: dict[str, set[str]] = defaultdict(set)
    for path in files:
        for name in _names(ast.parse((root / path).read_text(encoding="utf-8"))):
            # The longest beginning that is a module: the rest is a class or a function in it.
            while name and name not in modules and "." in name and name.partition(".")[0] in SOURCES:
                name = name.rpartition(".")[0]
            found[modules.get(name, name)].add(path)
    return found


def _names(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from NAMED.findall(node.value)


def nearest(changed: Iterable[str], importers: Mapping[str, set[str]]) -> list[str]:
    """The test files for the changed files (paths from the root), nearest first; `importers` as the function says."""
    far: dict[str, tuple[bool, int]] = {}
    for path in changed:
        if _is_test(path):
            far[path] = (False, 0)
        reached = {test: (_room(test) != _room(path), steps) for test, steps in _steps(path, importers).items()}
        close = {test: at for test, at in reached.items() if not at[0] or at[1] == 1}
        least = min((steps for _, steps in reached.values()), default=0)
        for test, at in (close or {test: at for test, at in reached.items() if at[1] == least}).items():
            far[test] = min(at, far.get(test, at))
    return sorted(far, key=lambda test: (far[test], test))


def _steps(path: str, importers: Mapping[str, set[str]]) -> dict[str, int]:
    """The test files that reach `path`, with the number of imports between."""
    steps, queue = {path: 0}, deque([path])
    while queue:
        here = queue.popleft()
        for other in importers.get(here, set()) | importers.get(Path(here).name, set()):
            if other not in steps:
                steps[other] = steps[here] + 1
                queue.append(other)
    return {test: count for test, count in steps.items() if _is_test(test) and count}


def _is_test(path: str) -> bool:
    return path.startswith("tests/") and Path(path).name.startswith("test_") and path.endswith(".py")


def _room(path: str) -> str:
    return str(Path(path).parent).partition("/")[2]


def _run(tool: str, *arguments: str) -> bool:
    return subprocess.run([sys.executable, "-m", tool, *arguments], cwd=ROOT).returncode == 0


def _tests(tests: list[str], until: float) -> bool:
    """Run the tests; those that have not begun at `until` (seconds since 1970) are skipped (tests/conftest.py)."""
    env = {**os.environ, "TESTS_UNTIL": str(until)}
    return subprocess.run([sys.executable, "-m", "pytest", "-n", "auto", *tests], cwd=ROOT, env=env).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
