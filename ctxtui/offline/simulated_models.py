"""The models whose own rules the offline provider knows."""

from __future__ import annotations

from ctxtui.offline.anthropic.models import OFFLINE, claude
from ctxtui.offline.google.models import gemini
from ctxtui.offline.openai.models import gpt


def is_simulated(model: str) -> bool:
    """Whether an API has rules of its own for `model`; others would use those of `OFFLINE`."""
    return model != OFFLINE and any((claude(model), gpt(model), gemini(model)))
