"""Where the recordings are that tests read but the repository does not hold.

`CTXTUI_CORPUS` names the folder; by default it is `../shared/corpus` beside the checkout. A test that needs it is
skipped where it is absent, and the run's last lines say how many were.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("CTXTUI_CORPUS") or ROOT.parent / "shared" / "corpus")
ABSENT = "corpus absent"
THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
FEW, HANDY = 2, 200_000
"""Files of a folder that a test of one format reads in `make test`, and bytes of one at most, where there are smaller
ones. A test of all formats reads one."""


def corpus_files(folder: str, pattern: str = "*") -> list[Path]:
    """The files of one corpus folder, sorted by name; empty where the corpus is absent."""
    return sorted(path for path in (CORPUS / folder).glob(pattern) if path.is_file())


def spread(paths: Sequence[Path], count: int = FEW) -> list[Path]:
    """So many files of all, the same in every run: evenly over their names, those above `HANDY` bytes last."""
    handy = [path for path in paths if path.stat().st_size <= HANDY] or sorted(
        paths, key=lambda path: path.stat().st_size
    )
    return [handy[n * len(handy) // count] for n in range(count)] if len(handy) > count else handy


def _params(groups: Iterable[Sequence[Path]], name: Callable[[Path], str], count: int = FEW) -> list[object]:
    params: list[object] = []
    for paths in groups:
        few = set(spread(paths, count))
        params += [pytest.param(path, id=name(path), marks=() if path in few else pytest.mark.slow) for path in paths]
    return params


def few_params(paths: Sequence[Path], name: Callable[[Path], str] = lambda path: path.name) -> list[object]:
    """`pytest.param`s for these files or folders; a few run in `make test`, the others are marked slow."""
    return _params([paths], name)


def every_recording() -> list[object]:
    """`pytest.param`s, one per file of the corpus that may be a session (id: its path); one skipped where there is
    none. One of each folder runs in `make test`, the others are marked slow."""
    found = (path for path in sorted(CORPUS.rglob("*")) if path.is_file())
    paths = [path for path in found if path.relative_to(CORPUS).parts[0] not in ("LICENSES", "INDEX.csv", "README.md")]
    if not paths:
        return [pytest.param(None, marks=pytest.mark.skip(reason=ABSENT))]
    groups = groupby(paths, lambda path: path.relative_to(CORPUS).parts[0])
    return _params((list(group) for _, group in groups), lambda path: str(path.relative_to(CORPUS)), 1)


def corpus_params(folder: str, pattern: str = "*") -> list[object]:
    """`pytest.param`s for `parametrize`, one per file (id: its name); one skipped param where there is none. A few run
    in `make test`, the others are marked slow."""
    files = corpus_files(folder, pattern)
    if not files:
        return [pytest.param(None, id=folder, marks=pytest.mark.skip(reason=f"{ABSENT}: {folder}"))]
    return _params([files], lambda path: path.name)


def need_corpus(folder: str, pattern: str = "*") -> list[Path]:
    """The files of one corpus folder; skips the running test where there is none."""
    files = corpus_files(folder, pattern)
    if not files:
        pytest.skip(f"{ABSENT}: {folder}")
    return files


def some_of_corpus(folder: str, pattern: str = "*") -> list[Path]:
    """As `need_corpus`: a few of the files in `make test`, all of them in `make test-all`."""
    files = need_corpus(folder, pattern)
    return files if THOROUGH else spread(files)
