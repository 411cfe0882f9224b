"""The formats that ctxtui reads, chosen by content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ctxtui.core.tree import Tree
from ctxtui.transcripts import (
    bodies,
    chat_list,
    claude_code,
    codex,
    inspect_ai,
    mini_swe_agent,
    openhands,
    pi,
    request_log,
    vcr,
)
from ctxtui.transcripts.glance import HEAD_BYTES
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.what_is import what_is as _what_is


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of recording.

    `name` is what `Described.source` says. `sniff(head, name)` gives 0..1 for the first bytes of a file (cut anywhere)
    and its file name. `open` makes a reader on a tree. `companions` are glob patterns of further files of one session,
    relative to the file's folder, ``{stem}`` standing for the file name without ending. `bare` completes the sentence
    "this is ..." for a file of the format that holds no context.
    """

    name: str
    sniff: Callable[[bytes, str], float]
    open: Callable[[Tree], Reader]
    companions: tuple[str, ...] = ()
    bare: str = ""


FORMATS: Final[tuple[Format, ...]] = (
    Format(claude_code.NAME, claude_code.sniff, claude_code.ClaudeCodeReader, claude_code.COMPANIONS, claude_code.BARE),
    Format(codex.NAME, codex.sniff, codex.CodexReader, bare=codex.BARE),
    Format(mini_swe_agent.NAME, mini_swe_agent.sniff, mini_swe_agent.reader),
    Format(pi.NAME, pi.sniff, pi.reader, bare=pi.BARE),
    Format(vcr.NAME, vcr.sniff, vcr.reader, bare=vcr.BARE),
    Format(request_log.NAME, request_log.sniff, request_log.reader, bare=request_log.BARE),
    Format(openhands.NAME, openhands.sniff, openhands.OpenHandsReader, openhands.COMPANIONS, openhands.BARE),
    Format(chat_list.NAME, chat_list.sniff, chat_list.reader),
    *(Format(label, bodies.sniff_as(d), bodies.open_as(d), bare=bodies.BARE) for d, label in bodies.NAMES.items()),
    Format(inspect_ai.NAME, inspect_ai.sniff, inspect_ai.reader, bare=inspect_ai.BARE),
)


def detect(head: bytes, name: str = "") -> Format | None:
    """The format of a file from its first 64 KiB (cut anywhere) and, between equals, its name; None if none fits."""
    head = head[:HEAD_BYTES]
    best, best_score = None, 0.0
    for form in FORMATS:
        score = form.sniff(head, name)
        if score > best_score:
            best, best_score = form, score
    return best


def what_is(head: bytes, name: str = "") -> str:
    """What a file that gave no context is: ``Claude Code history without any message``, ``a HAR file``."""
    form = detect(head, name)
    if form is not None:
        return form.bare or f"a {form.name} file without any message"
    return _what_is(head, name)
