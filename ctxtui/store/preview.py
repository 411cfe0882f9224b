"""The first characters of what a block says: for people who open the file, and for lists."""

from __future__ import annotations

import re
from typing import Final

from ctxtui.core.block import Block
from ctxtui.core.block_content import read

LENGTH: Final = 80
"""Characters: a line. 200 would be a ninth of the database where messages are small."""

_LARGE: Final = 1 << 18
"""Bytes above which a body is not parsed for its preview: an image, or a file whose JSON's head says as much."""

_UNSHOWABLE: Final = re.compile("[\\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def preview(block: Block) -> str:
    """At most `LENGTH` characters on one line, without controls, bidirectional marks and lone surrogates."""
    if len(block.body) > _LARGE:
        words = block.body[: 4 * LENGTH].decode("utf-8", "ignore")
    else:
        got = read(block)
        media = " ".join(one.media_type or one.url for one in got.media)
        words = " ".join(part[: 3 * LENGTH] for part in (got.name, got.text, got.arguments, media) if part)
    return _UNSHOWABLE.sub(" ", words).strip()[:LENGTH]
