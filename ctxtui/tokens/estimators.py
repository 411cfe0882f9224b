"""Estimates of tokens as other tools make them (characters / 4), to reproduce their figures.

They count the text alone and are never calibrated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.tokens.features import NOTHING, Features
from ctxtui.tokens.models import ModelRule

ESTIMATORS: Final[dict[str, Callable[[str], int]]] = {
    "chars/4": lambda text: -(-len(text) // 4),
    "words*1.3": lambda text: round(1.3 * len(text.split())),
}
"""Functions that count a text's tokens, by the name that a model card has in place of an encoding."""

_TEXT_FACTORS: Final = Features(text=1.0, result=1.0, json=1.0, tools=1.0, thinking=1.0)
_HALF_WIDTH: Final = 0.5
"""Half of the 90 % interval of an estimate, as a share of it."""


def estimator_rule(name: str) -> ModelRule:
    """Rule that counts every model's texts by estimator `name`, without their framing."""
    figures = {
        "encoding": name,
        "exact": False,
        "plain": True,
        "tool_rule": "json",
        "factors": _TEXT_FACTORS._asdict(),
        "spread": {feature: _HALF_WIDTH * factor for feature, factor in _TEXT_FACTORS._asdict().items()},
        "doubt": NOTHING._asdict(),
        "half_width": _HALF_WIDTH,
        "noise": 20.0,
    }
    return ModelRule(("*",), figures, f"estimator {name}")
