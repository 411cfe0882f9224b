"""`ctxtui exec --keep-warm 1` under a test's clock, which is ahead by the seconds in the file that CLOCK names."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from ctxtui.services.attach.registry import program_of
from ctxtui.services.attach.relayed_program import RelayedProgram
from ctxtui.services.config.config import load
from ctxtui.services.config.paths import attached_dir, database


def clock() -> float:
    return time.time() + float(Path(os.environ["CLOCK"]).read_text() or 0)


if __name__ == "__main__":
    settings = load().settings
    command = sys.argv[1:]
    relayed = RelayedProgram(
        command=command,
        program=program_of(command, ""),
        folder=attached_dir(),
        database=database(settings.data_dir),
        env=dict(os.environ),
        cwd=os.getcwd(),
        settings=settings,
        keep_warm_usd=1.0,
        clock=clock,
    )
    sys.exit(asyncio.run(relayed.run_to_end()))
