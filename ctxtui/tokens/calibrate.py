"""Calibration: learns the weights of features from the provider's own reports, call by call.

It is a recursive ridge regression over raw features, which starts from the model family's factors, each with its
standard deviation. A report far from what is expected (text that the recording lacks) gets less weight, or none.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import compress
from operator import mul
from typing import Final

from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights, prior_weights

MIN_REPORTS: Final = 8
"""Number of learnt reports from which on figures are called calibrated."""

_TEXT, _RESULT, _LETTERS = map(Features._fields.index, ("text", "result", "letters"))
_ANSWER_DOUBT: Final = 5.0
"""Standard deviation of the weight of an answer taken from its report, in tokens."""
_LETTERS_DOUBT: Final = 0.3
"""Standard deviation of the weight of `Features.letters`, which shows that a tokenizer differs from the card's."""
_TEXTS: Final = frozenset(map(Features._fields.index, ("text", "result", "json", "tools", "thinking")))
_TEXT_CORRELATION: Final = 0.5
"""Correlation of the errors on texts of different kinds, which share one tokenizer."""
_CORRECTIONS: Final = frozenset({"symbols", "letters"})
"""Features that only correct the count of texts."""
_MAX_DEVIATIONS: Final = 4.0
"""A report whose error is more standard deviations is not learnt.

In such a call, something was added or removed that the recording does not show.
"""
_DRIFT: Final = 0.02
"""Share of its standard deviation by which a factor may change between calls, because the kind of content changes."""
_IMAGE_DOUBT: Final = 0.3
"""Least standard deviation of an image's weight in whole contexts.

The detail at which a provider reads an image is seldom in the request.
"""
_PIECE_TOKENS: Final = 300.0
"""Tokens in a piece of text; tokens per character of one piece are assumed to be independent of the next."""
_ROUNDING_TOKENS: Final = 1.0
"""Rounding error of a report of a whole request, in tokens."""
_DEVIATIONS_90: Final = 1.645
"""Standard deviations in half of a 90 % interval."""


def _correlation(i: int, j: int) -> float:
    return 1.0 if i == j else _TEXT_CORRELATION if i in _TEXTS and j in _TEXTS else 0.0


def _regression_input(features: Sequence[float], answers: int) -> list[float]:
    """The features for the regression, with ``letters`` as its difference from the tokens."""
    x = [*features, float(answers)]
    x[_LETTERS] -= x[_TEXT] + x[_RESULT]
    return x


TokenizerKey = tuple[object, ...]


def tokenizer_key(card: ModelCard) -> TokenizerKey:
    """Key of models that count alike: everything that a calibration starts from."""
    return card.encoding, card.exact, card.plain, card.factors, card.doubt, card.spread, card.half_width, card.noise


_Expected = tuple[float, float, float, list[float]]
"""Expected tokens, variance from the weights, variance from the blocks, and the covariance times the features of the
uncertain weights.
"""


