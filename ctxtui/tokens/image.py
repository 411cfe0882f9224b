"""Token counts of images and PDFs inside a block; each provider has its own formula."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

from ctxtui.core.block_content import Media

_PATCH_PIXELS: Final = 28
"""Edge of an Anthropic image patch in pixels (facts §3)."""


class ImageSize(NamedTuple):
    """Format (``png``, ``jpeg``, ``gif``, ``webp``) and size in pixels."""

    format: str
    width: int
    height: int


class Resizing(NamedTuple):
    """Anthropic's rule: each patch of 28 x 28 pixels is a token; larger images are shrunk first.

    `max_edge` (pixels) and `max_tokens` are the limits of an image that is padded to whole patches.
    """

    max_edge: int
    max_tokens: int


class Tiles(NamedTuple):
    """OpenAI's rule: `base` tokens, plus `per_tile` per 512-pixel tile of the shrunken image."""

    base: int
    per_tile: int


class Patches(NamedTuple):
    """OpenAI's rule for some models: patches of 32 x 32 pixels, at most `cap`, times `factor`."""

    factor: Fraction
    cap: int


class Flat(NamedTuple):
    """The same number of tokens for every image."""

    tokens: int


ImageRule = Resizing | Tiles | Patches | Flat


def image_tokens(rule: ImageRule, width: int, height: int) -> int:
    """Count the tokens of an image of `width` x `height` pixels.

    Sources: platform.claude.com, Vision (2026-08-22); OpenAI's images guide as cited by public implementations.
    """
    if width <= 0 or height <= 0:
        return 0
    if isinstance(rule, Resizing):
        return _count_patches(*fit_size(rule, width, height), _PATCH_PIXELS)
    if isinstance(rule, Tiles):
        return rule.base + rule.per_tile * _count_tiles(width, height)
    if isinstance(rule, Patches):
        return math.ceil(min(_count_patches(width, height, 32), rule.cap) * rule.factor)
    return rule.tokens


def _count_patches(width: int, height: int, edge: int) -> int:
    return math.ceil(width / edge) * math.ceil(height / edge)


def fit_size(rule: Resizing, width: int, height: int) -> tuple[int, int]:
    """Size at which Anthropic reads an image: the largest of its shape within the rule's limits."""

    def fits(w: int, h: int) -> bool:
        edge = math.ceil(max(w, h) / _PATCH_PIXELS) * _PATCH_PIXELS
        return edge <= rule.max_edge and _count_patches(w, h, _PATCH_PIXELS) <= rule.max_tokens

    if fits(width, height):
        return width, height
    long, short = max(width, height), min(width, height)
    low, high = 1, long
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle, max(1, round(Fraction(middle * short, long)))):
            low = middle
        else:
            high = middle
    shorter = max(1, round(Fraction(low * short, long)))
    return (low, shorter) if width >= height else (shorter, low)


def _count_tiles(width: int, height: int) -> int:
    shrink = min(Fraction(1), Fraction(2048, max(width, height)))
    shrink *= min(Fraction(1), Fraction(768) / (min(width, height) * shrink))
    return math.ceil(width * shrink / 512) * math.ceil(height * shrink / 512)


def parse_image_rule(text: str) -> ImageRule:
    """Parse a rule: ``resize 1568 1568``, ``tiles 85 170``, ``patches 1.2 10000``, ``flat 258``.

    Raises `ValueError` for anything else.
    """
    name, *numbers = text.split()
    if name == "resize":
        max_edge, max_tokens = map(int, numbers)
        return Resizing(max_edge, max_tokens)
    if name == "tiles":
        base, per_tile = map(int, numbers)
        return Tiles(base, per_tile)
    if name == "patches":
        factor, cap = numbers
        return Patches(Fraction(factor), int(cap))
    if name == "flat":
        (tokens,) = map(int, numbers)
        return Flat(tokens)
    raise ValueError(f"unknown image rule {text!r}; known: resize, tiles, patches, flat")


