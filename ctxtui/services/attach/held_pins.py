"""Pinned blocks of a client's history, added to a summary that lacks them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxtui.core import canonical
from ctxtui.core.block_content import read
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.wire.registry import DIALECTS

_HEADING = "The user pinned these parts of the conversation. They still hold, word for word:"


def pinned_texts(dialect: str, request: dict[str, Json], pinned: Iterable[str]) -> tuple[str, ...]:
    """The texts of the request's blocks with the digests `pinned`.

    `request` is the compaction's, in the API `dialect`; a block that is not in it is no longer in the history.
    """
    digests = list(pinned)
    if not digests or dialect not in DIALECTS:
        return ()
    try:
        items = DIALECTS[dialect].decode_request(canonical.dumps(request), None).items
    except CtxtuiError:
        return ()
    blocks = {item.block.digest: item.block for item in items}
    contents = [read(blocks[digest]) for digest in digests if digest in blocks]
    texts = (content.text.strip() or content.arguments.strip() for content in contents)
    return tuple(dict.fromkeys(filter(None, texts)))


def missing_pins(summary: str, pins: Iterable[str]) -> list[str]:
    """The pinned texts that the summary lacks."""
    return [pin for pin in pins if pin not in summary]


def add_pins(summary: str, pins: Sequence[str]) -> str:
    """The summary with the pinned texts that it lacks."""
    missing = missing_pins(summary, pins)
    return "\n\n".join([summary.rstrip(), _HEADING, *missing]) if missing else summary
