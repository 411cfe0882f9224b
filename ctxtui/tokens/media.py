"""What images and files inside a block cost."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

from ctxtui.core.reading import Media
from ctxtui.tokens.image import image_size, image_tokens

if TYPE_CHECKING:
    from ctxtui.tokens.models import ModelCard

UNSEEN: Final = (1092, 1092)
"""Pixels assumed for an image that the recording only points at (an address, a file id) or whose head is unreadable."""

_HEAD: Final = 512 * 1024
"""Base64 characters looked at for an image's size; a JPEG may carry a long preview before it."""

_PAGE: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT: Final = re.compile(rb"/Type\s*/Pages\b[^>]{0,400}?/Count\s+(\d+)|/Count\s+(\d+)[^>]{0,400}?/Type\s*/Pages\b")
_BYTES_PER_PAGE: Final = 50_000


def media_tokens(media: Media, card: ModelCard) -> int:
    """Tokens of one image or file by the card's rules; an estimate where only its address is recorded."""
    if media.media_type == "application/pdf":
        return pdf_pages(_bytes(media.data)) * card.page_tokens
    if media.media_type and not media.media_type.startswith("image/"):
        return 0
    size = image_size(_bytes(media.data[:_HEAD]))
    return image_tokens(card.image, *(size[1:] if size else UNSEEN))


def pdf_pages(data: bytes) -> int:
    """Pages of a PDF from its plain objects; guessed from its size where those are compressed; 1 for no bytes."""
    pages = len(_PAGE.findall(data))
    if not pages:
        pages = max((int(a or b) for a, b in _COUNT.findall(data)), default=0)
    return pages or max(1, round(len(data) / _BYTES_PER_PAGE))


def _bytes(data: str) -> bytes:
    whole = data[: len(data) - len(data) % 4]
    try:
        return base64.b64decode(whole)
    except (binascii.Error, ValueError):
        return b""
