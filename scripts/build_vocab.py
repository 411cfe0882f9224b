"""Writes ctxtui/data/vocab/*.tiktoken.xz from a wheel that carries tiktoken's vocabulary files.

    pip download --no-deps llama-index-core==0.14.25 -d /tmp/wheels
    python scripts/build_vocab.py /tmp/wheels/llama_index_core-0.14.25-py3-none-any.whl

Inside the wheel a vocabulary is named by the SHA-1 of the address tiktoken would fetch it from. Nothing is written
unless its SHA-256 is the one that tiktoken itself expects.
"""

from __future__ import annotations

import lzma
import sys
import zipfile
from pathlib import Path, PurePosixPath

from ctxtui.tokens.vocab import check_vocabulary

TARGET = Path(__file__).resolve().parent.parent / "ctxtui" / "data" / "vocab"
WHEEL_NAMES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}


def build(wheel: Path) -> None:
    """Extract, check and compress both vocabularies from `wheel`."""
    with zipfile.ZipFile(wheel) as archive:
        by_name = {PurePosixPath(name).name: name for name in archive.namelist()}
        for encoding, wheel_name in WHEEL_NAMES.items():
            if wheel_name not in by_name:
                raise SystemExit(f"{wheel} holds no file {wheel_name} ({encoding})")
            raw = archive.read(by_name[wheel_name])
            check_vocabulary(encoding, raw)
            packed = lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME)
            path = TARGET / f"{encoding}.tiktoken.xz"
            path.write_bytes(packed)
            print(f"{path.name}: {len(raw):,} -> {len(packed):,} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    build(Path(sys.argv[1]))
