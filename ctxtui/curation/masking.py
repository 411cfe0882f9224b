"""Secrets and people taken out of a copy: every mask says what stood there, equal things get equal masks, and what
was masked is counted. Structure stays: JSON stays JSON, ids still pair calls with their results."""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from ctxtui.core import block, canonical
from ctxtui.core.block import Block
from ctxtui.core.canonical import Json
from ctxtui.dataclasses import dataclass

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
"""A PNG of one transparent pixel, in base64: what stands for an image."""

_OPAQUE: Final = frozenset({"signature", "encrypted_content", "data", "thoughtSignature", "reasoning_opaque"})
"""Members that hold what only the provider can read; it may hold anything."""
_NAMES: Final = frozenset(
    "type role id name tool_use_id call_id tool_call_id media_type model status phase detail kind format".split()
)
"""Members whose values are the shape of a request, not what anybody said."""
_JSON_TEXT: Final = frozenset({"arguments"})
_SPLIT: Final = re.compile("(?<=[!-~])[\u00ad\u200b-\u200d\u2060\ufeff]+(?=[!-~])")
"""What nobody sees between two characters, and what a key can be hidden from a pattern with."""
_ENCODED: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{40,}+={0,2}")
_URL_SAFE: Final = str.maketrans("-_", "+/")
_LONGEST_ENCODED: Final = 65_536
"""Characters of base64 that are looked into for a secret."""
_SHORTEST: Final = 6
"""Characters that the value of a member needs to be taken for a secret."""
_LONG: Final = 16
"""The same for members whose short values are words."""
_PLACEHOLDER: Final = re.compile(
    r"(?i)[$<{*⟨]|your|xxx|redacted|(?:null|none|true|false|string|text|required|optional|password|secret)$|\S*[\s(]"
)
"""Values that only say where a secret would stand: empty names, variables, sentences."""
_LETTER: Final = re.compile(r"[^\W\d_]")
_WORDS: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")
_DIGIT: Final = re.compile(r"\d")


class Level(StrEnum):
    """How much is masked; each level masks what the one before it does."""

    SECRETS = "secrets"
    """Keys, tokens, passwords, logins."""
    PERSONAL = "personal"
    """Also people and places: e-mail and IP addresses, user names in paths, phone numbers, images, opaque parts."""
    TEXT = "text"
    """Also every letter and digit: only shapes and sizes are left."""


LEVELS: Final = tuple(Level)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingRule:
    """A pattern and what it finds; the pattern's group number `keep` (0: none) stays in front of the mask.

    `holds` are texts of which one stands in every find ((): not known), `check` names what the digits of a find must
    pass ("": nothing), `source` says who documents the format.
    """

    name: str
    level: Level
    pattern: re.Pattern[str]
    keep: int = 0
    holds: tuple[str, ...] = ()
    check: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class MaskingRules:
    """All rules, in the order in which they are tried, and the members of JSON objects that hold secrets.

    The names of members are in lower case, with `_` between words.
    """

    rules: tuple[MaskingRule, ...]
    members: frozenset[str] = frozenset()
    long_members: frozenset[str] = frozenset()
    """Members of which only a long text with a digit is a secret."""


def parse_masks(text: str) -> MaskingRules:
    """The rules in a TOML text (``[[mask]]`` rows and ``[members]``). Raises `KeyError` on an unknown check."""
    data = tomllib.loads(text)
    members = data.get("members", {})
    rules = tuple(map(_rule, data["mask"]))
    return MaskingRules(rules, frozenset(members.get("names", ())), frozenset(members.get("long_names", ())))


def _rule(row: dict[str, Json]) -> MaskingRule:
    if (check := str(row.get("check", ""))) and check not in _CHECKS:
        raise KeyError(check)
    return MaskingRule(
        name=str(row["name"]),
        level=Level(row["level"]),
        pattern=re.compile(str(row["pattern"]), re.DOTALL),
        keep=int(row.get("keep", 0)),
        holds=tuple(row.get("holds", ())),
        check=check,
        source=str(row.get("source", "")),
    )


def _luhn(found: str) -> bool:
    digits = [int(c) for c in found if c.isdigit()][::-1]
    return sum(digits[::2]) % 10 == -sum(sum(divmod(2 * d, 10)) for d in digits[1::2]) % 10


def _iban(found: str) -> bool:
    code = found.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 == 1


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {"luhn": _luhn, "iban": _iban}
"""Check digits: of cards (ISO/IEC 7812), of bank accounts (ISO 13616)."""


