"""Short names for models."""

from __future__ import annotations

import re
from typing import Final

_NOISE: Final = re.compile(
    r"^(?:[\w.-]+/)*(?:us\.|eu\.|apac\.|global\.)?(?:anthropic\.)?(?:claude-)?|-v\d+:\d+$|[-@]20\d{6}\b|-20\d\d-\d\d-\d\d\b|-latest$"
)
"""Parts of a model's id that its common name lacks: provider, region, version, date."""


def short_model(model: str) -> str:
    """Shorten a model's id to its common name: ``claude-opus-4-20250514`` is ``opus-4``."""
    cut = _NOISE.sub("", model)
    # Few names begin with a digit: the pattern is compiled for these only.
    turned = re.fullmatch(r"(\d+(?:-\d+)?)-(opus|sonnet|haiku)", cut) if cut[:1].isdecimal() else None
    return f"{turned[2]}-{turned[1]}" if turned else cut or model
