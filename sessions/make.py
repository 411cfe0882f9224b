"""Write the samples beside this file: `make samples`, or `python -m sessions.make [--check]`.

With `--check` nothing is written; a sample that would be other bytes is named and the exit code is 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from ctxtui.transcripts.formats.ctxtui import write
from sessions import bridge, musume, pedroceli, pineapple
from sessions.recorded import session

HERE: Final = Path(__file__).resolve().parent
SAMPLES: Final = (pineapple.record, musume.record, bridge.record, pedroceli.record)


def made() -> dict[str, bytes]:
    """File name -> content of every sample."""
    recordings = [record() for record in SAMPLES]
    return {f"{recording.name}.jsonl": write(session(recording)) for recording in recordings}


def main(arguments: list[str]) -> int:
    """Write or check; returns the exit code."""
    stale = 0
    for name, data in made().items():
        path = HERE / name
        same = path.exists() and path.read_bytes() == data
        if "--check" in arguments:
            stale += not same
            print(f"{name}  {'as generated' if same else 'is not what the generator makes'}")
        else:
            path.write_bytes(data)
            print(f"{name}  {len(data):,} bytes")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