class Masker:
    """Masks texts, JSON values and blocks at one level, and counts what it masked.

    One masker for all of a copy: the same secret has the same mask throughout.
    """

    def __init__(self, rules: MaskingRules, level: Level) -> None:
        self.level = level
        self.report: dict[str, int] = {}
        """How often something of each kind was masked, in order of first meeting."""
        self._rules = [rule for rule in rules.rules if LEVELS.index(rule.level) <= LEVELS.index(level)]
        self._secret = [rule for rule in rules.rules if rule.level == Level.SECRETS]
        self._members, self._long_members = rules.members, rules.long_members
        self._known: dict[str, dict[str, int]] = {}

    def text(self, words: str) -> str:
        """`words` with a mask where something was found, such as ``⟨api key 1⟩``."""
        if not words.isascii() and len(whole := _SPLIT.sub("", words)) < len(words) and self._hides(words, whole):
            words = whole
        for rule in self._rules:
            if _may_hold(rule, words):
                words = rule.pattern.sub(self._masking(rule), words)
        if len(words) >= 40:
            words = _ENCODED.sub(self._decoded, words)
        return self._blurred(words) if self.level == Level.TEXT else words

    def _hides(self, words: str, whole: str) -> bool:
        """Whether `words` hides a secret that `whole`, the same without what nobody sees, shows."""
        return self._secret_part(whole) > self._secret_part(words)

    def _secret_part(self, words: str) -> int:
        """How many characters of `words` are secrets."""
        found = (m for r in self._secret if _may_hold(r, words) for m in r.pattern.finditer(words))
        return sum(m.end() - m.start() for m in found)

    def _decoded(self, match: re.Match[str]) -> str:
        """The mask of a base64 text that says a secret, any other text as it is."""
        found = match.group()
        if len(found) > _LONGEST_ENCODED or not _readable(found[:64]):
            return found
        words = _readable(found)
        return self._mask("encoded secret", found) if words and self._secret_part(words) else found

    def value(self, value: Json, key: str = "") -> Json:
        """The JSON `value` with every text in it masked; `key` is the member it stands under."""
        if isinstance(value, str):
            return self._string(value, key)
        if isinstance(value, list):
            return [self.value(item, key) for item in value]
        if isinstance(value, dict):
            if value.get("type") == "base64" and isinstance(value.get("data"), str) and self.level != Level.SECRETS:
                self._count("image or file")
                return {**value, "media_type": "image/png", "data": PIXEL}
            return {self._key(name): self.value(item, name) for name, item in value.items()}
        return value

    def block(self, one: Block) -> Block:
        """The masked `one`: the same block where nothing was found in it."""
        value = one.value()
        masked = self.value(value)
        return one if masked == value else block.make(one.kind, masked)

    def _string(self, words: str, key: str) -> str:
        if self._is_secret(key, words):
            return self._mask("password", words)
        if key in _NAMES:
            return words if self.level != Level.TEXT or len(words) <= 128 else self.text(words)
        if self.level != Level.SECRETS:
            if key in _OPAQUE:
                self._count("opaque part")
                return "⟨opaque⟩" if words else words
            if words.startswith("data:") and ";base64," in words[:100]:
                self._count("image or file")
                return f"data:image/png;base64,{PIXEL}"
        return self._json_text(words) if key in _JSON_TEXT else self.text(words)

    def _json_text(self, words: str) -> str:
        try:
            inner = canonical.loads(words)
        except (ValueError, RecursionError):
            return self.text(words)
        masked = self.value(inner)
        return words if masked == inner else canonical.text_of(masked)

    def _key(self, name: str) -> str:
        return name if len(name) <= 64 else self.text(name)

    def _is_secret(self, key: str, words: str) -> bool:
        name = _WORDS.sub(r"_\1", key).lower().replace("-", "_").lstrip("_")
        if _PLACEHOLDER.match(words):
            return False
        long = len(words) >= _LONG and _DIGIT.search(words) is not None
        return (name in self._members and len(words) >= _SHORTEST) or (name in self._long_members and long)

    def _masking(self, rule: MaskingRule) -> Callable[[re.Match[str]], str]:
        passes = _CHECKS.get(rule.check)

        def mask(match: re.Match[str]) -> str:
            head: str = match.group(rule.keep) if rule.keep else ""
            secret = match.group()[len(head) :]
            return match.group() if passes is not None and not passes(secret) else head + self._mask(rule.name, secret)

        return mask

    def _mask(self, name: str, secret: str) -> str:
        known = self._known.setdefault(name, {})
        number = known.setdefault(secret, len(known) + 1)
        self._count(name)
        return f"⟨{name} {number}⟩"

    def _blurred(self, words: str) -> str:
        if words:
            self._count("text")
        return _DIGIT.sub("0", _LETTER.sub("x", words))

    def _count(self, what: str) -> None:
        self.report[what] = self.report.get(what, 0) + 1


def _may_hold(rule: MaskingRule, words: str) -> bool:
    return not rule.holds or any(text in words for text in rule.holds)


def _readable(encoded: str) -> str:
    """The text that `encoded`, in base64, says; "" where that is no plain text."""
    bare = encoded.rstrip("=").translate(_URL_SAFE)
    bare = bare[: len(bare) - len(bare) % 4] if len(bare) % 4 == 1 else bare
    try:
        words = base64.b64decode(bare + "=" * (-len(bare) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return words if all(c.isprintable() or c in "\t\r\n" for c in words) else ""


def said(report: dict[str, int]) -> list[str]:
    """What was masked, a line per kind: ``3 x api key``."""
    return [f"{n:,} x {what}" for what, n in report.items()]
