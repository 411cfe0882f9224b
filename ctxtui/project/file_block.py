"""Files as blocks of a request: text, image or document."""

from __future__ import annotations

import base64
from typing import Final, NamedTuple

from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.tokens.image import ImageSize, image_size

TEXT, IMAGE, DOCUMENT, BINARY = "text", "image", "pdf", "binary"
_HEAD: Final = 8192
"""Bytes that are searched for a NUL, which makes a file binary."""
_PDF: Final = b"%PDF-"


class FileBlock(NamedTuple):
    """A file as a block in Anthropic's form (None: no model reads it); `size`: of an image."""

    kind: str
    block: Block | None
    size: ImageSize | None = None


def make_file_block(data: bytes) -> FileBlock:
    """Make the block of a file from its bytes. Invalid UTF-8 in text becomes U+FFFD."""
    size = image_size(data)
    if size is not None:
        return FileBlock(IMAGE, _media_block("image", f"image/{size.format}", data), size)
    if data.startswith(_PDF):
        return FileBlock(DOCUMENT, _media_block("document", "application/pdf", data))
    if b"\0" in data[:_HEAD]:
        return FileBlock(BINARY, None)
    return FileBlock(TEXT, block.text(data.decode("utf-8", "replace")))


_MAX_IMAGE_CHARS: Final = 10_000_000
"""Maximum bytes of an image's block in a request; almost all of it is base64 (facts §1)."""
_MAX_IMAGE_PIXELS: Final = 8_000
"""Maximum pixels of an image's longer edge (facts §1)."""


def image_fault(image: FileBlock) -> str:
    """Reason why providers refuse this image; "" if they accept it."""
    if image.size is None or image.block is None:
        return "not an image that models read"
    if max(image.size.width, image.size.height) > _MAX_IMAGE_PIXELS:
        return f"{image.size.width} x {image.size.height} pixels: at most {_MAX_IMAGE_PIXELS:,} are taken"
    if len(image.block.body) > _MAX_IMAGE_CHARS:
        return f"{len(image.block.body):,} bytes as it is sent: too many"
    return ""


def _media_block(kind: str, media_type: str, data: bytes) -> Block:
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode("ascii")}
    return block.make(kind, {"type": kind, "source": source})
