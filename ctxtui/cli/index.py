"""Filling the full-text index from the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ctxtui.cli.context import Meter
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import Shelf
from ctxtui.services.search.index import fill, lacking, settle
from ctxtui.store.store import Store


def fill_index(settings: Settings, *, anew: bool) -> dict[str, Any]:
    """Index what is lacking, all of it where `anew`; what was done, as `ctxtui db index --json` prints it."""
    shelf = Shelf(settings, Path.cwd())
    sessions = shelf.stored(shelf.placed())
    with Store.open(database(settings.data_dir)) as store:
        if anew:
            store.texts.clear()
    units = lacking(settings, sessions, live=True)
    meter = Meter("indexing") if sys.stderr.isatty() else None
    failed: dict[str, str] = {}
    for number, done in enumerate(fill(settings, units, lambda: False), 1):
        if meter:
            meter.say(f"{number:,} of {len(units):,} sessions")
        if done.error:
            failed[done.name] = done.error
    if units:
        settle(settings)
    if meter:
        meter.clear()
    with Store.open(database(settings.data_dir)) as store:
        size = store.texts.size()
    known = len(sessions) - len(units)
    return {"indexed": len(units) - len(failed), "known": known, "failed": failed, "size": size}