def image_size(data: bytes) -> ImageSize | None:
    """Format and pixels of a PNG, JPEG, GIF or WebP image.

    None if its first bytes `data` do not hold them.
    """
    for reader in _READERS:
        try:
            size = reader(data)
        except (struct.error, IndexError):
            return None
        if size is not None:
            return size
    return None


def _png_size(data: bytes) -> ImageSize | None:
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    return ImageSize("png", *struct.unpack_from(">II", data, 16))


def _gif_size(data: bytes) -> ImageSize | None:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    return ImageSize("gif", *struct.unpack_from("<HH", data, 6))


def _jpeg_size(data: bytes) -> ImageSize | None:
    if not data.startswith(b"\xff\xd8"):
        return None
    offset = 2
    while True:
        while data[offset] == 0xFF and data[offset + 1] == 0xFF:
            offset += 1
        if data[offset] != 0xFF:
            return None
        marker = data[offset + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, offset + 5)
            return ImageSize("jpeg", width, height)
        has_no_length = marker == 0x01 or 0xD0 <= marker <= 0xD9
        offset += 2 if has_no_length else 2 + struct.unpack_from(">H", data, offset + 2)[0]


def _webp_size(data: bytes) -> ImageSize | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    chunk = data[12:16]
    if chunk == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
        return ImageSize("webp", width, height) if len(data) >= 30 else None
    if chunk == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return ImageSize("webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if chunk == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return ImageSize("webp", width & 0x3FFF, height & 0x3FFF)
    return None


_READERS: Final[tuple[Callable[[bytes], ImageSize | None], ...]] = (_png_size, _gif_size, _jpeg_size, _webp_size)


UNKNOWN_SIZE: Final = (1092, 1092)
"""Pixels assumed for an image whose size is not recorded (only an address or file id is, or its head is damaged)."""

_HEAD_CHARACTERS: Final = 512 * 1024
"""Base64 characters searched for an image's size; a JPEG may have a long preview first."""

_PAGE: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PAGE_COUNT: Final = (
    rb"/Type\s*/Pages\b[^>]{0,400}?/Count\s+(\d{1,6})\b|/Count\s+(\d{1,6})\b[^>]{0,400}?/Type\s*/Pages\b"
)
_BYTES_PER_PAGE: Final = 50_000
"""Bytes per page assumed for a PDF that does not state its pages (a guess)."""


def holds_pdf(media: Media) -> bool:
    """Whether the bytes of a PDF are recorded, not only its address."""
    return media.media_type == "application/pdf" and _decode_base64(media.data[:8]).startswith(b"%PDF")


def media_tokens(media: Media, rule: ImageRule, page_tokens: int) -> int:
    """Count the tokens of an image by `rule`, or of a PDF at `page_tokens` per page.

    Files of another type have none. One without a type (an address, a file id) counts as an image of `UNKNOWN_SIZE`.
    """
    if media.media_type == "application/pdf":
        return pdf_pages(_decode_base64(media.data)) * page_tokens
    if media.media_type and not media.media_type.startswith("image/"):
        return 0
    size = media_size(media)
    return image_tokens(rule, *(size[1:] if size else UNKNOWN_SIZE))


def media_size(media: Media) -> ImageSize | None:
    """Format and pixels of a recorded image; None if they are not in its first bytes."""
    return image_size(_decode_base64(media.data[:_HEAD_CHARACTERS]))


def pdf_pages(data: bytes) -> int:
    """Pages of a PDF as stated in it, else guessed from its size; 1 for no bytes."""
    return stated_pages(data) or max(1, round(len(data) / _BYTES_PER_PAGE))


def stated_pages(data: bytes) -> int:
    """Pages of a PDF; 0 if its page objects are compressed."""
    pages = len(_PAGE.findall(data))
    return pages or max((int(a or b) for a, b in re.findall(_PAGE_COUNT, data)), default=0)


def _decode_base64(data: str) -> bytes:
    complete = data[: len(data) - len(data) % 4]
    try:
        return base64.b64decode(complete)
    except (binascii.Error, ValueError):
        return b""
