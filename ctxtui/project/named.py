"""What the words of a message mean in a project: files that it mentions with ``@``, files that a task names by path, by
name or by what they define, and texts that share words with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from ctxtui.project.imports import Paths

_WORD: Final = re.compile(r"[\w./\-]*\w")
_SYMBOL: Final = re.compile(
    r"\b(?:[A-Za-z]\w*_\w+|[A-Z]\w*[a-z]\w*[A-Z]\w*|[a-z]+[A-Z]\w*|[A-Z][a-z]\w{2,})\b|`([A-Za-z_]\w{2,})`"
)
_ENDS: Final = (".py", ".go", ".rs", ".ts", ".tsx", ".js", ".java", ".c", "/__init__.py")
_COMMON: Final = 3
"""Files: a bare name that more have says nothing."""
_SHORT: Final = 3


def named(task: str, texts: Mapping[str, str], paths: Paths) -> list[str]:
    """The files that the words of `task` name, in their order: paths (``core/tree.py``, ``core.tree``), names
    (``tree.py``, ``tree``) that few files have, and those that define what it calls by name (``TurnState``,
    ``fold_events``). `texts` are the files' contents by path."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(task):
        begins = not task[: match.start()].strip() or task[: match.start()].rstrip().endswith((".", "!", "?", ":"))
        found |= dict.fromkeys(_by_path(match[0], paths, begins))
    for match in _SYMBOL.finditer(task):
        found |= dict.fromkeys(_defining(match[1] or match[0], texts))
    return list(found)


def _by_path(word: str, paths: Paths, begins: bool) -> list[str]:
    """The files that one word names; a plain word that `begins` a sentence is taken for a verb."""
    spelled = word.removeprefix("./").strip("/")
    if "." in spelled or "/" in spelled:
        exact = paths.ending(spelled)
        if exact:
            return exact if "/" in spelled or len(exact) <= _COMMON else []
        place = spelled if "/" in spelled else spelled.replace(".", "/")
        near = [one for end in _ENDS for one in paths.ending(place + end)]
        return near if len(near) <= _COMMON else []
    if len(word) <= _SHORT or (begins and "_" not in word):
        return []
    same = [path for path in sorted(paths.all) if PurePosixPath(path).stem == word]
    return same if len(same) <= _COMMON else []


def _defining(name: str, texts: Mapping[str, str]) -> list[str]:
    defines = re.compile(
        rf"^[ \t]*(?:[\w()<>]+[ \t]+){{0,4}}(?:def|class|func(?:[ \t]*\([^)]*\))?|function|fn|struct|enum|trait|type|"
        rf"interface|const|let|var)[ \t]+{re.escape(name)}\b|^{re.escape(name)}\b[^=\n]*=[^=]",
        re.M,
    )
    found = [path for path, text in texts.items() if name in text and defines.search(text)]
    return found if len(found) <= _COMMON else []


# Mentions

_MENTION: Final = re.compile(r"""(?<![\w@/.])@(?:"([^"\n]+)"|([^\s"'`,;]+))""")
_AROUND: Final = ".:!?)]}>*_"


def mentions(text: str) -> list[tuple[str, ...]]:
    """For each file that `text` may name, how it may be spelled: as it stands, then without what may belong to the
    sentence."""
    found = dict.fromkeys(match[1] or match[2] for match in _MENTION.finditer(text))
    return [tuple(dict.fromkeys(one for one in (name, name.rstrip(_AROUND)) if one)) for name in found]


def spelled(path: str) -> str:
    """How a message names the file at `path`."""
    return f'@"{path}"' if re.search(r"[\s\"'`,;]", path) else f"@{path}"


# Words in common

_LONG_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_ENOUGH: Final = 2
"""Words that a text must share with the message; one in its name is enough."""


def relevant(texts: Mapping[str, str], message: str) -> list[str]:
    """The names of `texts` that have to do with `message`, in their order. Words that more than half of several texts
    have say nothing."""
    asked = _long_words(message)
    held = {name: _long_words(text) for name, text in texts.items()}
    common = {word for word in asked if len(held) > 2 and sum(word in own for own in held.values()) > len(held) / 2}
    return [name for name, own in held.items() if _long_words(name) & asked or len(own & asked - common) >= _ENOUGH]


def _long_words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _LONG_WORD.findall(text))
