"""This process becomes the one host of a stored session that a chat goes on with."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError, InUse
from ctxtui.store import leases
from ctxtui.store.host_process import HostProcess, ended, hosting

_PATIENCE: Final = 2.0
"""Seconds for which a chat of this program that is being left may take to be over."""


def claimed(path: Path, id_: str) -> HostProcess:
    """Become the host of the session `id_` in the database `path`; for a worker thread. Raises `InUse` where another
    process is."""
    process = hosting(time.time())
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            leases.claim(path, id_, process)
            return process
        except InUse as error:
            if error.pid != os.getpid() or time.monotonic() > until:
                ended(process)
                raise
            time.sleep(0.05)
        except CtxtuiError:
            return process  # nothing can be written now: the writer says so, and takes the session when it can be
