"""Calibration: weights learnt from the provider's own reports, call by call.

A recursive ridge regression over raw features. It starts from the model family's factors, each with its doubt, and
takes one report at a time; a report that no set of weights explains (text that the recording lacks) hardly moves it.
Twelve numbers and their covariance, in plain Python: some 20 microseconds a call, nothing is gone through twice.
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
from ctxtui.tokens.weights import Weights, prior

LEARNT: Final = 8
"""Calls that must have taught something before figures are called calibrated."""

_WIDTH: Final = len(Features._fields)
_TEXT, _RESULT, _LETTERS = map(Features._fields.index, ("text", "result", "letters"))
_ANSWERS: Final = _WIDTH
"""Index of the weight beyond the features: what an answer that is taken from its report adds to its output tokens."""
_ANSWER_DOUBT: Final = 5.0
_LETTERS_DOUBT: Final = 0.3
"""Standard deviation of the share by which a tokenizer goes by characters, not by the card's encoding."""
_TEXTS: Final = frozenset(map(Features._fields.index, ("text", "result", "json", "tools", "thinking")))
_ALIKE: Final = 0.5
"""Correlation of the doubts about texts of different kinds: they are cut by one tokenizer."""
_CORRECT: Final = frozenset({"symbols", "letters"})
_CLIP: Final = 1.0
"""Errors beyond this many standard deviations count less and less ..."""
_ABSURD: Final = 4.0
"""... and beyond this many not at all: something entered or left that the recording does not show."""
_DRIFT: Final = 0.02
"""Share of its doubt by which a factor may change from one call to the next: the kind of content changes."""
_IMAGE_DOUBT: Final = 0.3
"""Least standard deviation of what an image counts by: at which detail a provider reads it is seldom in the request."""
_PIECE: Final = 300.0
"""Tokens of a piece of text whose density is independent of that of the next one."""
_ROUNDING: Final = 1.0
"""Tokens by which a report of a whole request is off."""
_NINETY: Final = 1.645
"""Standard deviations in half of a 90 % interval."""


def _together(i: int, j: int) -> float:
    return 1.0 if i == j else _ALIKE if i in _TEXTS and j in _TEXTS else 0.0


def _told(features: Sequence[float], answers: int) -> list[float]:
    """What is learnt from: characters count by how many more or fewer they are than tokens."""
    x = [*features, float(answers)]
    x[_LETTERS] -= x[_TEXT] + x[_RESULT]
    return x


Tokenizer = tuple[object, ...]


def tokenizer(card: ModelCard) -> Tokenizer:
    """What models share that count alike: everything that a calibration begins with."""
    return card.encoding, card.exact, card.plain, card.factors, card.doubt, card.spread, card.half_width, card.noise


_Expected = tuple[float, float, float, list[float]]
"""What some features are expected to come to in tokens, the variance that the weights leave in them and the one of the
blocks, and covariance times features, for the weights that are not certain."""


def _evened(size: float) -> float:
    """The share of the error of a block of `size` tokens that is left when those of its pieces even out."""
    return _PIECE / size if size > _PIECE else 1.0


