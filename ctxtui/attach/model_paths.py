"""At which paths a model is asked: what else a program says over the network is none of our business."""

from __future__ import annotations

import re
from typing import Final

_ASKS: Final = re.compile(
    r"/(?:messages|messages/count_tokens|chat/completions|completions|responses|responses/input_tokens|responses/compact"
    r"|invoke|invoke-with-response-stream|converse|converse-stream)$|:(?:rawPredict|streamRawPredict|generateContent"
    r"|streamGenerateContent)$|/api/(?:chat|generate)$"
)


def asks_at(path: str) -> bool:
    """Whether a model is asked to read something at a path (without its query)."""
    return bool(_ASKS.search(path))
