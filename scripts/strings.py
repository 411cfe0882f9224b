"""Print every string that users may see in views, tui and cli, one per line with its place, to read them all at once.

Usage: python scripts/strings.py [PATH...]. Values in f-strings are printed as {}. Docstrings are left out, except those
of commands, which click prints as help.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PARTS = (
    "ctxtui/views",
    "ctxtui/tui",
    "ctxtui/cli",
    "ctxtui/analysis",
    "ctxtui/services",
    "ctxtui/transcripts",
    "ctxtui/wire/translate",
    "ctxtui/curation/legality",
    "ctxtui/store",
    "ctxtui/offline",
    "ctxtui/cache",
    "ctxtui/tokens",
)
SHOWN_BY = frozenset({"Span", "Column", "HomeColumn", "Sign", "Hint", "Key", "Binding"})
"""Calls whose first argument is shown, even if it is a single word."""
NOT_SHOWN = frozenset({"members", "compile", "frozenset", "getattr", "startswith", "endswith", "split", "replace"})
"""Calls whose arguments are names, patterns or JSON keys."""
WORDS = re.compile(r"[A-Za-z]{2,}.* .*[A-Za-z]{2,}|[A-Za-z]{3,}[.:!?]$", re.DOTALL)
STYLE = re.compile(
    r"(?:(?:on-)?(?:accent(?:-ink)?|ink|dim|faint|bold|italic|strike|underline|reverse|quiet|warn|crit|ok|add|del|hair|"
    r"[a-z]+-[a-z]+)(?: |$))+"
)


def main(paths: list[str]) -> None:
    for part in paths or PARTS:
        files = sorted(Path(part).rglob("*.py")) if Path(part).is_dir() else [Path(part)]
        for file in files:
            for line, text in sorted(strings(ast.parse(file.read_text()))):
                print(f"{file}:{line}: {text}")


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of the strings in a module that users may see."""
    hidden = {id(node) for doc in _docstrings(tree) for node in ast.walk(doc)}
    shown: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in NOT_SHOWN:
                hidden.update(id(inner) for argument in node.args for inner in ast.walk(argument))
            elif name in SHOWN_BY and node.args:
                shown.update(id(inner) for inner in ast.walk(node.args[0]))
        elif isinstance(node, ast.JoinedStr):
            hidden.update(id(part) for part in node.values if isinstance(part, ast.Constant))
    for node in ast.walk(tree):
        text = _text(node)
        if text is None or id(node) in hidden or STYLE.fullmatch(text):
            continue
        if WORDS.search(text) or (id(node) in shown and re.search("[A-Za-z]{2,}", text)):
            yield node.lineno, " ".join(text.split())  # type: ignore[attr-defined]


def _docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        command = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            "command" in ast.unparse(decorator) or "tool" in ast.unparse(decorator) for decorator in node.decorator_list
        )
        yield from (
            each for each in body[command:] if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        )


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
