"""ctxtui's own modules are found as Python finds them, by fewer questions to the system; what is not sure is left."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

from ctxtui.cli import own_modules
from ctxtui.cli.own_modules import _OwnFinder, find_own

pytestmark = pytest.mark.slow

ROOT = Path(own_modules.__file__).parents[1]


def every_module() -> Iterator[tuple[str, str]]:
    """The name of each module of ours but the outermost, and the folder in which it is looked for."""
    for file in sorted(ROOT.rglob("*.py")):
        place = file.parent if file.name == "__init__.py" else file.with_suffix("")
        if place != ROOT:
            yield ".".join(place.relative_to(ROOT.parent).parts), str(place.parent)


def told(spec: ModuleSpec | None) -> object:
    """All that a spec says."""
    if spec is None:
        return None
    loader = spec.loader
    return {**vars(spec), "loader": (type(loader), vars(loader)), "_cached": spec.cached, "package": spec.parent}


def differing() -> list[str]:
    """The modules of ours that are found otherwise than by Python, or not at all."""
    finder = _OwnFinder()
    return [
        name
        for name, folder in every_module()
        if (found := finder.find_spec(name, [folder])) is None
        or told(found) != told(PathFinder.find_spec(name, [folder]))
    ]


def test_every_module_is_found_as_python_finds_it() -> None:
    assert len(list(every_module())) > 1000
    assert differing() == []


@pytest.mark.parametrize("flags", [["-O"], ["-OO"], ["-X", "pycache_prefix=/somewhere/else"]])
def test_they_are_where_python_keeps_what_it_compiled(flags: list[str]) -> None:
    code = "from tests.cli.test_own_modules import differing; print(differing())"
    done = subprocess.run([sys.executable, *flags, "-B", "-c", code], capture_output=True, text=True, cwd=ROOT.parent)
    assert done.stdout == "[]\n", done.stderr


def test_without_a_place_for_what_is_compiled_it_is_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.implementation, "cache_tag", None)
    assert _OwnFinder().find_spec("ctxtui.core", [str(ROOT)]) is None


def put(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("here = __name__\n")
    return folder


def test_what_is_not_sure_is_left_to_python(tmp_path: Path) -> None:
    plain = put(
        tmp_path / "plain", "one.py", "both.py", "both/__init__.py", "bare.py", "bare/x.txt", "space/x.py", "y.pyc"
    )
    (plain / "folder.py").mkdir()
    (plain / "other.py").symlink_to(plain / "one.py")
    (plain / "gone.py").symlink_to(plain / "nowhere.py")
    in_c = put(
        tmp_path / "in_c",
        "one.py",
        f"one{EXTENSION_SUFFIXES[0]}",
        f"sub/__init__{EXTENSION_SUFFIXES[-1]}",
        "sub/__init__.py",
    )
    finder = _OwnFinder()
    names = ["one", "both", "bare", "space", "y", "folder", "other", "gone", "none", "sub"]
    sure = set()
    for folder in plain, in_c, tmp_path / "none":
        for name in names:
            found = finder.find_spec(f"ctxtui.{name}", [str(folder)])
            if found is not None:
                sure.add((folder.name, name))
                assert told(found) == told(PathFinder.find_spec(f"ctxtui.{name}", [str(folder)]))
    assert sure == {("plain", "one"), ("plain", "both"), ("plain", "other")}


def test_other_packages_and_other_paths_are_left_to_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "pack/__init__.py", "pack/one.py")
    with ZipFile(tmp_path / "pack.zip", "w") as packed:
        packed.write(tmp_path / "pack" / "one.py", "pack/one.py")
    finder, here = _OwnFinder(), str(tmp_path / "pack")
    assert finder.find_spec("ctxtui.one", [here]) is not None
    assert finder.find_spec("pack.one", [here]) is None and finder.find_spec("ctxtui", None) is None
    assert finder.find_spec("ctxtui.one", [here, str(tmp_path)]) is None, "a package in two places"
    assert finder.find_spec("ctxtui.one", (here,)) is None, "a path of another kind, as that of a namespace is"
    assert finder.find_spec("ctxtui.one", [str(tmp_path / "pack.zip" / "pack")]) is None
    monkeypatch.chdir(tmp_path)
    assert finder.find_spec("ctxtui.one", ["pack"]) is None and finder.find_spec("ctxtui.one", [f"{here}/"]) is None


def test_a_file_that_comes_later_is_found_by_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("ctxtui.for_a_test")
    package.__path__ = [str(put(tmp_path, "early.py"))]
    monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    find_own()
    find_own()
    assert sum(isinstance(one, _OwnFinder) for one in sys.meta_path) == 1
    try:
        assert import_module("ctxtui.for_a_test.early").here == "ctxtui.for_a_test.early"
        put(tmp_path, "later.py", "sub/__init__.py", "sub/deep.py")
        for name in "later", "sub", "sub.deep":
            assert import_module(f"ctxtui.for_a_test.{name}").here == f"ctxtui.for_a_test.{name}"
        with pytest.raises(ModuleNotFoundError, match="never"):
            import_module("ctxtui.for_a_test.never")
    finally:
        for name in [name for name in sys.modules if name.startswith("ctxtui.for_a_test.")]:
            del sys.modules[name]


def test_it_looks_again_when_python_is_told_to(tmp_path: Path) -> None:
    finder, folder = _OwnFinder(), put(tmp_path, "one.py")
    assert finder.find_spec("ctxtui.one", [str(folder)]) is not None
    put(tmp_path, "two.py")
    assert finder.find_spec("ctxtui.two", [str(folder)]) is None
    finder.invalidate_caches()
    assert finder.find_spec("ctxtui.two", [str(folder)]) is not None
