"""Finds the files that a message refers to.

A message may mention a file with ``@``, name its path, its name or something defined in it, or share words with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from ctxtui.project.imports import Paths

_WORD: Final = re.compile(r"[\w./\-]*\w")
"""May be a path."""
_SYMBOL: Final = re.compile(
    r"\b(?:[A-Za-z]\w*_\w+|[A-Z]\w*[a-z]\w*[A-Z]\w*|[a-z]+[A-Z]\w*|[A-Z][a-z]\w{2,})\b|`([A-Za-z_]\w{2,})`"
)
"""A name that looks like an identifier: with an underscore, capitals inside, a capital first, or in backticks."""
_ENDS: Final = (".py", ".go", ".rs", ".ts", ".tsx", ".js", ".java", ".c", "/__init__.py")
"""Extensions that are tried for a path that is named without one."""
_MAX_SAME_NAME: Final = 3
"""If more files have a name without a path, it identifies none of them."""
_MAX_GAP_CHARS: Final = 40
"""Characters before a word that are searched for the end of a sentence; a word after more blanks begins one."""
_MAX_SHORT_WORD_CHARS: Final = 3


def find_named(task: str, texts: Mapping[str, str], paths: Paths) -> list[str]:
    """The files that `task` names; `texts` are the files' contents by path.

    - By path (``core/tree.py``, ``core.tree``).
    - By a name (``tree.py``, ``tree``) that few files have.
    - By what they define (``TurnState``, ``fold_events``).
    """
    files: dict[str, None] = {}
    for match in _WORD.finditer(task):
        # Slicing all text before each word would take a minute for a long log.
        before = task[max(0, match.start() - _MAX_GAP_CHARS) : match.start()].rstrip()
        is_sentence_start = not before or before.endswith((".", "!", "?", ":"))
        files |= dict.fromkeys(_files_by_path(match[0], paths, is_sentence_start))
    for name in dict.fromkeys(match[1] or match[0] for match in _SYMBOL.finditer(task)):
        files |= dict.fromkeys(_files_defining(name, texts))
    return list(files)


def _files_by_path(word: str, paths: Paths, is_sentence_start: bool) -> list[str]:
    """The files that one word names.

    A plain word at a sentence's start names none: it is probably a verb.
    """
    spelled = word.removeprefix("./").strip("/")
    if "." in spelled or "/" in spelled:
        exact = paths.ending_with(spelled)
        if exact:
            return exact if "/" in spelled or len(exact) <= _MAX_SAME_NAME else []
        place = spelled if "/" in spelled else spelled.replace(".", "/")
        files_with_end = [file for end in _ENDS for file in paths.ending_with(place + end)]
        return files_with_end if len(files_with_end) <= _MAX_SAME_NAME else []
    if len(word) <= _MAX_SHORT_WORD_CHARS or (is_sentence_start and "_" not in word):
        return []
    same = [path for path in sorted(paths.all) if PurePosixPath(path).stem == word]
    return same if len(same) <= _MAX_SAME_NAME else []


def _files_defining(name: str, texts: Mapping[str, str]) -> list[str]:
    defines = re.compile(
        rf"^[ \t]*(?:[\w()<>]+[ \t]+){{0,4}}(?:def|class|func(?:[ \t]*\([^)]*\))?|function|fn|struct|enum|trait|type|"
        rf"interface|const|let|var)[ \t]+{re.escape(name)}\b|^{re.escape(name)}\b[^=\n]*=[^=]",
        re.M,
    )
    files = [path for path, text in texts.items() if name in text and defines.search(text)]
    return files if len(files) <= _MAX_SAME_NAME else []


# Mentions

_MENTION: Final = re.compile(r"""(?<![\w@/.])@(?:"([^"\n]+)"|([^\s"'`,;]+))""")
"""``@`` and a path, in quotes if it has blanks; not within an address or a path."""
_TRAILING_PUNCTUATION: Final = ".:!?)]}>*_"
"""Characters at the end of a mention that may belong to the sentence instead."""


def find_mentions(text: str) -> list[tuple[str, ...]]:
    """List the possible spellings of each file mentioned in `text`.

    The spelling as written comes first, then that without trailing punctuation.
    """
    mentions = dict.fromkeys(match[1] or match[2] for match in _MENTION.finditer(text))
    return [
        tuple(dict.fromkeys(spelling for spelling in (name, name.rstrip(_TRAILING_PUNCTUATION)) if spelling))
        for name in mentions
    ]


def format_mention(path: str) -> str:
    return f'@"{path}"' if re.search(r"[\s\"'`,;]", path) else f"@{path}"


# Words in common

_LONG_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_MIN_COMMON_WORDS: Final = 2


def find_relevant(texts: Mapping[str, str], message: str) -> list[str]:
    """The names of the `texts` that are related to `message`, in order.

    They share two words with it, or their name shares one. A word has at least 4 letters. Of three or more texts, words
    that are in more than half of them do not count.
    """
    message_words = _long_words(message)
    text_words = {name: _long_words(text) for name, text in texts.items()}
    common = {
        word
        for word in message_words
        if len(text_words) > 2 and sum(word in words for words in text_words.values()) > len(text_words) / 2
    }
    return [
        name
        for name, words in text_words.items()
        if _long_words(name) & message_words or len(words & message_words - common) >= _MIN_COMMON_WORDS
    ]


def _long_words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _LONG_WORD.findall(text))
