"""Weights: what one raw feature is worth in tokens of a model, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from msgspec import Struct

from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard


class Weights(Struct, frozen=True):
    """Tokens per unit of each feature.

    `spread` is, per feature, half of the 90 % interval of one block's tokens as a share of them; `half_width` the same
    for a whole context, where the errors of single blocks even out. `exact` says that the encoding is the model's own,
    so that plain text needs no interval; `calibrated` that the factors were learnt from the session's own reports.
    """

    factors: Features
    spread: Features
    half_width: float
    exact: bool
    calibrated: bool = False


def prior(card: ModelCard) -> Weights:
    """The weights of a model family before anything was learnt from the session itself; what is reported counts as
    it is."""
    return Weights(card.factors._replace(reported=1.0), card.spread, card.half_width, card.exact)


def tokens(features: Sequence[float], weights: Weights) -> float:
    """Features x weights."""
    total: float = sum(map(mul, features, weights.factors))
    return total


def slack(features: Features, weights: Weights) -> float:
    """Half of the 90 % interval of one block's tokens: the errors of its features are taken as independent."""
    parts = zip(features, weights.factors, weights.spread, strict=True)
    return math.sqrt(sum((f * w * s) ** 2 for f, w, s in parts))


def is_exact(features: Features, weights: Weights) -> bool:
    """Whether a block with these features is counted by the model's own tokenizer, with no estimate in it. Only plain
    text is, also in results: how calls, definitions, hidden thinking and images are rendered is not published."""
    guessed = features.json or features.tools or features.thinking or features.hidden or features.image
    return weights.exact and not guessed
