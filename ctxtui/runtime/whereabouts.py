"""Where a session ran, where its name does not say so: Codex writes it on the first line of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from ctxtui.runtime.discover import CODEX, Found

_HEAD: Final = 1 << 16
_CWD: Final = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


def ran_in(path: Path) -> str:
    """The working directory that the head of the rollout `path` names; "" where it names none or cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.readline(_HEAD)
    except OSError:
        return ""
    found = _CWD.search(head)
    try:
        return str(json.loads(found[1])) if found else ""
    except ValueError:
        return ""


def placed(found: Iterable[Found], around: Iterable[Path]) -> Iterator[Found]:
    """`found` in the same order, those of Codex with their directory and, in or below one of `around`, as ``here``.

    Each rollout's first line is read when it is asked for: take no more than needed.
    """
    places = [str(place) for place in around]
    for one in found:
        if one.source == CODEX and not one.cwd:
            cwd = ran_in(one.path)
            inside = any(cwd == place or cwd.startswith(place.rstrip("/") + "/") for place in places)
            one = replace(one, cwd=cwd, group="here" if inside else one.group)
        yield one


def newest_here(found: Iterable[Found], around: Iterable[Path]) -> Found | None:
    """The first of `found` (newest first) that ran in one of the directories `around` and holds a context; where none
    does, the first that ran there: opening it says what it is instead."""
    # Imported here: Home asks this module where sessions ran before anything is read.
    from ctxtui.runtime.loading import holds_context

    bare: Found | None = None
    for one in placed(found, around):
        if one.group == "here":
            if holds_context(one.path):
                return one
            bare = bare or one
    return bare
