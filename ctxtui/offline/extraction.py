"""Answers taken out of what was returned or said before: nothing is known but what stands in the context."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

_STOP: Final = frozenset(
    "a an the of in on at to for from with by and or not is are was were be been do does did what which who whom whose "
    "when where why how many much it its this that these those there here i you we they he she me my your our please "
    "can could would should will tell say says said show give read find list run file files then now have has had "
    "remember asked about as so if than into".split()
)
_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
MOST_LINES: Final = 3
_LONGEST: Final = 200
_PATH: Final = re.compile(r"(?:[\w.-]+/)+[\w.-]+|(?<![\w.])[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7}\b")


def keywords(text: str) -> list[str]:
    """The words of a question that can be looked for."""
    found = [word.lower() for word in _WORD.findall(text)]
    return [word for word in dict.fromkeys(found) if word not in _STOP and len(word) > 1]


def closest(question: str, texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The lines of `texts`, (where from, text), that share most words with `question`, best first."""
    wanted = keywords(question)
    if not wanted:
        return []
    pattern = re.compile(rf"(?<![a-z0-9_])(?:{'|'.join(map(re.escape, wanted))})(?![a-z0-9_])")
    lines = [(source, line) for source, text in texts for line in text.splitlines()]
    held = [_held(line.lower(), wanted, pattern) for _, line in lines]
    common = Counter(word for words in held for word in words)
    scores = [sum(1 + 1 / common[word] for word in words) for words in held]
    # Words in front of others, rare words more than frequent ones, the later of two equal lines.
    best = sorted((n for n in range(len(lines)) if scores[n] > 0), key=lambda n: (-scores[n], -n))
    return [(lines[n][0], cut(lines[n][1].strip())) for n in best[:MOST_LINES]]


def _held(line: str, wanted: list[str], pattern: re.Pattern[str]) -> frozenset[str]:
    # Looking for the letters first is many times as fast as the expression.
    return frozenset(pattern.findall(line)) if any(word in line for word in wanted) else frozenset()


def cut(line: str) -> str:
    """A line short enough to quote."""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def paths(texts: Sequence[str]) -> list[str]:
    """The paths named in `texts`, each once, in order."""
    return list(dict.fromkeys(found for text in texts for found in _PATH.findall(text)))
