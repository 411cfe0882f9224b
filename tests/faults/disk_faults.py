"""A disk that refuses at random while a chat is written: ``python -m tests.faults.disk_faults --faults 1000 --seed 1``.

Prints one JSON object: how many faults were injected (full, failing, locked, read-only, in any statement), how many
calls were written meanwhile, how many sessions do not read back as they were, how many files are damaged.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from ctxtui.store.store import Store
from tests.store.test_writer import faults


def main() -> int:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--faults", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    result = {"faults": 0, "calls": 0, "lost": 0, "damaged": 0}
    while result["faults"] < given.faults:
        with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
            path = Path(name) / "s.db"
            wanted = min(250, given.faults - result["faults"])
            try:
                result["faults"] += faults(path, given.seed * 1000 + result["faults"], wanted, patch)
            except AssertionError as error:
                print(error, file=sys.stderr)
                result["lost"] += 1
                result["faults"] += wanted
            with Store.open(path) as store:
                result["calls"] += store.session("live-1").calls
            with closing(sqlite3.connect(path)) as conn:
                result["damaged"] += conn.execute("PRAGMA integrity_check").fetchall() != [("ok",)]
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
