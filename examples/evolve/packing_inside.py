"""Inside the sandbox: runs programs, each in a process of its own, and writes down what they return.

    python -I packing_inside.py FOLDER SECONDS

FOLDER holds ``programs.json``, a list of sources; ``results.json`` gets ``{"found": ...}`` or ``{"error": "..."}`` for
each. All programs together have SECONDS.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from select import select
from typing import Any

MOST = 1_000_000
"""Bytes of what a program returns."""


def main() -> None:
    """Run every program."""
    folder, until = Path(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    programs = json.loads((folder / "programs.json").read_text(encoding="utf-8"))
    results = [_apart(code, until) for code in programs]
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")


def _apart(code: str, until: float) -> dict[str, Any]:
    """What `code` returns, run in a process of its own that ends with it."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        try:
            told = json.dumps(_ran(code))[:MOST]
        except BaseException as error:  # noqa: BLE001 - its process ends here
            told = json.dumps({"error": f"{type(error).__name__}: {error}"})
        with os.fdopen(writes, "w") as file:
            file.write(told)
        os._exit(0)
    os.close(writes)
    try:
        said = _heard(reads, until)
    finally:
        os.close(reads)
    if said is None:
        os.kill(child, 9)
    os.waitpid(child, 0)
    if said is None:
        return {"error": "its time was up"}
    try:
        found: dict[str, Any] = json.loads(said)
    except ValueError:
        return {"error": "it ended without a result"}
    return found


def _heard(reads: int, until: float) -> bytes | None:
    """Everything that comes until the other end is closed; None where the time is up before."""
    said = b""
    while True:
        ready, _, _ = select([reads], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return None
        data = os.read(reads, 65_536)
        if not data:
            return said
        said += data


def _ran(code: str) -> dict[str, Any]:
    known: dict[str, Any] = {"__name__": "program"}
    with redirect_stdout(io.StringIO()):
        exec(compile(code, "<program>", "exec"), known)
        if "construct_packing" not in known:
            return {"error": "it defines no construct_packing()"}
        centres, radii = known["construct_packing"]()[:2]
    return {"found": [[[float(x), float(y)] for x, y in centres], [float(radius) for radius in radii]]}


if __name__ == "__main__":
    main()
