"""A file as the block that a request would carry: text, image or document."""

from __future__ import annotations

import base64
from typing import Final, NamedTuple

from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.tokens.image import ImageSize, image_size

TEXT, IMAGE, DOCUMENT, BINARY = "text", "image", "pdf", "binary"
_HEAD: Final = 8192
_PDF: Final = b"%PDF-"


class FileBlock(NamedTuple):
    """What a file is: `kind` (``text``, ``image``, ``pdf``, ``binary``), its block in Anthropic's form (None: no model
    takes it) and, of an image, its `size`."""

    kind: str
    block: Block | None
    size: ImageSize | None = None


def file_block(data: bytes) -> FileBlock:
    """What the bytes of a file are to a model. Text that is no UTF-8 has U+FFFD where it is not."""
    size = image_size(data)
    if size is not None:
        return FileBlock(IMAGE, _media("image", f"image/{size.format}", data), size)
    if data.startswith(_PDF):
        return FileBlock(DOCUMENT, _media("document", "application/pdf", data))
    if b"\0" in data[:_HEAD]:
        return FileBlock(BINARY, None)
    return FileBlock(TEXT, block.text(data.decode("utf-8", "replace")))


_LARGEST: Final = 10_000_000
"""Characters of an image in base64 (facts §1)."""
_WIDEST: Final = 8_000
"""Pixels of an image's longer edge (facts §1)."""


def image_trouble(found: FileBlock) -> str:
    """Why no provider takes this image; "" where they do."""
    if found.size is None or found.block is None:
        return "no image that models read"
    if max(found.size.width, found.size.height) > _WIDEST:
        return f"{found.size.width} x {found.size.height} pixels: at most {_WIDEST:,} are taken"
    if len(found.block.body) > _LARGEST:
        return f"{len(found.block.body):,} bytes as it is sent: too many"
    return ""


def _media(kind: str, media_type: str, data: bytes) -> Block:
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode("ascii")}
    return block.make(kind, {"type": kind, "source": source})
