"""Counts a recording once and prints the seconds, of processor time and elapsed:
``count_once.py bare|figures|again PATH DB``.

The vocabulary is built and the file read before the clock starts. `figures` is every figure of every block and call,
`again` the same with the counts that the database keeps.
"""

import gc
import sys
import time
from pathlib import Path

from ctxtui.core.block_content import read
from ctxtui.core.session import Session
from ctxtui.services.config.package_data import model_table, vocabulary
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, LocalCounts, count_all
from ctxtui.services.recordings.open import load
from ctxtui.store.store import Store
from ctxtui.tokens.features import Features
from ctxtui.tokens.vocab import ENCODINGS, build_encoding

how, path, place = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
gc.set_threshold(20_000, 20, 100)  # as the program has it
if how == "bare":
    data = vocabulary(ENCODINGS["o200k_base"].vocabulary)
    encoding = build_encoding("o200k_base", data)
else:
    LocalCounts().words(model_table().card("gpt-5"), ["vocabulary"])


def counted(session: Session, counter: Counter) -> None:
    """Every figure of every block."""
    book = book_for(session, counter, Settings())
    count_all(book, counter)
    last = next(reversed(session.calls.values()))
    assert book.forecasts and book.contexts.read_of(last) is not None


def recalled(store: Store) -> Counter:
    """A counter that remembers."""

    def recall(way: str, digests: list[str]) -> dict[str, Features]:
        return {digest: Features(*one) for digest, one in store.load_counts(digests, way).items()}

    return Counter(recall=recall)


with Store.open(place) as store:
    session = load(path).session
    readings = [read(one) for one in session.tree.blocks.values()]
    texts = [text for got in readings for text in (got.name, got.text, got.arguments) if text]
    began, begun = time.perf_counter(), time.process_time()
    if how == "bare":
        for text in texts:
            encoding.encode_ordinary(text)
    elif how == "again":
        counted(session, recalled(store))
    else:
        counter = Counter()
        counted(session, counter)
        for way, new in counter.unsaved().items():
            store.save_counts(new, way)
    print(time.process_time() - begun, time.perf_counter() - began)
