"""Short names of models, for rows and sentences."""

from __future__ import annotations

import re
from typing import Final

_NOISE: Final = re.compile(
    r"^(?:[\w.:-]+/)*(?:(?:us|us-gov|eu|apac|au|ca|jp|global)\.)?(?:anthropic\.)?(?:claude-)?"
    r"|-v\d+:\d+(?::\w+)?$|(?<=-\d)-v\d+$|(?:-v\d+)?[-@]20\d{6}\b|-20\d\d-\d\d-\d\d\b|-latest$|@default$"
)


def short_model(model: str) -> str:
    """Shorten a model's id: ``claude-opus-4-20250514`` is ``opus-4``."""
    cut = _NOISE.sub("", model)
    # Few names begin with a digit: the pattern is compiled for these only.
    turned = re.fullmatch(r"(\d+(?:-\d+)?)-(opus|sonnet|haiku)(?:-v\d+)?", cut) if cut[:1].isdecimal() else None
    return f"{turned[2]}-{turned[1]}" if turned else cut or model
