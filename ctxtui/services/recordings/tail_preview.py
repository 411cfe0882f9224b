"""Reads the end of a long recording first: the first screen must not wait for the whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.services.config.format_registry import detect
from ctxtui.transcripts.kit.file_head import HEAD_BYTES

LONG_BYTES: Final = 2_000_000
"""Bytes from which on reading takes noticeably long."""
END_BYTES: Final = 262_144
"""Bytes to read at the end: a screenful of blocks even if some are large."""


def read_end(path: Path) -> Session | None:
    """Read the last `END_BYTES` of a long recording made of lines as if it began there.

    Numbers counted from the beginning are wrong. None for any other recording, if it cannot be read, or if its end
    holds no context.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < LONG_BYTES:
                return None
            head = file.read(HEAD_BYTES)
            file.seek(size - END_BYTES)
            end = file.read(END_BYTES)
    except OSError:
        return None  # reading the whole reports the error
    form, cut = detect(head, path.name), end.find(b"\n")
    if form is None or cut < 0 or b"\n" not in head:
        return None
    session = Session()
    reader = form.open(session.tree)
    session.fold(reader.feed(end[cut + 1 :])).fold(reader.settle())
    # In many formats the title is the first message, which is not in this part.
    session.about = replace(session.about, title="")
    has_context = session.calls or any(thread.tip != ROOT for thread in session.threads.values())
    return session if has_context and session.threads else None
