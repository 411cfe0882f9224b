"""Audits of recordings: which files, and the rows of each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ctxtui.lab.audit import Audited, audited
from ctxtui.runtime.books import book_for
from ctxtui.runtime.counting import Counter, count_all
from ctxtui.runtime.folders import recordings_in
from ctxtui.runtime.loaded import Loaded
from ctxtui.runtime.settings import Settings


def expanded(names: Iterable[str]) -> list[str]:
    """`names` with every recording in a folder, by name, instead of the folder. Raises what `recordings_in` raises."""
    found: list[str] = []
    for name in names:
        path = Path(name).expanduser()
        found += sorted(map(str, recordings_in(path))) if path.is_dir() else [name]
    return found


def audit(loaded: Loaded, counter: Counter, settings: Settings, estimator: str = "") -> list[Audited]:
    """Every call of a recording, foretold by the calls before it (see `lab.audit`)."""
    book = book_for(loaded.session, counter, settings, estimator)
    count_all(book, counter)
    return audited(book)
