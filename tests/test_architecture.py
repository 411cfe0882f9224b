"""The documents against the code: the tree of packages, and every module and class that they mention."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.pty_app import REPO

HOUSE = REPO / "ctxtui"
DOCUMENT = (REPO / "docs" / "architecture.md").read_text()
TREE = DOCUMENT.split("## Package layout", 1)[1].split("```")[1]
LINE = re.compile(r"( *)(\w+) +(.+)")
DOCUMENTS = [*sorted((REPO / "docs").glob("*.md")), REPO / "README.md", REPO / "CONTRIBUTING.md"]
MEANT = re.compile(r"`((?:[a-z_]+/)+[a-z_]+)(?:\.(\w+))?`")
DOTTED = re.compile(r"`(ctxtui(?:\.[a-z_]+){2,})(?:\.[A-Z]\w+)?`")
FILES = re.compile(r"`(ctxtui/[\w./]+)`")
NAMED = re.compile(r"`([A-Z]\w*[a-z]\w*)(?:\.(\w+))?`")


def told() -> dict[str, str]:
    """Package by path -> its line in the document's tree, in the document's order."""
    found, above = {}, list[str]()
    for line in TREE.strip().splitlines():
        parts = LINE.fullmatch(line)
        if parts is None:
            assert not line or "the pure core" in line, line
            continue
        above[len(parts[1]) // 2 :] = [parts[2]]
        found["/".join(above)] = parts[3]
    return found


def packages() -> dict[str, str]:
    """Package by path -> the first line of its docstring."""
    found = {}
    for path in HOUSE.rglob("__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found[path.parent.relative_to(HOUSE).as_posix()] = text.partition("\n")[0]
    del found["."]
    return found


def test_the_tree_says_of_each_package_what_its_docstring_says() -> None:
    in_document, in_house = told(), packages()
    lacking = {path: line for path, line in in_house.items() if in_document.get(path) != line}
    assert lacking == {}, "docs/architecture.md lacks these or says other things of them"
    assert set(in_document) - set(in_house) == set(), "in docs/architecture.md, but not in the code"


def test_the_layers_are_in_the_order_of_the_contract() -> None:
    config = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one for one in config if one["id"] == "layers")["layers"]
    floor = {name.strip(" ()"): number for number, layer in enumerate(layers) for name in layer.split("|")}
    numbers = [floor[path] for path in told() if "/" not in path]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_module_class_and_member_that_is_mentioned_is_there(name: str) -> None:
    text = (REPO / name).read_text()
    for path, member in set(MEANT.findall(text)):
        if member and (REPO / f"{path}.{member}").exists():
            continue
        places = [HOUSE / path, HOUSE / f"{path}.py", REPO / path, REPO / f"{path}.py"]
        place = next((place for place in places if place.exists()), None)
        assert place is not None, f"{name}: {path}"
        is_there = not member or re.search(rf"^(def |class |){member}\b", place.read_text(), re.M)
        assert is_there, f"{name}: {path}.{member}"
    source = "".join(path.read_text(encoding="utf-8") for path in HOUSE.rglob("*.py"))
    for word, member in set(NAMED.findall(text)):
        assert re.search(rf"\b{word}\b", source), f"{name}: {word}"
        body = re.search(rf"^class {word}\b.*?(?=^\S|\Z)", source, re.M | re.S) if member else None
        assert not member or (body and re.search(rf"(def |self\.){member}\b", body[0])), f"{name}: {word}.{member}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_and_module_that_is_mentioned_is_there(document: Path) -> None:
    text = document.read_text()
    for path in [*FILES.findall(text), *(name.replace(".", "/") for name in DOTTED.findall(text))]:
        assert (REPO / path).exists() or (REPO / f"{path}.py").exists(), path
