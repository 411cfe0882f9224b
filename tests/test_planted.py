"""The planted defects, one in each of forty areas, still apply; `python scripts/planted.py` runs their tests."""

from __future__ import annotations

import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest

from tests.pty_app import REPO


@pytest.fixture(scope="module")
def planted() -> ModuleType:
    spec = spec_from_file_location("planted", REPO / "scripts" / "planted.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_is_one_in_each_of_forty_areas_and_it_names_the_tests_that_find_it(planted: ModuleType) -> None:
    defects = planted.planted()
    numbers, areas = zip(*(one.patch.stem.split("-", 1) for one in defects), strict=True)
    assert [int(number) for number in numbers] == list(range(1, 41)) and len(set(areas)) == 40
    absent = {one.patch.name: one.tests for one in defects if not all((REPO / name).is_file() for name in one.tests)}
    assert not absent and all(one.tests for one in defects)


def test_each_applies_to_the_program_as_it_is(planted: ModuleType) -> None:
    refused = []
    for patch, _ in planted.planted():
        try:
            planted.apply(patch, REPO, "--check")
        except subprocess.CalledProcessError:
            refused.append(patch.name)
    assert not refused, "write these anew for the lines as they are now, or plant another defect of that area"
