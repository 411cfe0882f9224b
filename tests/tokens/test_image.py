from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.tokens.image import Resizing, fit_size, image_size, image_tokens, parse_image_rule, stated_pages

STANDARD = parse_image_rule("resize 1568 1568")
HIGH = parse_image_rule("resize 2576 4784")


@pytest.mark.parametrize(
    ("rule", "size", "tokens"),
    [
        ("resize 1568 1568", (1000, 1000), 1296),
        ("resize 1568 1568", (1920, 1080), 1560),
        ("resize 2576 4784", (1920, 1080), 2691),
        ("resize 1568 1568", (1075, 1520), 1551),
        ("resize 2576 4784", (3840, 2160), 4784),
        ("tiles 70 140", (1024, 1024), 70 + 140 * 4),
        ("tiles 85 170", (512, 512), 85 + 170),
        ("tiles 85 170", (2048, 4096), 85 + 170 * 6),
        ("tiles 2833 5667", (512, 512), 8500),
        ("patches 1.2 10000", (1024, 1024), 1229),
        ("patches 1.2 10000", (4096, 512), 2458),
        ("patches 1.2 10000", (8000, 8000), 12000),
        ("flat 258", (1, 9000), 258),
    ],
)
def test_published_figures(rule: str, size: tuple[int, int], tokens: int) -> None:
    assert image_tokens(parse_image_rule(rule), *size) == tokens


@pytest.mark.parametrize(
    ("rule", "size", "read_at"),
    [
        (STANDARD, (1920, 1080), (1456, 819)),
        (STANDARD, (1075, 1520), (924, 1307)),
        (HIGH, (3840, 2160), (2576, 1449)),
        (STANDARD, (1000, 1000), (1000, 1000)),
    ],
)
def test_size_at_which_an_image_is_read(rule: Resizing, size: tuple[int, int], read_at: tuple[int, int]) -> None:
    assert fit_size(rule, *size) == read_at


@given(st.integers(1, 20000), st.integers(1, 20000))
def test_no_image_is_over_the_limits(width: int, height: int) -> None:
    for rule in (STANDARD, HIGH):
        assert isinstance(rule, Resizing)
        assert image_tokens(rule, width, height) <= rule.max_tokens
        assert max(fit_size(rule, width, height)) <= rule.max_edge


@pytest.mark.parametrize(("count", "pages"), [(b"12", 12), (b"9" * 5000, 0)])
def test_pages_that_a_pdf_states(count: bytes, pages: int) -> None:
    assert stated_pages(b"<< /Type /Pages /Count " + count + b" >>") == pages


def test_unknown_rule() -> None:
    with pytest.raises(ValueError, match="unknown image rule 'squares 1'"):
        parse_image_rule("squares 1")


def png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))


def jpeg(width: int, height: int, before: bytes = b"") -> bytes:
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + before + frame + b"\xff\xd9"


EXIF = b"\xff\xe1" + struct.pack(">H", 60002) + b"\xff\xc0" * 30000
VP8X = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + (799).to_bytes(3, "little") + (599).to_bytes(3, "little")
VP8L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 799 | 599 << 14)
VP8 = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 800, 600)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (png(800, 600), ("png", 800, 600)),
        (jpeg(800, 600), ("jpeg", 800, 600)),
        (jpeg(800, 600, EXIF), ("jpeg", 800, 600)),
        (jpeg(800, 600, b"\xff\xff\xff\xdb\x00\x03\x00"), ("jpeg", 800, 600)),
        (b"GIF89a" + struct.pack("<HH", 800, 600), ("gif", 800, 600)),
        (VP8X, ("webp", 800, 600)),
        (VP8L, ("webp", 800, 600)),
        (VP8, ("webp", 800, 600)),
        (b"", None),
        (b"%PDF-1.7", None),
        (b"\xff\xd8 no jpeg", None),
    ],
)
def test_size_from_the_head(data: bytes, found: tuple[str, int, int] | None) -> None:
    assert image_size(data) == found


@given(st.sampled_from([png(8, 6), jpeg(8, 6, EXIF[:40]), VP8X, VP8L, VP8]), st.integers(0, 60), st.binary(max_size=40))
def test_cut_and_garbled_heads_never_raise(data: bytes, cut: int, tail: bytes) -> None:
    image_size(data[:cut] + tail)
