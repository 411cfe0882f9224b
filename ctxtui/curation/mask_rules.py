"""Masking rules: patterns, secret members of objects, structure of records.

`parse_masks` reads them from a table (``data/masks.toml``), `masking` applies them.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import Final

from msgspec import Struct

from ctxtui.core.canonical import Json

PLAIN_PART: Final = re.compile(r"[A-Z]?[a-z]*\d{0,4}|[A-Z]+\d{0,4}|\d+|v?\d+(?:[a-z]\d*)?")
"""A part of a name, a number or a version, as people write them."""
_PART_BORDER: Final = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
NO_VALUE: Final = (
    "null|none|true|false|string|text|number|integer|required|optional|password|secret|unknown|example|test"
)
"""Words in the place of a secret that are no secret."""
PLACEHOLDER: Final = re.compile(rf"(?i)[$<{{*⟨/]|your|xxx|redacted|\S*\.\.\.|(?:{NO_VALUE})$|\S*[\s(]")
"""Values in the place of a secret: variables, placeholders, calls, sentences."""
_HEX: Final = re.compile(r"[0-9a-fA-F-]+=*|0[xX][0-9a-fA-F]+")
"""Hexadecimal digits: mostly digests, which are no secrets."""
_MIN_BITS_PER_CHAR: Final = 4.0
"""Minimum entropy of a random text; words of a language have less."""
_MIN_CHANGES_PER_CHAR: Final = 0.4
"""Minimum changes between small letters, capitals and digits per character of a random text."""


class Level(StrEnum):
    """Amount of masking; each level includes the one before."""

    SECRETS = "secrets"
    """Keys, tokens, passwords, logins."""
    PERSONAL = "personal"
    """Also people and places: e-mail and IP addresses, user names in paths, phone numbers, images, opaque parts."""
    TEXT = "text"
    """Also every letter and digit of content, names and ids: only shapes and sizes are left."""


LEVELS: Final = tuple(Level)


BOUNDARY: Final = "(?<![A-Za-z0-9])"
_NO_BORDER: Final = re.compile("")
_BORDERS: Final = re.compile(r"(\\b|\(\?<!\[[^]]+\]\))?(.+?)(\(\?!\[[^]]+\]\))?")
"""The parts of a pattern: border, inner part, border."""


class MaskingRule(Struct, frozen=True, kw_only=True):
    """A pattern for texts to mask, and the name of what it matches.

    - `level`: the masking level from which the rule applies.
    - `keep`: the group of the pattern that stays before the mask; 0: none.
    - `holds`: every match contains one of these texts, for a fast search; (): unknown.
    - `fold`: whether the pattern ignores case; then `holds` are in lower case.
    - `check`: the name of a further test of matches (`CHECKS`); "" for none.
    """

    name: str
    level: Level
    pattern: re.Pattern[str]
    keep: int = 0
    holds: tuple[str, ...] = ()
    fold: bool = False
    check: str = ""
    is_key: bool = False
    """Whether a match begins with one of `holds`."""
    word: bool = False
    """Whether a match is part of a word of at least `masking.MIN_KEY_CHARS` characters."""
    borders: tuple[re.Pattern[str], re.Pattern[str]] = (_NO_BORDER, _NO_BORDER)
    """Conditions on the characters before and after a match."""
    inner: re.Pattern[str]
    """`pattern` without `borders`."""


class SecretMembers(Struct, frozen=True, kw_only=True):
    """Members of JSON objects whose values are masked.

    `names` are in lower case, with ``_`` between words. With `long`, only long values with a digit are masked: short
    values of these members are words.
    """

    name: str
    level: Level
    names: frozenset[str]
    long: bool = False


Structure = Mapping[str, Mapping[str, str]]
"""For each kind of object, the kind of each of its members (see ``data/structure.toml``)."""


class MaskingRules(Struct, frozen=True):
    """All rules, in order of application; members that hold secrets; structure of records."""

    rules: tuple[MaskingRule, ...]
    members: tuple[SecretMembers, ...] = ()
    structure: Structure = {}
    id_starts: tuple[str, ...] = ()
    """Prefixes of ids and digests that are no secrets."""


def parse_masks(text: str, structure: str = "") -> MaskingRules:
    """Parse TOML texts of rules and of the structure. Raises `KeyError` on an unknown check."""
    data = tomllib.loads(text)
    rules = (*map(_make_key_rule, data.get("keys", ())), *map(_make_rule, data["mask"]))
    members = (
        SecretMembers(
            name=row["name"],
            level=Level(row["level"]),
            names=frozenset(row["names"]),
            long=row.get("long", False),
        )
        for row in data.get("members", ())
    )
    id_starts = tuple(data.get("ids", {}).get("starts", ()))
    return MaskingRules(rules, tuple(members), tomllib.loads(structure), id_starts)


def _make_key_rule(row: dict[str, Json]) -> MaskingRule:
    chars = row.get("chars", "A-Za-z0-9_-")
    starts = "|".join(map(re.escape, row["starts"]))
    inner = rf"(?:{starts})(?=[{chars}]{{0,200}}?[0-9A-Z])[{chars}]{{{row['least']},}}"
    return MaskingRule(
        name=row["name"],
        level=Level.SECRETS,
        pattern=re.compile(BOUNDARY + inner),
        borders=(re.compile(BOUNDARY), _NO_BORDER),
        inner=re.compile(inner),
        holds=tuple(row["starts"]),
        is_key=True,
        word=True,
    )


def _make_rule(row: dict[str, Json]) -> MaskingRule:
    if (check := str(row.get("check", ""))) and check not in CHECKS:
        raise KeyError(check)
    pattern, word = str(row["pattern"]), bool(row.get("word"))
    parts = _BORDERS.fullmatch(pattern) if word else None
    before, inner, after = parts.groups("") if parts is not None else ("", pattern, "")
    return MaskingRule(
        name=str(row["name"]),
        level=Level(row["level"]),
        pattern=re.compile(pattern, re.DOTALL),
        borders=(re.compile(before), re.compile(after)),
        inner=re.compile(inner, re.DOTALL),
        word=word,
        keep=int(row.get("keep", 0)),
        holds=tuple(row.get("holds", ())),
        fold=pattern.startswith("(?i)"),
        check=check,
    )


def _is_luhn(text: str) -> bool:
    digits = [int(c) for c in text if c.isdigit()][::-1]
    return sum(digits[::2]) % 10 == -sum(sum(divmod(2 * d, 10)) for d in digits[1::2]) % 10


def _is_iban(text: str) -> bool:
    code = text.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 == 1


def is_random(text: str) -> bool:
    """Whether `text` looks random, not written by a person.

    It does if one of its parts is no plain word or number, or if it has more than three parts of less than four
    characters on average. False for placeholders, and for texts that begin with ``/`` or contain a space or bracket.
    """
    parts = [part for part in _PART_BORDER.split(text) if part]
    words = all(PLAIN_PART.fullmatch(part) for part in parts) and not len(text) / 4 < len(parts) > 3
    return not words and not PLACEHOLDER.match(text)


def _entropy_bits(text: str) -> float:
    """The Shannon entropy of the characters of `text`, in bits each."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _character_class(letter: str) -> int:
    return 0 if letter.isdigit() else 1 if letter.islower() else 2 if letter.isupper() else 3


def is_dense(text: str) -> bool:
    """Whether `text` has small letters, capitals and digits, often changing, and high entropy."""
    classes = [_character_class(c) for c in text.rstrip("=")]
    if not {0, 1, 2} <= set(classes) or classes.count(3) > len(classes) / 12:
        return False
    changes = sum(a != b for a, b in pairwise(classes))
    return (
        changes >= _MIN_CHANGES_PER_CHAR * len(classes)
        and _entropy_bits(text) >= _MIN_BITS_PER_CHAR
        and not _HEX.fullmatch(text)
    )


CHECKS: Final[dict[str, Callable[[str], bool]]] = {"luhn": _is_luhn, "iban": _is_iban, "random": is_random}
"""Check digits of cards (ISO/IEC 7812) and of bank accounts (ISO 13616); texts that are no words."""
