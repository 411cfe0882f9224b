"""Secrets and people taken out of a copy: every mask says what stood there, equal things get equal masks, and what
was masked is counted. Structure stays: JSON stays JSON, ids still pair calls with their results."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ctxtui.core import block, canonical
from ctxtui.core.block import Block
from ctxtui.core.canonical import Json

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
"""A PNG of one transparent pixel, in base64: what stands for an image."""

_OPAQUE: Final = frozenset({"signature", "encrypted_content", "data", "thoughtSignature", "reasoning_opaque"})
"""Members that hold what only the provider can read; it may hold anything."""
_NAMES: Final = frozenset(
    "type role id name tool_use_id call_id tool_call_id media_type model status phase detail kind format".split()
)
"""Members whose values are the shape of a request, not what anybody said."""
_JSON_TEXT: Final = frozenset({"arguments"})
_LETTER: Final = re.compile(r"[^\W\d_]")
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


@dataclass(frozen=True, slots=True)
class MaskingRule:
    """A pattern and what it finds; the pattern's group number `keep` (0: none) stays in front of the mask."""

    name: str
    level: Level
    pattern: re.Pattern[str]
    keep: int = 0


def parse_masks(text: str) -> tuple[MaskingRule, ...]:
    """The rules in a TOML text (``[[mask]]`` with name, level, pattern, keep)."""
    return tuple(
        MaskingRule(one["name"], Level(one["level"]), re.compile(one["pattern"], re.DOTALL), one.get("keep", 0))
        for one in tomllib.loads(text)["mask"]
    )


class Masker:
    """Masks texts, JSON values and blocks at one level, and counts what it masked.

    One masker for all of a copy: the same secret has the same mask throughout.
    """

    def __init__(self, rules: Iterable[MaskingRule], level: Level) -> None:
        self.level = level
        self.report: dict[str, int] = {}
        """How often something of each kind was masked, in order of first meeting."""
        self._rules = [rule for rule in rules if LEVELS.index(rule.level) <= LEVELS.index(level)]
        self._known: dict[str, dict[str, int]] = {}

    def text(self, words: str) -> str:
        """`words` with a mask where something was found, such as ``⟨api key 1⟩``."""
        for rule in self._rules:
            words = rule.pattern.sub(self._masking(rule), words)
        return self._blurred(words) if self.level == Level.TEXT else words

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

    def _masking(self, rule: MaskingRule) -> Callable[[re.Match[str]], str]:
        def mask(match: re.Match[str]) -> str:
            head: str = match.group(rule.keep) if rule.keep else ""
            secret = match.group()[len(head) :]
            known = self._known.setdefault(rule.name, {})
            number = known.setdefault(secret, len(known) + 1)
            self._count(rule.name)
            return f"{head}⟨{rule.name} {number}⟩"

        return mask

    def _blurred(self, words: str) -> str:
        if words:
            self._count("text")
        return _DIGIT.sub("0", _LETTER.sub("x", words))

    def _count(self, what: str) -> None:
        self.report[what] = self.report.get(what, 0) + 1


def said(report: dict[str, int]) -> list[str]:
    """What was masked, a line per kind: ``3 x api key``."""
    return [f"{n:,} x {what}" for what, n in report.items()]
