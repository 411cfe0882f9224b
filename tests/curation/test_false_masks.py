"""What is no secret stays: at most one mask in 10,000 words of recordings that hold none."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.scrubbing import mask_session
from ctxtui.services.recordings.open_by_name import Named, open_named
from tests.corpus import CORPUS, ROOT

WORD = re.compile(rb"\S+")
LARGEST = 5_000_000


def masks_in(paths: list[Path], level: Level) -> tuple[int, Counter[str]]:
    """Words of the recordings in `paths`, and what is masked in a copy of each."""
    seen: set[str] = set()
    found: Counter[str] = Counter()
    words = 0
    for path in paths:
        try:
            session = open_named(Named(path=path), Settings()).session
        except (CtxtuiError, ValueError):
            continue
        masker = _Listing(level)
        mask_session(session, "copy", masker)
        fresh = {digest: block for digest, block in session.tree.blocks.items() if digest not in seen}
        seen.update(fresh)
        words += sum(len(WORD.findall(block.body)) for block in fresh.values())
        found += Counter(f"{path.name}: {name}: {secret[:80]!r}" for name, secret in masker.found)
    return words, found


class _Listing(Masker):
    def __init__(self, level: Level) -> None:
        super().__init__(mask_rules(), level)
        self.found: list[tuple[str, str]] = []

    def _make_mask(self, kind: str, secret: str) -> str:
        self.found.append((kind, secret))
        return super()._make_mask(kind, secret)


def recordings(folder: Path) -> list[Path]:
    return [
        p for p in sorted(folder.rglob("*")) if p.is_file() and "LICENSES" not in p.parts and p.stat().st_size < LARGEST
    ]


def check(paths: list[Path]) -> None:
    words, found = masks_in(paths, Level.SECRETS)
    listed = "\n".join(f"{n} x {what}" for what, n in found.most_common())
    print(f"{sum(found.values())} masks in {words:,} words\n{listed}")
    assert words, "nothing was read"
    assert sum(found.values()) <= words / 10_000, listed


def test_few_masks_in_the_samples() -> None:
    check(recordings(ROOT / "sessions"))


@pytest.mark.slow
def test_few_masks_in_the_corpus() -> None:
    paths = recordings(CORPUS) if CORPUS.is_dir() else []
    if not paths:
        pytest.skip("corpus absent")
    check(paths)
