"""`make quick` finds the tests that are nearest to a change."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import copy
from types import ModuleType

import pytest

from tests.pty_app import REPO

HERE = (
    "ctxtui/cli/__init__.py", "ctxtui/cli/run.py", "ctxtui/core/block.py", "ctxtui/tui/start.py",
    "tests/core/test_block.py", "tests/test_readme.py", "tests/tui/test_first_paint.py",
)  # fmt: skip
IMPORTERS = {
    "ctxtui/core/block.py": {"ctxtui/core/tree.py", "tests/core/test_block.py", "tests/store/test_read.py"},
    "ctxtui/core/tree.py": {"ctxtui/store/sessions/read.py", "tests/core/test_tree.py"},
    "ctxtui/store/sessions/read.py": {"ctxtui/store/store.py", "tests/store/test_read.py"},
    "ctxtui/store/store.py": {"ctxtui/tui/app.py"},
    "ctxtui/tui/app.py": {"tests/cli/test_screen.py", "tests/test_walk.py", "tests/cases/app.py"},
    "tests/cases/app.py": {"tests/tui/test_app.py"},
    "models.toml": {"ctxtui/core/tree.py"},
}


@pytest.fixture(scope="module")
def quick() -> ModuleType:
    spec = spec_from_file_location("quick", REPO / "scripts" / "quick.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        # Its own room first, by the number of imports between; then those that import it themselves.
        ("ctxtui/core/block.py", ["tests/core/test_block.py", "tests/core/test_tree.py", "tests/store/test_read.py"]),
        # No test in its room, none imports it: the nearest.
        ("ctxtui/store/store.py", ["tests/cli/test_screen.py", "tests/test_walk.py"]),
        ("tests/cases/app.py", ["tests/tui/test_app.py"]),
        ("ctxtui/data/models.toml", ["tests/core/test_tree.py"]),
        ("tests/core/test_tree.py", ["tests/core/test_tree.py"]),
        ("LICENSE", []),
    ],
)
def test_the_nearest_tests_come_first(quick: ModuleType, changed: str, tests: list[str]) -> None:
    assert quick.nearest([changed], IMPORTERS) == tests


def test_imports_of_the_house_are_seen_also_those_inside_functions_and_in_strings(
    quick: ModuleType, tmp_path: Path
) -> None:
    # A part of the house: all of it takes two seconds, and is read where the command itself is tried (test_readme).
    for path in HERE:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        copy(REPO / path, tmp_path / path)
    found = quick.importers(tmp_path)
    assert "tests/core/test_block.py" in found["ctxtui/core/block.py"]
    assert "ctxtui/cli/__init__.py" in found["ctxtui/cli/run.py"]  # inside a function
    assert "tests/tui/test_first_paint.py" in found["ctxtui/tui/start.py"]  # in a program that the test runs
    assert "tests/test_readme.py" in found["README.md"]
