"""Counting an answer of 20,000 tokens while it streams in, ten times a second, against one count of it (goal G7)."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.measure import Result, ratio
from benchmarks.subject import calibration
from ctxtui.core import block as blocks
from ctxtui.services.config.package_data import model_table, vocabulary
from ctxtui.services.counting.counting import LocalCounts
from ctxtui.services.counting.live_count import LiveCount
from ctxtui.tokens.vocab import ENCODINGS, build_encoding
from ctxtui.tokens.weights import tokens
from tests.cases.words import Words

CHARACTERS = 90_000
CHUNK, EACH = 16, 10
"""Characters of a piece, and pieces between two counts: 400 tokens a second, counted ten times a second."""


def results(folder: Path, runs: int) -> list[Result]:
    """Processor time of all counts together, and how far the last one is off. `folder` is not used."""
    table = model_table()
    card = table.card("gpt-5.1")
    bench, words = LocalCounts(), Words(3)
    lines = iter(lambda: words.about(70), "")
    text = "\n".join(next(lines) for _ in range(CHARACTERS // 70))
    bench.features(card, [blocks.text(text)])
    off = 0

    data = vocabulary(ENCODINGS[card.encoding].vocabulary)
    exactly = build_encoding(card.encoding, data)

    def whole() -> float:
        begun = time.process_time()
        exactly.encode_ordinary(text)
        return time.process_time() - begun

    def streamed() -> float:
        nonlocal off
        live = LiveCount(bench, card, table_weights)
        begun = time.process_time()
        last: dict[int, int] = {}
        for number, start in enumerate(range(0, len(text), CHUNK), 1):
            live.feed(0, "text", text[start : start + CHUNK])
            if number % EACH == 0:
                last = live.advance()
        last = live.advance() or last
        spent = time.process_time() - begun
        off = abs(last[0] - exact)
        return spent

    table_weights = calibration(card).weights
    exact = round(tokens(bench.features(card, [blocks.text(text)])[0], table_weights))
    found = ratio(streamed, whole, runs)
    note = f"{found[1] * 1e3:.0f} / {found[2] * 1e3:.0f} ms, {exact:,} tokens"
    return [
        Result("G7", "counting an answer while it streams in", "one count of it by tiktoken", found[0], 3.0, note=note),
        Result("G7", "its last count, off by", "one count at its end", float(off), 0.0, "tokens"),
    ]
