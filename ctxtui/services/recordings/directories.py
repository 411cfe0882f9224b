"""Which directory a recording ran in, where only its file says it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ctxtui.services.config.clients import client_of
from ctxtui.services.recordings.discover import HERE, SAMPLES, FoundRecording, is_inside

_HEADS: Final = (1 << 13, 1 << 16)
"""Bytes that are read; the second only where the first name no directory."""
_CWD: Final = rb'"(?:cwd|directory|workspaceDirectory)"\s*:\s*("(?:[^"\\]|\\.)*")'


def ran_in(path: Path) -> str:
    """The working directory that the head of the recording `path` names; "" where it names none or cannot be read."""
    return _cwd(_head(path))


def _head(path: Path) -> bytes:
    head = b""
    try:
        with path.open("rb", buffering=0) as file:
            for room in _HEADS:
                more = file.read(room - len(head))
                head += more
                if not more or re.search(_CWD, head):
                    break
    except OSError:
        return head
    return head


def _cwd(head: bytes) -> str:
    found = re.search(_CWD, head)
    try:
        return str(json.loads(found[1])).removeprefix("file://") if found else ""
    except ValueError:
        return ""


def placed(found: Iterable[FoundRecording], around: Iterable[Path]) -> Iterator[FoundRecording]:
    """`found` in the same order without parts of others; those whose folder tells nothing with their directory and, in
    or below one of `around`, as ``here``.

    The heads of these are read when they are asked for: take no more than needed.
    """
    places = tuple(around)
    for one in found:
        if one.cwd or one.folder or one.group == SAMPLES or not one.source:
            yield one
            continue
        head, client = _head(one.path), client_of(one.source)
        if client and client.began_by and re.search(rb'"%s"\s*:\s*"' % client.began_by.encode(), head):
            continue
        cwd = _cwd(head)
        yield one._replace(cwd=cwd, group=HERE if is_inside(cwd, places) else one.group) if cwd else one
