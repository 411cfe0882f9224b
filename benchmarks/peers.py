"""Other programs that ours are held against, where they are installed: each in a place outside the project.

A peer is looked for where its variable says (``BENCH_CCUSAGE=/opt/ccusage/node_modules/.bin/ccusage``), then in
``bin`` and npm's ``node_modules/.bin`` of each folder in ``BENCH_PEERS`` (separated like PATH), then on the
PATH.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

INSTALL = {
    "ccusage": "npm install --prefix DIR ccusage@20, then BENCH_CCUSAGE=DIR/node_modules/.bin/ccusage",
    "mitmdump": "pip install mitmproxy==11.0.2 into an environment of its own, then BENCH_MITMDUMP=ENV/bin/mitmdump",
}


def peer(name: str) -> str | None:
    """The path of an installed peer; None where there is none."""
    named = os.environ.get(f"BENCH_{name.upper()}")
    if named:
        return named if Path(named).exists() else None
    places = filter(None, os.environ.get("BENCH_PEERS", "").split(os.pathsep))
    folders = [str(Path(one) / name) for one in places for name in ("bin", "node_modules/.bin", ".bin")]
    return shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))


def missing(name: str) -> str:
    """Why a peer was not run, and how it is had."""
    return f"no {name} ({INSTALL[name]})"
