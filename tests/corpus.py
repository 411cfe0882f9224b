"""Where the recordings are that tests read but the repository does not hold.

`CTXTUI_CORPUS` names the folder; by default it is `../shared/corpus` beside the checkout. A test that needs it is
skipped where it is absent, and the run's last lines say how many were.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("CTXTUI_CORPUS") or ROOT.parent / "shared" / "corpus")
ABSENT = "corpus absent"


def corpus_files(folder: str, pattern: str = "*") -> list[Path]:
    """The files of one corpus folder, sorted by name; empty where the corpus is absent."""
    return sorted(path for path in (CORPUS / folder).glob(pattern) if path.is_file())


def every_recording() -> list[object]:
    """`pytest.param`s, one per file of the corpus that may be a session (id: its path); one skipped where there is
    none."""
    found = (path for path in sorted(CORPUS.rglob("*")) if path.is_file())
    paths = [path for path in found if path.relative_to(CORPUS).parts[0] not in ("LICENSES", "INDEX.csv", "README.md")]
    if not paths:
        return [pytest.param(None, marks=pytest.mark.skip(reason=ABSENT))]
    return [pytest.param(path, id=str(path.relative_to(CORPUS))) for path in paths]


def corpus_params(folder: str, pattern: str = "*") -> list[object]:
    """`pytest.param`s for `parametrize`, one per file (id: its name); one skipped param where there is none."""
    files = corpus_files(folder, pattern)
    if not files:
        return [pytest.param(None, id=folder, marks=pytest.mark.skip(reason=f"{ABSENT}: {folder}"))]
    return [pytest.param(path, id=path.name) for path in files]


def need_corpus(folder: str, pattern: str = "*") -> list[Path]:
    """The files of one corpus folder; skips the running test where there is none."""
    files = corpus_files(folder, pattern)
    if not files:
        pytest.skip(f"{ABSENT}: {folder}")
    return files
