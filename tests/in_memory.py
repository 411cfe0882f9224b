"""A folder in memory for what tests write: a database waits for the disk at its making, at each change and at its end,
which is half of the time that its tests take."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

MEMORY, ROOM = Path("/dev/shm"), 4 << 30
"""Where files are kept in memory, and how many bytes there must be left."""


def temporary_folder() -> Path | None:
    """An empty folder for this process; None where there is no memory to be had. Folders of processes that have ended
    are removed."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ROOM:
        return None
    for left in MEMORY.iterdir():
        owner = re.fullmatch(r"ctxtui-(\d+)", left.name)
        if owner and left.stat().st_uid == os.getuid() and not Path(f"/proc/{owner[1]}").exists():
            shutil.rmtree(left, ignore_errors=True)
    folder = MEMORY / f"ctxtui-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o711)  # a test gives its own folder to another user
    return folder
