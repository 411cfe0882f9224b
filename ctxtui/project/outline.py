"""A file in outline, in whatever language it is: headings, keys, lines that declare something."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

_WIDE: Final = 200
_MOST: Final = 200
"""Lines of an outline."""
_FIRST: Final = 20
"""Lines of a file of which nothing else can be said."""
_HEADING: Final = re.compile(r"^(#{1,6} .+|[=~*-]{4,}$)")
_SECTION: Final = re.compile(r"^(\[.+\]|[A-Za-z_][\w.-]*\s*[:=])")
_KEY: Final = re.compile(r"""^ {0,4}"[^"]+"\s*:""")
_DECLARES: Final = re.compile(
    r"^\s*(?:(?:pub|public|private|protected|internal|static|abstract|final|export|async|virtual|override|open|data|"
    r"sealed|local|default|inline|extern|const)\s+)*"
    r"(?:package|module|namespace|import|require|using|use|include|class|struct|enum|union|interface|trait|protocol|"
    r"object|record|type|typealias|def|defn|defmodule|func|fun|fn|function|sub|proc|procedure|let|val|var|const|macro|"
    r"impl|extension|CREATE|create|ALTER|service|rpc|message)\b.*"
)
_FORMS: Final = {
    ".md": _HEADING,
    ".rst": _HEADING,
    ".markdown": _HEADING,
    ".toml": _SECTION,
    ".ini": _SECTION,
    ".cfg": _SECTION,
    ".yaml": _SECTION,
    ".yml": _SECTION,
    ".json": _KEY,
}


def outline(path: str, text: str) -> str:
    """The lines of the file at `path` that say what is in it, at most 200; its first ones where none does."""
    form = _FORMS.get(PurePosixPath(path).suffix.lower(), _DECLARES)
    lines = text.splitlines()
    found = [cut(line.rstrip()) for line in lines if form.match(line)][:_MOST]
    return "\n".join(found or [cut(line) for line in lines[:_FIRST]])


def cut(text: str) -> str:
    """`text` with no line longer than 200 characters."""
    return "\n".join(line if len(line) <= _WIDE else line[: _WIDE - 1] + "…" for line in text.split("\n"))
