"""Which of a project's servers may be started: the user's leave, remembered by what the server is."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ctxtui.core.errors import Unreadable
from ctxtui.services.config.mcp_servers import McpServer

FILE: Final = "mcp-allowed.json"
"""In the user's data folder: digest of a server -> its name and file, not what it is given: that may hold keys."""


class ServerLeave:
    """What the user allowed, in the folder `data`. Another command, argument, variable or folder is another server, and
    is asked for again."""

    def __init__(self, data: Path) -> None:
        self._path = data / FILE

    def given(self, server: McpServer) -> bool:
        """Whether `server` may be started: the user's own may, a project's where that was said of it as it is now."""
        return not server.project or server.digest in self._known()

    def give(self, server: McpServer) -> None:
        """The user says that `server` may be started. Raises `Unreadable` where that cannot be written."""
        told = {"name": server.name, "place": server.place}
        beside = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._alone():
                known = {**self._known(), server.digest: told}
                with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                    json.dump(known, file, indent=1)
                os.replace(beside, self._path)
        except OSError as error:
            raise Unreadable(
                f"leave for {server.name} cannot be kept: {error.strerror}", place=str(self._path)
            ) from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One at a time: of two that read and write at once, the first one's leave would be lost."""
        with open(os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600), "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield

    def _known(self) -> dict[str, object]:
        try:
            known = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            return {}  # what cannot be read allows nothing
        return known if isinstance(known, dict) else {}
