"""What files would come to if a model read them: tokens with their interval, and the price of reading them once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.pricing.rates import Rates, find_rates
from ctxtui.project.file_block import file_block
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import table_for
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import prices_for
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights, half_interval, is_exact, prior_weights, weigh
from ctxtui.views.lists.file_counts import FileCount


class FileCounts(Struct, frozen=True):
    """Files as the model of `card` would read them. `half` is half of the 90 % interval of all tokens together."""

    card: ModelCard
    files: tuple[FileCount, ...]
    half: float
    usd: float | None
    cached_usd: float | None

    @property
    def tokens(self) -> int:
        """All of them."""
        return sum(one.tokens for one in self.files)


def count_files(files: Sequence[tuple[str, bytes]], model: str, settings: Settings) -> FileCounts:
    """What `files` (name and content) would come to for `model`."""
    card = table_for(settings).card(model)
    weights, counter = prior_weights(card), Counter()
    read = [(name, data, file_block(data)) for name, data in files]
    counter.prefetch(card, [found.block for _, _, found in read if found.block is not None])
    measure = counter(card)
    found = []
    for name, data, seen in read:
        count, half = 0, 0.0
        if seen.block is not None:
            features = measure(seen.block)
            count = round(weigh(features, weights))
            half = 0.0 if is_exact(features, weights) else half_interval(features, weights)
        found.append(FileCount(name=name, kind=seen.kind, bytes=len(data), tokens=count, half=half, size=seen.size))
    total = sum(one.tokens for one in found)
    by = find_rates(card.id, card.provider, length=max(1, total), table=prices_for(settings))
    priced = tuple(_priced(one, by) for one in found)
    usd, cached = (total * by.fresh, total * by.read) if by is not None else (None, None)
    return FileCounts(card, priced, half_of(priced, weights), usd, cached)


def half_of(files: Sequence[FileCount], weights: Weights) -> float:
    """Half of the 90 % interval of all tokens together: errors of single files even out, that of the model's tokenizer
    does not."""
    guessed = [one for one in files if one.half]
    apart = math.sqrt(sum(one.half**2 for one in guessed))
    together = weights.half_width * sum(one.tokens for one in guessed)
    return min(max(apart, together), sum(one.half for one in guessed))


def _priced(one: FileCount, by: Rates | None) -> FileCount:
    if by is None:
        return one
    return replace(one, usd=one.tokens * by.fresh, cached_usd=one.tokens * by.read)
