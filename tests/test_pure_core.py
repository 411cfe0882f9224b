"""The pure core reaches nothing outside: seen in a fresh interpreter, and in the source."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import ctxtui

PACKAGE = Path(ctxtui.__file__).parent
PURE = ["views", "analysis", "curation", "cache", "pricing", "transcripts", "project", "wire", "core", "tokens"]
HEAVY = set(
    "aiohttp anthropic asyncio click genai_prices httpx2 mcp openai platformdirs pydantic requests rich select "
    "socket sqlite3 sqlite_utils ssl subprocess textual tiktoken".split()
)
CLOCK_AND_FILES = set("now utcnow today read_text read_bytes write_text write_bytes getenv urandom".split())

IMPORT_ALL = """
import importlib, pkgutil, sys
for package in sys.argv[1:]:
    found = importlib.import_module("ctxtui." + package)
    for module in pkgutil.walk_packages(found.__path__, found.__name__ + "."):
        importlib.import_module(module.name)
print("\\n".join(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def modules_after_import(*packages: str) -> set[str]:
    command = [sys.executable, "-c", IMPORT_ALL, *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    return set(done.stdout.split())


def test_the_pure_core_loads_nothing_heavy() -> None:
    # All in one interpreter: what none of them brings, each by itself does not bring either.
    assert modules_after_import(*PURE) & HEAVY == set()


def calls_of(path: Path, pattern: re.Pattern[str]) -> Iterator[ast.Call]:
    """The calls in a module whose text matches `pattern`; the others are not parsed, which takes five seconds."""
    text = path.read_text(encoding="utf-8")
    if pattern.search(text):
        yield from (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))


def test_pure_packages_call_no_clock_and_no_files() -> None:
    names = re.compile(rf"\b(open|print|input|{'|'.join(CLOCK_AND_FILES)})\(")
    found = []
    for path in (path for package in PURE for path in sorted((PACKAGE / package).rglob("*.py"))):
        for call in calls_of(path, names):
            name = getattr(call.func, "id", None) or getattr(call.func, "attr", None)
            plain = isinstance(call.func, ast.Name) and name in {"open", "print", "input"}
            if plain or name in CLOCK_AND_FILES:
                found.append(f"{path.relative_to(PACKAGE)}:{call.lineno} {name}()")
    assert found == []


def test_the_check_can_fail() -> None:
    assert {"asyncio", "aiohttp"} <= modules_after_import("offline")