class Calibration:
    """What is known of the weights of models that count alike: `prior` before any report; `learnt` counts the reports
    that taught.

    `whole` asks for weights under which whole contexts come to what is reported: there a large step says as much more
    than a small one as it has more tokens. Without, the weights foretell single steps, most of which are small.
    """

    def __init__(self, card: ModelCard, *, whole: bool = False) -> None:
        self._card = card
        self._whole = whole
        self.prior = prior(card)
        self._means: list[float] = [*self.prior.factors, 0.0]
        letters = _LETTERS_DOUBT if whole and card.doubt.text else 0.0
        image = max(card.doubt.image, _IMAGE_DOUBT) if whole else card.doubt.image
        doubts: list[float] = [*card.doubt._replace(letters=letters, image=image), _ANSWER_DOUBT]
        # What nothing is doubted of nothing is learnt about: its rows and columns would stay zero.
        self._doubted = doubts
        self._open = [i for i, doubt in enumerate(doubts) if doubt]
        self._cov: list[list[float]] = [
            [doubts[i] * doubts[j] * _together(i, j) for j in self._open] for i in self._open
        ]
        self._last: tuple[Sequence[float], int, _Expected] | None = None
        """What was expected last and of what, as long as nothing more was learnt."""
        self._shares = [share / _NINETY for share in card.spread]
        # Whole contexts hold the content of all calls, not that of the newest alone.
        self._drift = [0.0 if whole else (_DRIFT * doubts[i]) ** 2 for i in self._open]
        self._noise = card.noise**2
        self.learnt = 0

    @property
    def weights(self) -> Weights:
        """The weights as they are now; calibrated once `LEARNT` reports were learnt from, until then those of the card,
        or for whole contexts what the first reports make of them."""
        if self.learnt < (1 if self._whole else LEARNT):
            return self.prior
        known = self.learnt >= LEARNT
        return Weights(self.factors, self.prior.spread, self.prior.half_width, self.prior.exact, calibrated=known)

    @property
    def factors(self) -> Features:
        """Tokens per unit of each feature, as far as is known."""
        found = Features(*self._means[:_WIDTH])
        found = found._replace(text=found.text - found.letters, result=found.result - found.letters)
        # No text takes tokens away, whatever a report says; only what corrects a count may.
        kept = [w if name in _CORRECT else max(0.0, w) for name, w in zip(Features._fields, found, strict=True)]
        return Features(*kept) if self._whole else found

    def tokens(self, features: Sequence[float], answers: int = 0) -> float:
        """What `features` are expected to come to, with `answers` (0 or 1) answers taken from their reports."""
        return float(sum(map(mul, _told(features, answers), self._means)))

    def deviation(self, features: Sequence[float], answers: int = 0) -> float:
        """The standard deviation of `tokens`, in tokens: of the weights, of the blocks, and of what is unexplained."""
        return self.expected(features, answers)[1]

    def expected(self, features: Sequence[float], answers: int = 0) -> tuple[float, float]:
        """`tokens` and their `deviation`."""
        tokens, of_weights, of_blocks, _ = self._expected(features, answers)
        return tokens, math.sqrt(of_weights + of_blocks)

    def _expected(self, features: Sequence[float], answers: int) -> _Expected:
        last = self._last
        if last is not None and last[0] == features and last[1] == answers:
            # What was foretold is learnt from next.
            return last[2]
        x, means = _told(features, answers), self._means
        own = list(compress(x, self._doubted))
        gains = self._gains(own)
        parts = list(map(mul, map(mul, features, means), self._shares))
        found = (
            float(sum(map(mul, x, means))),
            float(sum(map(mul, gains, own))),
            self._noise + float(sum(map(mul, parts, parts))),
            gains,
        )
        self._last = features, answers, found
        return found

    def _gains(self, own: Sequence[float]) -> list[float]:
        """Covariance times `own`, in the order of the rows: it is symmetric, so that its rows are its columns."""
        gains = none = [0.0] * len(own)
        # Most of a step's features are zero; three rows at a time take little longer than one.
        rows = [(v, row) for v, row in zip(own, self._cov, strict=False) if v]
        rows += [(0.0, none)] * (-len(rows) % 3)
        three = iter(rows)
        for (u, one), (v, two), (w, more) in zip(three, three, three, strict=False):
            gains = [gain + u * a + v * b + w * c for gain, a, b, c in zip(gains, one, two, more, strict=False)]
        return gains

    def _of_pieces(self, features: Sequence[float]) -> float:
        """As `_of_blocks`, where the errors of the pieces of a large block even out."""
        sizes = list(map(mul, features, self._means))
        parts = [
            (size * share) ** 2 * _evened(abs(size)) for size, share in zip(sizes, self._shares, strict=False) if size
        ]
        return self._noise + float(sum(parts))

    def learn(self, features: Sequence[float], tokens: float, answers: int = 0, *, at_most: bool = False) -> bool:
        """Take in that `features` (and `answers`) came to `tokens`; whether that taught anything. `at_most` says that
        there is nothing else in these tokens, so that only rounding makes them less sure."""
        expected, explained, noise, gains = self._expected(features, answers)
        error = tokens - expected
        far = abs(error) / math.sqrt(explained + noise) / _CLIP
        if far >= _ABSURD:
            return False
        if at_most:
            noise, far = _ROUNDING**2, 1.0
        elif self._whole:
            # Text that no record holds adds tokens, nothing takes any away: only what is too much is doubted.
            noise, far = self._of_pieces(features), far if error > 0 else 1.0
        spread = explained + noise * max(1.0, far) ** 2
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


SHARE: Final = 0.9
"""The share of reports that an interval is meant to hold."""
_MEMORY: Final = 120
"""Errors that are remembered; older ones go."""
_STEP: Final = 0.01
"""How much one miss widens the share aimed at (adaptive conformal inference, Gibbs and Candès 2021)."""


class Errors:
    """Past errors over their deviations. It begins with `typical` ones, of other sessions, which count as seen."""

    def __init__(self, typical: tuple[float, ...]) -> None:
        self._sorted = sorted(typical)
        self._order = list(typical)
        self._outside = 1 - SHARE
        self._bounds: tuple[float, float] | None = None
        """As long as nothing more was learnt."""

    def bounds(self) -> tuple[float, float]:
        """The interval for the next error, in deviations: (low, high), low <= 0 <= high."""
        if self._bounds is None:
            each = min(max(self._outside, 0.01), 0.4) / 2
            self._bounds = min(0.0, self._at(each)), max(0.0, self._at(1 - each))
        return self._bounds

    def _at(self, share: float) -> float:
        values = self._sorted
        place = share * (len(values) + 1) - 1
        low, last = int(place), len(values) - 1
        if place <= 0.0 or low >= last:
            return values[0 if place <= 0.0 else last]
        return values[low] + (values[low + 1] - values[low]) * (place - low)

    def learn(self, error: float) -> None:
        """Take in one error; where the interval did not hold it the next ones are wider."""
        low, high = self.bounds()
        self._bounds = None
        self._outside += _STEP * ((1 - SHARE) - (not low <= error <= high))
        self._order.append(error)
        insort(self._sorted, error)
        if len(self._order) > _MEMORY:
            oldest = self._order.pop(0)
            del self._sorted[bisect_left(self._sorted, oldest)]
