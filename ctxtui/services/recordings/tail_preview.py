"""The end of a long recording, read before its beginning: a first screenful must not wait for 50 MB."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.services.config.format_registry import detect
from ctxtui.transcripts.kit.file_head import HEAD_BYTES

LONG: Final = 2_000_000
"""Bytes from which on reading the whole takes longer than a person notices."""
END: Final = 262_144
"""Bytes of the end that are read: a screenful of blocks even where some are large."""


def is_long(size: int) -> bool:
    """Whether a recording of so many bytes takes long to read."""
    return size >= LONG


def ending(path: Path) -> Session | None:
    """What the last `END` bytes of a recording of JSON lines hold, read as if it began there; None where the file is
    short, is not made of lines, or its end holds no context. Numbers that count from the beginning are not to be
    believed."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not is_long(size):
                return None
            head = file.read(HEAD_BYTES)
            file.seek(size - END)
            end = file.read(END)
    except OSError:
        return None  # opening it in earnest tells what is wrong
    form, cut = detect(head, path.name), end.find(b"\n")
    if form is None or cut < 0 or b"\n" not in head:
        return None
    session = Session()
    reader = form.open(session.tree)
    session.fold(reader.feed(end[cut + 1 :])).fold(reader.settle())
    # The title is what was said first.
    session.about = replace(session.about, title="")
    known = session.calls or any(thread.tip != ROOT for thread in session.threads.values())
    return session if known and session.threads else None
