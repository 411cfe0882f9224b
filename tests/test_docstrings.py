"""Docstrings: each name in `backticks` exists where it is described, so that no rename leaves the old one behind; first
sentences are short.

Single backticks are for names of code, double ones for values, JSON keys and columns. A name of another module is
written with it (`listing.find`), except classes. Read as text, as parsing every module would take seconds.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "ctxtui"
MODULES = {path.stem for path in PACKAGE.rglob("*.py")}
DOCSTRING = re.compile(r'^( *)[rf]?"""([\s\S]*?)"""', re.MULTILINE)
NAME = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)")
WORD = re.compile(r"[A-Za-z_]\w*")
KEY = re.compile(r'"(\w+)"')
PROSE = re.compile(r'"""[\s\S]*?"""|"[^"\n]*"|#.*')
"""Docstrings, texts and comments."""
MEMBER = re.compile(r"\b(?:self\.|def )(\w+)|^    (\w+)\b(?= ?[:=,])|^    (?:\w+, )+(\w+) = ", re.MULTILINE)
TOP = re.compile(r"^(?:async )?(?:def|class) (\w+)|^(?!async |def |class |[ )])(.+(?:\n(?: .*)?)*)", re.MULTILINE)
# The docstrings of commands are the screens' help, where single backticks are for keys.
KEYS = {"esc", "enter", "tab", "end", "ctrl"}


def without_prose(text: str) -> str:
    """The code of a module, line by line as it was, with texts of a single word: keys and settings."""
    return PROSE.sub(lambda m: m[0] if KEY.fullmatch(m[0]) else "\n" * m[0].count("\n"), text)


def block(lines: list[str], at: int, indent: int) -> tuple[int, str]:
    """The function or class whose body at `indent` has line `at`: its first line and its text."""
    head = re.compile(rf" {{{indent - 4}}}(?:async def|def|class) ")
    start = next((n for n in range(at, -1, -1) if head.match(lines[n])), 0)
    outside = re.compile(rf" {{0,{indent - 1}}}[^\s)]")
    end = next((n for n in range(at, len(lines)) if outside.match(lines[n])), len(lines))
    return start, "\n".join(lines[start:end])


def stale_names(text: str, code: str) -> Iterator[tuple[int, str]]:
    """The names in docstrings of a module that are not in the scope of their docstring, with the line."""
    lines = code.split("\n")
    top = {word for pair in TOP.findall(code) for part in pair for word in WORD.findall(part)} | set(KEY.findall(code))
    for docstring in DOCSTRING.finditer(text):
        if names := NAME.findall(docstring[2]):
            indent, line = len(docstring[1]), text.count("\n", 0, docstring.start())
            scope = top if indent else {*WORD.findall(code), *MODULES}
            start, is_own = line, True
            for body in range(indent, 0, -4):
                start, inside = block(lines, start, body)
                found = WORD.findall(inside) if is_own else (name for match in MEMBER.findall(inside) for name in match)
                scope, is_own = scope.union(found), False
            yield from ((line + 1, name) for name in names if name not in scope)


def test_names_in_docstrings_exist() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    codes = {path: without_prose(text) for path, text in texts.items()}
    everywhere = {word for code in codes.values() for word in WORD.findall(code)} | MODULES
    everywhere |= {part for path in texts for part in path.parts}
    known = {name for name in everywhere if name[0].isupper() and not name.isupper()} | KEYS | set(dir(builtins))
    stale = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: `{name}`"
        for path, text in texts.items()
        for line, name in stale_names(text, codes[path])
        if len(name) > 1 and name not in known and not ("." in name and name.rpartition(".")[2] in everywhere)
    ]
    assert not stale, "no such name (values, JSON keys and columns take ``two``):\n" + "\n".join(stale)


def test_first_sentences_have_at_most_90_characters() -> None:
    long = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for docstring in DOCSTRING.finditer(text):
            first = docstring[2].split("\n\n")[0].replace("\n", " ").split(". ")[0]
            # Those of values stand below them and need no summary.
            if len(first) > 90 and text[: docstring.start()].rstrip()[-1:] in ("", ":"):
                long.append(f"{path.name}:{text.count(chr(10), 0, docstring.start()) + 1}: {first}")
    assert not long, "\n".join(long)


def test_a_renamed_parameter_is_found() -> None:
    method = 'class A:\n    def f(self, new: int) -> int:\n        """Use `{}` as `f` does."""\n        return new\n'
    code = method + '\n\ndef g(held: int) -> None:\n    """Hold `held`."""\n'
    for name, stale in (("new", []), ("held", [(3, "held")])):
        text = code.replace("{}", name)
        assert list(stale_names(text, without_prose(text))) == stale
