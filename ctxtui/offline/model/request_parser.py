"""What a person asks for, as far as read / find / list / run / remember / write / call / say goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

_WORDS: Final = {
    "read": "read open show view cat print display load",
    "find": "find search grep locate look glob rg",
    "list": "list ls dir",
    "run": "run execute exec",
    "remember": "remember memorize note memorise",
    "write": "write create",
    "call": "call use invoke",
    "say": "say recite",
}
VERBS: Final = {word: verb for verb, words in _WORDS.items() for word in words.split()}

_LONGEST: Final = 1000
"""Characters of a sentence that are understood, less what stands in quotes: one that is longer is no plain sentence,
and its words are not looked at again and again."""
_STEPS: Final = re.compile(r"\b(?:and )?(?:then|after that|afterwards|finally)\b|[.!?;](?=\s|$)|\n", re.I)
_CLAUSES: Final = re.compile(r",|\s+and\s+|\s*&\s*", re.I)
_VERB: Final = re.compile(rf"\b({'|'.join(sorted(VERBS, key=len, reverse=True))})\b", re.I)
_QUOTED: Final = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^'\s][^']*)'")
_WHOLE: Final = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*\Z', re.S)
_ESCAPED: Final = re.compile(r'\\(["\\])')
_HELD: Final = re.compile("\x00(\\d+)\x00")
_LEAD: Final = re.compile(
    r"^(?:(?:me|us|the|a|an|all|any|both|each|every|for|at|up|out|that|to|down|files?|folders?|director(?:y|ies)|"
    r"contents?|of|in|under|named|called|commands?|tools?|text|lines?|with|containing|matching|everything)\s+)+",
    re.I,
)
_WHERE: Final = re.compile(r"^(.*?)\s+(?:in|under|within|inside|to|into|with|from)\s+(.+)$", re.I | re.S)
_PRONOUN: Final = re.compile(
    r"^(?:it|them|that|this|those|these|what you find|the (?:first|result|hit|file)\b.*)$", re.I
)
_PARALLEL: Final = re.compile(r"\b(?:in parallel|at once|at the same time|please|now|also)\b", re.I)
_FILE: Final = re.compile(r"(?<![\w/.@:])[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,7}\b(?!\()")
_FILES: Final = re.compile(r"\b(?:\w+\s+)?files?\s", re.I)
_GLOB: Final = re.compile(r"[*?]|^[\w./-]*\w\.[A-Za-z]\w{0,7}$")
_PATH: Final = re.compile(r"^[\w./*~\x00-]+$")


class Intent(Struct, frozen=True):
    """One thing to do: `verb` (read, find in texts, files by name ...), the `word` that said it, `what` and `where`.
    Wishes of one `step` (from 0) can be done at once; `refers` means that one of them is what an earlier step was about
    or returned."""

    verb: str
    word: str
    what: str = ""
    where: str = ""
    step: int = 0
    refers: bool = False


def wishes(text: str) -> list[Intent]:
    """Everything asked for in `text`, in order; quotes around the whole of it say nothing."""
    text = unquoted(text)
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(next(group for group in found.groups() if group is not None))
        return f"\x00{len(held) - 1}\x00"

    masked = _QUOTED.sub(hold, text)
    made: list[Intent] = []
    step = 0
    for sentence in _STEPS.split(masked):
        found = list(_sentence(_PARALLEL.sub(" ", sentence.strip()[:_LONGEST]).strip()))
        for wish in found:
            step += wish.refers and any(w.step == step for w in made)
            made.append(replace(wish, step=step, what=_back(wish.what, held), where=_back(wish.where, held)))
        step += bool(found)
    return made or _asked(text)


def unquoted(text: str) -> str:
    """`text` without quotes around the whole of it, as clients put them round an argument of the command line (facts
    §13.3)."""
    whole = _WHOLE.match(text)
    return _ESCAPED.sub(r"\1", whole[1]) if whole else text


def _asked(text: str) -> list[Intent]:
    """A question about a file asks for the file to be read."""
    return (
        [Intent("read", "read", path) for path in dict.fromkeys(_FILE.findall(text[:_LONGEST]))] if "?" in text else []
    )


def _sentence(text: str) -> Iterator[Intent]:
    first = _VERB.search(text)
    if first is None:
        return
    verb = VERBS[first[1].lower()]
    if verb in ("remember", "write", "call", "say"):
        yield _wish(verb, first[1], text[first.end() :])
        return
    last: Intent | None = None
    for clause in _CLAUSES.split(text[first.start() :]):
        found = _VERB.match(clause.strip())
        if found is not None:
            last = _wish(VERBS[found[1].lower()], found[1], clause.strip()[found.end() :])
            yield last
        elif last is not None and last.verb != "run" and _PATH.match(_LEAD.sub("", clause.strip())):
            last = _wish(last.verb, last.word, clause)
            yield last


def _wish(verb: str, word: str, rest: str) -> Intent:
    rest = rest.strip(" :")
    if verb == "remember":
        return Intent(verb, word, re.sub(r"^that\s+", "", rest))
    if verb in ("run", "say"):
        return Intent(verb, word, re.sub(r"^(?:the )?(?:command|tests?:)\s+", "", rest))
    if verb == "call":
        name, _, more = re.sub(r"^the\s+(?:tool\s+)?", "", rest).partition(" ")
        return Intent(verb, word, name, re.sub(r"^(?:tool\s+)?(?:with|for|on)?\s*", "", more))
    parted = _WHERE.match(rest)
    what, where = (parted[1], parted[2]) if parted and verb in ("find", "write", "list") else (rest, "")
    by_name = bool(_FILES.match(what))
    what, where = _LEAD.sub("", what.strip() + " ").strip(), _LEAD.sub("", where.strip() + " ").strip()
    if verb == "list":
        what, where = where or what, ""
    elif verb == "find" and (by_name or _GLOB.search(what)):
        verb = "files"
    return Intent(verb, word, what, where, refers=bool(_PRONOUN.match(what) or _PRONOUN.match(where)))


def is_pronoun(text: str) -> bool:
    """Whether `text` stands for something said before."""
    return bool(_PRONOUN.match(text))


def _back(text: str, held: list[str]) -> str:
    """Quoted parts put in again: alone where there is one, for it is what is meant."""
    found = _HELD.findall(text)
    if len(found) == 1:
        return held[int(found[0])]
    return _HELD.sub(lambda one: held[int(one[1])], text)
