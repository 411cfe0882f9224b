"""Rules for holding requests of other programs, by their bodies or by their forecasts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from ctxtui.core.errors import BadConfig
from ctxtui.services.attach.preparation.preparer_client import ForecastSummary

BYTES_PER_TOKEN: Final = 4
"""A rough estimate: the rule decides at once, without a tokenizer."""


def estimate_tokens(size: int) -> int:
    return size // BYTES_PER_TOKEN


class HoldRules(Struct, frozen=True, kw_only=True):
    """Conditions for holding a request; any one suffices.

    Requests for a title or a count are held for `secret` only.

    - `each`: every request.
    - `tokens`: more than about so many tokens; 0: off.
    - `usd`: more expensive than this; 0: off.
    - `miss`: it is forecast to miss the cache.
    - `pattern`: it is found in the body.
    - `secret`: a block has a secret, unless the block was held for it and then sent.
    - `repeats`: the same calls got the same answers so often in a row (or a multiple of that); 0: off.
    - `compaction`: the client compacts its history; the answer is held, or the request where that is not possible.
    """

    each: bool = False
    tokens: int = 0
    usd: float = 0.0
    miss: bool = False
    pattern: re.Pattern[bytes] | None = None
    secret: bool = False
    repeats: int = 0
    compaction: bool = False

    def __bool__(self) -> bool:
        by_content = self.pattern or self.needs_blocks or self.compaction
        return bool(self.each or self.tokens or self.needs_forecast or by_content)

    @property
    def needs_blocks(self) -> bool:
        return bool(self.secret or self.repeats)

    @property
    def needs_forecast(self) -> bool:
        return bool(self.usd or self.miss)

    def reason(self, body: bytes) -> str:
        """The reason to hold a request with this body by `tokens`, `pattern` or `each`; "" if none."""
        estimate = estimate_tokens(len(body))
        if self.tokens and estimate > self.tokens:
            return f"about {estimate:,} tokens, over {self.tokens:,}"
        if self.pattern is not None and self.pattern.search(body):
            return f"{self.pattern.pattern.decode('utf-8', 'replace')} is in it"
        return "each request is held" if self.each else ""

    def forecast_reason(self, forecast: ForecastSummary | None) -> str:
        """The reason to hold a request with this forecast; "" if none, or without a forecast."""
        if forecast is None:
            return ""
        if self.usd and forecast.usd is not None and forecast.usd > self.usd:
            return f"it will cost about ${forecast.usd:.3f}, over ${self.usd:g}"
        return f"it will miss the cache: {forecast.miss}" if self.miss and forecast.miss else ""

    @property
    def descriptions(self) -> tuple[str, ...]:
        lines = ["each request"] if self.each else []
        lines += [f"over {self.tokens:,} tokens"] if self.tokens else []
        lines += [f"over ${self.usd:g}"] if self.usd else []
        lines += ["on a forecast miss"] if self.miss else []
        lines += ["on a secret"] if self.secret else []
        lines += [f"on {self.repeats} repeats"] if self.repeats else []
        lines += ["on a compaction"] if self.compaction else []
        return tuple(lines + ([f"with {self.pattern.pattern.decode('utf-8', 'replace')}"] if self.pattern else []))


SEPARATOR: Final = ", "
REPEATS_RULE: Final = re.compile(r"(?:on\s+)?([1-9][0-9]{0,3})\s+repeats")
"""``3 repeats``, with the number as group 1."""
LIMIT_RULE: Final = re.compile(r"over\s+(\$)?\s*([0-9][0-9,_.]*)\s*([kKM]?)(?:\s+tokens)?")
"""``over $0.5`` or ``over 100k tokens``: the dollar sign, the number, its unit."""


def parse_rules(text: str) -> dict[str, Any]:
    """Parse a line of rules (as in `HoldRules.descriptions`) for `rules_from_options`.

    "" and ``off`` give none. ``with REGEX`` must be the last rule. Raises `BadConfig`.
    """
    options: dict[str, Any] = {}
    text, has_pattern, pattern = text.partition("with ")
    if has_pattern:
        options["pattern"] = pattern.strip()
    # A comma may also separate thousands.
    for part in filter(None, re.split(r"\s*;\s*|,\s+|,$", text.strip())):
        limit = LIMIT_RULE.fullmatch(part)
        if limit is not None and (number := _number(limit[2], limit[3])) is not None:
            options["usd" if limit[1] else "tokens"] = number
        elif part in ("each", "each request"):
            options["each"] = True
        elif part in ("miss", "on a forecast miss"):
            options["miss"] = True
        elif part in ("secret", "on a secret"):
            options["secret"] = True
        elif part in ("compaction", "on a compaction"):
            options["compaction"] = True
        elif repeats := REPEATS_RULE.fullmatch(part):
            options["repeats"] = int(repeats[1])
        elif part != "off":
            raise BadConfig(f"{part!r} is not a rule", way_out=f"write {RULES_SPELLED}")
    rules_from_options(options)
    return options


RULES_SPELLED: Final = SEPARATOR.join(
    ("each", "over $0.5", "over 100k", "miss", "secret", "3 repeats", "compaction", "with REGEX", "off")
)
"""Examples of the syntax of rules."""


def _number(text: str, unit: str) -> float | None:
    try:
        return float(text.replace(",", "").replace("_", "")) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6}[unit]
    except ValueError:
        return None


def rules_from_options(options: Mapping[str, Any]) -> HoldRules:
    """Make rules from options, named as the fields of `HoldRules`. Raises `BadConfig`."""
    pattern = str(options.get("pattern") or "")
    try:
        return HoldRules(
            each=bool(options.get("each")),
            tokens=max(0, int(options.get("tokens") or 0)),
            usd=max(0.0, float(options.get("usd") or 0)),
            miss=bool(options.get("miss")),
            pattern=re.compile(pattern.encode()) if pattern else None,
            secret=bool(options.get("secret")),
            repeats=max(0, int(options.get("repeats") or 0)),
            compaction=bool(options.get("compaction")),
        )
    except (re.error, RecursionError) as error:
        raise BadConfig(f"{pattern!r} is not a regular expression: {error}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise BadConfig(f"not a hold rule: {error}") from None
