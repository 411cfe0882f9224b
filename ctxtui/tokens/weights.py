"""Weights: tokens of a model for one unit of each raw feature, and their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from msgspec import Struct

from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard


class Weights(Struct, frozen=True):
    """Tokens per unit of each feature.

    - `spread`: for each feature, half of the 90 % interval of one block's tokens, as a share of these tokens.
    - `half_width`: half of the 90 % interval of a whole context as a share: errors of single blocks even out there.
    - `exact`: the encoding is the model's own, so that plain text needs no interval.
    - `calibrated`: the factors were learnt from the session's own reports.
    """

    factors: Features
    spread: Features
    half_width: float
    exact: bool
    calibrated: bool = False


def prior_weights(card: ModelCard) -> Weights:
    """Weights of a model family before anything is learnt from the session."""
    return Weights(card.factors._replace(reported=1.0), card.spread, card.half_width, card.exact)


def weigh(features: Sequence[float], weights: Weights) -> float:
    total: float = sum(map(mul, features, weights.factors))
    return total


def half_interval(features: Features, weights: Weights) -> float:
    """Half of the 90 % interval of one block's tokens, with independent errors of its features."""
    parts = zip(features, weights.factors, weights.spread, strict=True)
    return math.sqrt(sum((f * w * s) ** 2 for f, w, s in parts))


def is_exact(features: Features, weights: Weights) -> bool:
    """Whether a block with these features is counted by the model's own tokenizer.

    False for blocks with calls, definitions, thinking or images: how these are rendered is not published.
    """
    guessed = features.json or features.tools or features.thinking or features.hidden
    return weights.exact and not (guessed or features.image or features.pages)
