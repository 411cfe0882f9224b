"""Plain estimators of other tools, to reproduce their figures.

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
"""Functions that count the tokens of a text, by name; the name replaces that of an encoding."""

_TEXTS: Final = Features(text=1.0, result=1.0, json=1.0, tools=1.0, thinking=1.0)
_SPREAD: Final = Features(text=0.5, result=0.5, json=0.5, tools=0.5, thinking=0.5)
"""Half of the 90 % interval of an estimate, as a share of it."""


def estimator_rule(name: str) -> ModelRule:
    """Rule that counts every model's texts by estimator `name`, without their framing."""
    figures = {
        "encoding": name,
        "exact": False,
        "plain": True,
        "tool_rule": "json",
        "factors": _TEXTS._asdict(),
        "spread": _SPREAD._asdict(),
        "doubt": NOTHING._asdict(),
        "half_width": 0.5,
        "noise": 20.0,
    }
    return ModelRule(("*",), figures, f"estimator {name}")
