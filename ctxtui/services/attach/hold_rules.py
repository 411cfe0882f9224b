"""Which requests of other programs are held: by what a body alone tells, and by what is foretold of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from ctxtui.core.errors import BadConfig
from ctxtui.services.attach.desk.request_desk import Foretold

_CHARACTERS: Final = 4
"""Bytes of a body that are about one token: the rule decides at once, without a tokenizer."""


def about_tokens(size: int) -> int:
    """What a body of so many bytes comes to, roughly."""
    return size // _CHARACTERS


class HoldRules(Struct, frozen=True, kw_only=True):
    """Which requests are held: `each`, those over about so many `tokens` (0: none), those that will cost more than
    `usd` (0: none), those that will `miss` the cache, those in which `pattern` stands."""

    each: bool = False
    tokens: int = 0
    usd: float = 0.0
    miss: bool = False
    pattern: re.Pattern[bytes] | None = None

    def __bool__(self) -> bool:
        return bool(self.each or self.tokens or self.pattern or self.foretells)

    @property
    def foretells(self) -> bool:
        """Whether a rule goes by what is foretold."""
        return bool(self.usd or self.miss)

    def reason(self, body: bytes) -> str:
        """Why a request with this body is held, whatever is foretold of it; "" where it is not."""
        about = about_tokens(len(body))
        if self.tokens and about > self.tokens:
            return f"about {about:,} tokens, over {self.tokens:,}"
        if self.pattern is not None and self.pattern.search(body):
            return f"{self.pattern.pattern.decode('utf-8', 'replace')} stands in it"
        return "each request is held" if self.each else ""

    def foretold_reason(self, found: Foretold | None) -> str:
        """Why a request of which this is foretold is held; "" where it is not, or where nobody can tell."""
        if found is None:
            return ""
        if self.usd and found.usd is not None and found.usd > self.usd:
            return f"it will cost about ${found.usd:.3f}, over ${self.usd:g}"
        return f"it will miss the cache: {found.miss}" if self.miss and found.miss else ""

    @property
    def words(self) -> tuple[str, ...]:
        """The rules, one by one, as a person would say them."""
        found = ["each request"] if self.each else []
        found += [f"over {self.tokens:,} tokens"] if self.tokens else []
        found += [f"over ${self.usd:g}"] if self.usd else []
        found += ["on a foretold miss"] if self.miss else []
        return tuple(found + ([f"with {self.pattern.pattern.decode('utf-8', 'replace')}"] if self.pattern else []))


SEPARATOR: Final = ", "
_SUMS: Final = re.compile(r"over\s+(\$)?\s*([0-9][0-9,_.]*)\s*([kKM]?)(?:\s+tokens)?")


def told_of(text: str) -> dict[str, Any]:
    """The rules that a line of `HoldRules.words` names, as a run is told them; none for "" and ``off``. Raises
    `BadConfig`."""
    found: dict[str, Any] = {}
    text, stands, pattern = text.partition("with ")
    if stands:
        found["pattern"] = pattern.strip()
    # A comma may also stand between thousands.
    for part in filter(None, re.split(r"\s*;\s*|,\s+|,$", text.strip())):
        sums = _SUMS.fullmatch(part)
        if sums is not None and (number := _number(sums[2], sums[3])) is not None:
            found["usd" if sums[1] else "tokens"] = number if sums[1] else int(number)
        elif part in ("each", "each request"):
            found["each"] = True
        elif part in ("miss", "on a foretold miss"):
            found["miss"] = True
        elif part != "off":
            raise BadConfig(f"{part!r} is no rule", way_out=f"write {RULES_SPELLED}")
    rules_of(found)
    return found


RULES_SPELLED: Final = SEPARATOR.join(("each", "over $0.5", "over 100k", "miss", "with REGEX", "off"))
"""How rules are written."""


def _number(text: str, unit: str) -> float | None:
    try:
        return float(text.replace(",", "").replace("_", "")) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6}[unit]
    except ValueError:
        return None


def rules_of(told: Mapping[str, Any]) -> HoldRules:
    """The rules that options or another program name: ``each``, ``tokens``, ``usd``, ``miss``, ``pattern``. Raises
    `BadConfig`."""
    pattern = str(told.get("pattern") or "")
    try:
        return HoldRules(
            each=bool(told.get("each")),
            tokens=max(0, int(told.get("tokens") or 0)),
            usd=max(0.0, float(told.get("usd") or 0)),
            miss=bool(told.get("miss")),
            pattern=re.compile(pattern.encode()) if pattern else None,
        )
    except re.error as error:
        raise BadConfig(f"{pattern!r} is no regular expression: {error}") from None
    except (TypeError, ValueError) as error:
        raise BadConfig(f"no rule for holding: {error}") from None
