"""Below the water line nothing reaches the outside: seen in a fresh interpreter, and in the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import ctxtui

PACKAGE = Path(ctxtui.__file__).parent
PURE = ["views", "analysis", "curation", "cache", "pricing", "transcripts", "project", "wire", "core", "tokens"]
HEAVY = set(
    "aiohttp anthropic asyncio click genai_prices httpx2 mcp openai platformdirs pydantic requests rich select "
    "socket sqlite3 sqlite_utils ssl subprocess textual tiktoken gigatoken numpy".split()
)
CLOCK_AND_FILES = set("now utcnow today read_text read_bytes write_text write_bytes getenv urandom".split())

IMPORT_ALL = """
import importlib, pkgutil, sys
room = importlib.import_module("ctxtui." + sys.argv[1])
for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
    importlib.import_module(module.name)
print("\\n".join(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def modules_after_import(room: str) -> set[str]:
    command = [sys.executable, "-c", IMPORT_ALL, room]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    return set(done.stdout.split())


@pytest.mark.parametrize("room", PURE)
def test_pure_room_loads_nothing_heavy(room: str) -> None:
    assert modules_after_import(room) & HEAVY == set()


@cache
def nodes() -> list[tuple[str, ast.Call | ast.ClassDef]]:
    """The calls and classes of the package, each with the path of its module: all of it is read once."""
    return [
        (path.relative_to(PACKAGE).as_posix(), node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call | ast.ClassDef)
    ]


def test_pure_rooms_call_no_clock_and_no_files() -> None:
    found = []
    for where, node in nodes():
        if where.partition("/")[0] in PURE and isinstance(node, ast.Call):
            name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
            plain = isinstance(node.func, ast.Name) and name in {"open", "print", "input"}
            if plain or name in CLOCK_AND_FILES:
                found.append(f"{where}:{node.lineno} {name}()")
    assert found == []


def test_the_check_can_fail() -> None:
    assert {"asyncio", "textual"} & modules_after_import("tui") or not list((PACKAGE / "tui").glob("[!_]*.py"))
    assert "click" in modules_after_import("cli")


# Records

IN_ORDER = {
    "core/tree.py Node",  # a node for every block of every context
    "cache/engines/anthropic.py CacheOutcome",  # for every request of every what-if
    "cache/engines/breakpoints.py CacheOutcome",
}
"""Calls with more than eight arguments in order that stay so, since they are made by the hundred thousand."""
TUPLES = {
    # Made by the hundred thousand: by block, by record of a file, by step of the simulator.
    "CacheOutcome", "CachedPrompt", "Features", "FoundObject", "Member", "Node", "PrefixEnd",
    # Made by the thousand in the time that a file's status takes.
    "FoundRecording",
    # Taken apart where they are made or stored.
    "CallSpent", "CallSums", "Decoded", "NextRequest", "Why", "_Case",
}  # fmt: skip
"""Records of more than six members that may be made in order."""
POSITIONAL, MEMBERS, LEADING = 8, 6, 5


def test_no_call_has_more_arguments_in_order_than_one_can_tell_apart() -> None:
    found = {
        f"{where} {ast.unparse(node.func)}"
        for where, node in nodes()
        if isinstance(node, ast.Call) and len(node.args) > POSITIONAL
    }
    assert found == IN_ORDER


def test_a_record_of_many_members_is_made_by_their_names() -> None:
    found = {}
    for where, node in nodes():
        if isinstance(node, ast.ClassDef):
            kinds = [ast.unparse(one) for one in (*node.bases, *node.decorator_list)]
            members = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            names = [ast.unparse(one.target) for one in members if "ClassVar" not in ast.unparse(one.annotation)]
            record = "NamedTuple" in kinds or any(kind.startswith("dataclass") for kind in kinds)
            leading = 0 if any("kw_only=True" in kind for kind in kinds) else names.index("_") if "_" in names else 99
            if record and len(names) - ("_" in names) > MEMBERS and leading > LEADING:
                found[node.name] = where
    assert found.keys() == TUPLES, found
