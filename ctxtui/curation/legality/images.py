"""Checks images and PDFs: number, size, and bytes against the media type (facts §1, §4).

`anthropic` and `openai` check the request bodies of the API that they are named after.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_list
from ctxtui.curation.legality.violation import DOCUMENTS, IMAGES, Violation
from ctxtui.tokens.image import image_size, stated_pages

MANY_IMAGES: Final = 20
"""Up to this many images, each may have `MAX_PIXELS` on its longer side; with more, `MAX_PIXELS_OF_MANY`."""

MAX_PIXELS: Final = 8000
MAX_PIXELS_OF_MANY: Final = 2000
MAX_BASE64_CHARACTERS: Final = 10 * 1024 * 1024

PDF: Final = "application/pdf"
PDF_HEAD: Final = b"%PDF-"
"""Bytes that occur within the first 1,024 bytes of a PDF."""
NO_BASE64: Final = "the document is not base64"
_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def anthropic(body: dict[str, Json], limit: int) -> Iterator[Violation]:
    """Check images and PDFs; `limit` is the maximum number of images, and of pages of all PDFs."""
    messages = [(message, f"$.messages[{n}]") for n, message in enumerate(as_list(body.get("messages")))]
    yield from _check_documents(
        [pair for message_and_path in messages for pair in _media_in(*message_and_path, "document")], limit
    )
    images = [pair for message_and_path in messages for pair in _media_in(*message_and_path, "image")]
    if len(images) > limit:
        yield Violation("$.messages", f"{len(images)} images, the most is {limit}", IMAGES)
    for path, image in images:
        source = image.get("source")
        if isinstance(source, dict) and source.get("type") == "base64" and (wrong := _image_fault(source, len(images))):
            yield Violation(path, wrong, IMAGES)


def _check_documents(documents: list[tuple[str, dict[str, Json]]], page_limit: int) -> Iterator[Violation]:
    pages = 0
    for path, document in documents:
        source = document.get("source")
        if not isinstance(source, dict) or source.get("type") != "base64":
            continue
        kind, data = source.get("media_type"), source.get("data")
        pdf = _decode_base64(data) if isinstance(data, str) else None
        if kind != PDF:
            yield Violation(path, f"not a document of a known type: {kind!r}", DOCUMENTS)
        elif not data:
            yield Violation(path, "the document is empty", DOCUMENTS)
        elif pdf is None or PDF_HEAD not in pdf[:1024]:
            yield Violation(path, "the document is not a PDF" if pdf is not None else NO_BASE64, DOCUMENTS)
        else:
            # Only stated page counts: a guess must not refuse anything.
            pages += stated_pages(pdf)
    if pages > page_limit:
        yield Violation("$.messages", f"{pages:,} pages of PDF, the most is {page_limit}", DOCUMENTS)


def _media_in(value: Json, path: str, kind: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """The images or documents (`kind`) in a message or block, nested ones too, with their paths."""
    if not isinstance(value, dict):
        return
    if value.get("type") == kind:
        yield path, value
    for key, content in (("content", value.get("content")), ("source", value.get("source"))):
        if isinstance(content, dict):
            yield from _media_in(content, f"{path}.{key}", kind)
        for n, part in enumerate(as_list(content)):
            yield from _media_in(part, f"{path}.{key}[{n}]", kind)


def _image_fault(source: dict[str, Json], count: int) -> str:
    """Describe the fault of one of `count` images; "" for none."""
    kind, data = source.get("media_type"), source.get("data")
    if kind not in _TYPES:
        return f"not an image of a known type: {kind!r}"
    if not isinstance(data, str) or not data:
        return "the image is empty"
    if len(data) > MAX_BASE64_CHARACTERS:
        return f"the image has {len(data):,} characters of base64, the most is {MAX_BASE64_CHARACTERS:,}"
    image = _decode_base64(data)
    size = image_size(image) if image is not None else None
    if image is None or size is None:
        return "the image cannot be read" if image is not None else "the image is not base64"
    if f"image/{size.format}" != kind:
        return f"the image is image/{size.format}, not {kind} as it says"
    longer, many = max(size.width, size.height), count > MANY_IMAGES
    if longer <= (MAX_PIXELS_OF_MANY if many else MAX_PIXELS):
        return ""
    most = f"{MAX_PIXELS_OF_MANY:,} from {MANY_IMAGES + 1} images on" if many else f"{MAX_PIXELS:,}"
    return f"the image's longer side is {longer:,} pixels, the most is {most}"


def _decode_base64(data: str) -> bytes | None:
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return None


def openai(body: dict[str, Json]) -> Iterator[Violation]:
    for key in ("messages", "input"):
        for n, message in enumerate(as_list(body.get(key))):
            if not isinstance(message, dict):
                continue
            for inner in ("content", "output"):
                for m, part in enumerate(as_list(message.get(inner))):
                    if _is_broken_data_url(part):
                        yield Violation(f"$.{key}[{n}].{inner}[{m}]", "the image is empty or not base64", IMAGES)


def _is_broken_data_url(part: Json) -> bool:
    url = part.get("image_url") if isinstance(part, dict) else None
    url = url.get("url") if isinstance(url, dict) else url
    if not isinstance(url, str) or not url.startswith("data:"):
        return False
    return not _decode_base64(url.partition(";base64,")[2])
