"""Writes ctxtui/data/zstd.dict, with which blocks are packed in the database.

    python scripts/train_dictionary.py

The same samples and the same libzstd give the same bytes; ``--check`` compares and writes nothing. A database carries
the dictionaries it was written with, so a new one only needs a new name: raise `DICTIONARY_ID` in
ctxtui/store/block_codec.py and set `DICTIONARY_SHA256` to what is printed.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import zstandard
from dictionary_samples import samples

from ctxtui.store.block_codec import DICTIONARY_ID, LEVEL

TARGET = Path(__file__).resolve().parent.parent / "ctxtui" / "data" / "zstd.dict"
SIZE = 16 * 1024
COUNT = 6000


def train() -> bytes:
    """The dictionary's bytes. 16 KB: 32 and 64 KB saved nothing more on real sessions."""
    data = list(samples(COUNT))
    # Every parameter is given, so that nothing is searched for and the result depends on the samples alone.
    made = zstandard.train_dictionary(
        SIZE, data, k=512, d=8, f=20, split_point=0.75, accel=1, steps=1, level=LEVEL, dict_id=DICTIONARY_ID
    )
    return made.as_bytes()


if __name__ == "__main__":
    packed = train()
    said = f"{len(packed):,} bytes, id {DICTIONARY_ID}, sha256 {hashlib.sha256(packed).hexdigest()}"
    if "--check" not in sys.argv:
        TARGET.write_bytes(packed)
    elif packed != TARGET.read_bytes():
        raise SystemExit(f"{TARGET.name} is not what this script makes with libzstd {zstandard.ZSTD_VERSION}: {said}")
    print(said)