class Calibration:
    """Weights learnt for models that count alike.

    - `learnt`: number of reports used.
    - `whole`: the weights are fitted to whole contexts, where a large step (what one call adds) counts more than a
      small one. Otherwise they are fitted to predict single steps, most of which are small.
    """

    def __init__(self, card: ModelCard, *, whole: bool = False) -> None:
        self._card = card
        self._whole = whole
        self.prior = prior_weights(card)
        self._means: list[float] = [*self.prior.factors, 0.0]
        letters = _LETTERS_DOUBT if whole and card.doubt.text else 0.0
        image = max(card.doubt.image, _IMAGE_DOUBT) if whole else card.doubt.image
        doubts: list[float] = [*card.doubt._replace(letters=letters, image=image), _ANSWER_DOUBT]
        # Weights without uncertainty are never learnt: their rows and columns would stay zero.
        self._doubted = doubts
        self._open = [i for i, doubt in enumerate(doubts) if doubt]
        self._cov: list[list[float]] = [
            [doubts[i] * doubts[j] * _correlation(i, j) for j in self._open] for i in self._open
        ]
        self._last: tuple[Sequence[float], int, _Expected] | None = None
        """The last expectation and its input, until the next report is learnt."""
        self._shares = [share / _DEVIATIONS_90 for share in card.spread]
        # Whole contexts hold the content of all calls, so the kind of content does not drift.
        self._drift = [0.0 if whole else (_DRIFT * doubts[i]) ** 2 for i in self._open]
        self._noise = card.noise**2
        self.learnt = 0

    @property
    def weights(self) -> Weights:
        """Weights learnt from reports, or the card's while those are too few.

        A fit to whole contexts needs one report, a fit to steps `MIN_REPORTS`.
        """
        if self.learnt < (1 if self._whole else MIN_REPORTS):
            return self.prior
        calibrated = self.learnt >= MIN_REPORTS
        return Weights(self.factors, self.prior.spread, self.prior.half_width, self.prior.exact, calibrated=calibrated)

    @property
    def factors(self) -> Features:
        """Current tokens per unit of each feature."""
        factors = Features(*self._means[:-1])
        factors = factors._replace(text=factors.text - factors.letters, result=factors.result - factors.letters)
        # Text cannot have negative tokens; only features that correct a count may have a negative factor.
        clipped = [
            w if name in _CORRECTIONS else max(0.0, w) for name, w in zip(Features._fields, factors, strict=True)
        ]
        return Features(*clipped) if self._whole else factors

    def tokens(self, features: Sequence[float], answers: int = 0) -> float:
        """Expected tokens of `features`, with `answers` (0 or 1) answers taken from their reports."""
        return float(sum(map(mul, _regression_input(features, answers), self._means)))

    def expect(self, features: Sequence[float], answers: int = 0) -> tuple[float, float]:
        """Return `tokens` and their standard deviation: from weights, blocks, and unexplained noise."""
        tokens, of_weights, of_blocks, _ = self._expect(features, answers)
        return tokens, math.sqrt(of_weights + of_blocks)

    def _expect(self, features: Sequence[float], answers: int) -> _Expected:
        last = self._last
        if last is not None and last[0] == features and last[1] == answers:
            # `learn` usually follows with the same features.
            return last[2]
        x, means = _regression_input(features, answers), self._means
        uncertain = list(compress(x, self._doubted))
        gains = self._multiply_covariance(uncertain)
        parts = list(map(mul, map(mul, features, means), self._shares))
        expected = (
            float(sum(map(mul, x, means))),
            float(sum(map(mul, gains, uncertain))),
            self._noise + float(sum(map(mul, parts, parts))),
            gains,
        )
        self._last = features, answers, expected
        return expected

    def _multiply_covariance(self, uncertain: Sequence[float]) -> list[float]:
        """Multiply the covariance by `uncertain`; it is symmetric, so rows are columns."""
        gains = none = [0.0] * len(uncertain)
        # Most of a step's features are zero; adding three rows at a time takes little longer than one.
        rows = [(v, row) for v, row in zip(uncertain, self._cov, strict=False) if v]
        rows += [(0.0, none)] * (-len(rows) % 3)
        three = iter(rows)
        for (u, first), (v, two), (w, more) in zip(three, three, three, strict=False):
            gains = [gain + u * a + v * b + w * c for gain, a, b, c in zip(gains, first, two, more, strict=False)]
        return gains

    def _piece_variance(self, features: Sequence[float]) -> float:
        """Noise variance when the errors of the pieces of a large block even out."""
        sizes = list(map(mul, features, self._means))
        parts = [
            (size * share) ** 2 * (_PIECE_TOKENS / max(abs(size), _PIECE_TOKENS))
            for size, share in zip(sizes, self._shares, strict=False)
        ]
        return self._noise + float(sum(parts))

    def learn(self, features: Sequence[float], tokens: float, answers: int = 0, *, at_most: bool = False) -> bool:
        """Learn that `features` (and `answers`) had `tokens` tokens.

        Returns False, and learns nothing, if `tokens` is too far from what is expected. `at_most`: `tokens` is an upper
        bound, which only rounding makes less certain.
        """
        expected, explained, noise, gains = self._expect(features, answers)
        error = tokens - expected
        deviations = abs(error) / math.sqrt(explained + noise)
        if deviations >= _MAX_DEVIATIONS:
            return False
        if at_most:
            noise, deviations = _ROUNDING_TOKENS**2, 1.0
        elif self._whole:
            # Unrecorded text only adds tokens, so only a positive error gets less weight.
            noise, deviations = self._piece_variance(features), deviations if error > 0 else 1.0
        spread = explained + noise * max(1.0, deviations) ** 2
        self._last = None
        moved = [(i, gain) for i, gain in enumerate(gains) if gain]
        for i, own in moved:
            share = own / spread
            row = self._cov[i]
            self._means[self._open[i]] += share * error
            for j, gain in moved:
                row[j] -= share * gain
            row[i] += self._drift[i]
        self.learnt += 1
        return True


COVERAGE: Final = 0.9
"""Share of reports that an interval is meant to contain."""
_MAX_ERRORS: Final = 120
_STEP: Final = 0.01
"""Step by which an interval is adapted: it widens after each error outside it and narrows a little after others.

The method is adaptive conformal inference (Gibbs and Candès 2021).
"""


class Errors:
    """Past errors divided by their standard deviations, for the interval of the next error.

    It starts with the errors `typical`.
    """

    def __init__(self, typical: tuple[float, ...]) -> None:
        self._sorted = sorted(typical)
        self._order = list(typical)
        self._outside = 1 - COVERAGE
        self._bounds: tuple[float, float] | None = None
        """Cached until the next error is learnt."""

    def bounds(self) -> tuple[float, float]:
        """Interval for the next error, in deviations: (low, high), low <= 0 <= high."""
        if self._bounds is None:
            each = min(max(self._outside, 0.01), 0.4) / 2
            self._bounds = min(0.0, self._quantile(each)), max(0.0, self._quantile(1 - each))
        return self._bounds

    def _quantile(self, share: float) -> float:
        values = self._sorted
        place = share * (len(values) + 1) - 1
        low, last = int(place), len(values) - 1
        if place <= 0.0 or low >= last:
            return values[0 if place <= 0.0 else last]
        return values[low] + (values[low + 1] - values[low]) * (place - low)

    def learn(self, error: float) -> None:
        """Add the next error, in standard deviations, and adapt the interval."""
        low, high = self.bounds()
        self._bounds = None
        self._outside += _STEP * ((1 - COVERAGE) - (not low <= error <= high))
        self._order.append(error)
        insort(self._sorted, error)
        if len(self._order) > _MAX_ERRORS:
            oldest = self._order.pop(0)
            del self._sorted[bisect_left(self._sorted, oldest)]
