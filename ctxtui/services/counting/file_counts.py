"""Counts files as a model would read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.pricing.rates import Rates, find_rates
from ctxtui.project.file_block import make_file_block
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import table_for
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import prices_for
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights, half_interval, is_exact, prior_weights, weigh
from ctxtui.views.lists.file_counts import FileCount


class FileCounts(Struct, frozen=True):
    """Counts of files for the model of `card`.

    - `half`: half of the 90 % interval of the total, in tokens.
    - `usd`: the price of reading all files once; `cached_usd`: from the cache. None without a known price.
    """

    card: ModelCard
    files: tuple[FileCount, ...]
    half: float
    usd: float | None
    cached_usd: float | None

    @property
    def tokens(self) -> int:
        return sum(file.tokens for file in self.files)


def count_files(files: Sequence[tuple[str, bytes]], model: str, settings: Settings) -> FileCounts:
    """Count `files` (name and content) for `model`."""
    card = table_for(settings).card(model)
    weights, counter = prior_weights(card), Counter()
    parsed = [(name, data, make_file_block(data)) for name, data in files]
    counter.prefetch(card, [file.block for _, _, file in parsed if file.block is not None])
    measure = counter(card)
    counts = []
    for name, data, file in parsed:
        tokens, half = 0, 0.0
        if file.block is not None:
            features = measure(file.block)
            tokens = round(weigh(features, weights))
            half = 0.0 if is_exact(features, weights) else half_interval(features, weights)
        counts.append(FileCount(name=name, kind=file.kind, bytes=len(data), tokens=tokens, half=half, size=file.size))
    total = sum(count.tokens for count in counts)
    rates = find_rates(card.id, card.provider, length=max(1, total), table=prices_for(settings))
    priced = tuple(_with_price(count, rates) for count in counts)
    usd, cached = (total * rates.fresh, total * rates.read) if rates is not None else (None, None)
    return FileCounts(card, priced, total_half_width(priced, weights), usd, cached)


def total_half_width(files: Sequence[FileCount], weights: Weights) -> float:
    """Half of the 90 % interval of the total.

    Errors of single files even out, that of the tokenizer does not.
    """
    estimated = [file for file in files if file.half]
    independent = math.sqrt(sum(file.half**2 for file in estimated))
    common = weights.half_width * sum(file.tokens for file in estimated)
    return min(max(independent, common), sum(file.half for file in estimated))


def _with_price(file: FileCount, rates: Rates | None) -> FileCount:
    if rates is None:
        return file
    return replace(file, usd=file.tokens * rates.fresh, cached_usd=file.tokens * rates.read)
