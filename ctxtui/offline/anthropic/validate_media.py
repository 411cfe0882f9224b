"""Anthropic: images and documents (facts §1, limits)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.field_errors import dotted, typed_refusals
from ctxtui.offline.anthropic.shapes import SOURCES
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import Path, members, rows
from ctxtui.tokens.image import image_size, pdf_pages

MAX_IMAGE_BYTES: Final = 10 * 1024 * 1024
"""Base64 characters of one image."""

MAX_EDGE: Final = 8000
"""Pixels of an image's longer side."""

MANY: Final = 20
"""Images from which on each may only have `MANY_EDGE` pixels."""

MANY_EDGE: Final = 2000
_IMAGES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_FOR: Final = {"image": ("base64", "url", "file"), "document": ("base64", "url", "file", "text", "content")}
_HEAD: Final = 512 * 1024


class Picture(NamedTuple):
    """An image of a request: where it stands and its longer side in pixels (0: not known)."""

    path: Path
    edge: int


def source_refusals(block: Mapping[str, Json], path: Path) -> Iterator[Refusal]:
    """What is wrong with the source of an image or document block whose path ends in its type."""
    kind = str(block.get("type"))
    source = block.get("source")
    where = (*path, "source")
    yield from typed_refusals(source, where, {name: SOURCES[name] for name in _FOR[kind]})
    value = members(source)
    if value.get("type") != "base64" or not isinstance(value.get("data"), str):
        return
    spot = dotted((*where, "base64"))
    if kind == "document":
        if value.get("media_type") != "application/pdf":
            yield Refusal(f"{spot}.media_type: Input should be 'application/pdf'", rule="wrong value")
        return
    if value.get("media_type") not in _IMAGES:
        names = ", ".join(f"'{name}'" for name in _IMAGES[:-1])
        yield Refusal(f"{spot}.media_type: Input should be {names} or '{_IMAGES[-1]}'", rule="wrong value")
    elif len(value["data"]) > MAX_IMAGE_BYTES:
        size = len(value["data"])
        yield Refusal(f"{spot}: image exceeds 10 MB maximum: {size} bytes > {MAX_IMAGE_BYTES} bytes", rule="image size")
    else:
        yield from _image(value, spot)


def _image(source: Mapping[str, Json], spot: str) -> Iterator[Refusal]:
    data = source["data"]
    try:
        head = base64.b64decode(data, validate=True)[:_HEAD]
    except (binascii.Error, ValueError):
        yield Refusal(f"{spot}.data: invalid base64 data", rule="base64")
        return
    size = image_size(head)
    if size is None:
        yield Refusal("Could not process image", rule="image unreadable")
    elif f"image/{size.format}" != source["media_type"]:
        told = f"The image was specified using the {source['media_type']} media type, but the image appears to be "
        yield Refusal(f"{spot}: {told}a image/{size.format} image", rule="media type")
    elif max(size.width, size.height) > MAX_EDGE:
        message = f"{spot}.data: At least one of the image dimensions exceed max allowed size: {MAX_EDGE} pixels"
        yield Refusal(message, rule="image size")


def media_refusals(body: Mapping[str, Json], most: int) -> Iterator[Refusal]:
    """What is wrong with all images and documents together: at most `most` images, smaller ones where there are many,
    and as many PDF pages."""
    pictures: list[Picture] = []
    pages = 0
    for path, block in _media(body):
        if block.get("type") == "image":
            pictures.append(Picture(path, _edge(members(block.get("source")))))
        else:
            pages += _pages(members(block.get("source")))
    if len(pictures) > most:
        yield Refusal(f"messages: Too many images: {len(pictures)} > {most} maximum", rule="too many images")
    if pages > most:
        yield Refusal(f"A maximum of {most} PDF pages may be provided.", rule="too many pages")
    if len(pictures) > MANY:
        for picture in pictures:
            if picture.edge > MANY_EDGE:
                spot = ".".join(map(str, picture.path))
                told = "At least one of the image dimensions exceed max allowed size for many-image requests"
                yield Refusal(f"{spot}.image.source.base64.data: {told}: {MANY_EDGE} pixels", rule="image size")


def _media(body: Mapping[str, Json]) -> Iterator[tuple[Path, Mapping[str, Json]]]:
    for n, message in enumerate(rows(body.get("messages"))):
        for m, block in enumerate(rows(members(message).get("content"))):
            value = members(block)
            if value.get("type") in ("image", "document"):
                yield ("messages", n, "content", m), value
            elif value.get("type") == "tool_result":
                for k, part in enumerate(rows(value.get("content"))):
                    if members(part).get("type") in ("image", "document"):
                        yield ("messages", n, "content", m, "tool_result", "content", k), part


def _edge(source: Mapping[str, Json]) -> int:
    size = image_size(_decoded(source))
    return max(size.width, size.height) if size else 0


def _pages(source: Mapping[str, Json]) -> int:
    return pdf_pages(_decoded(source)) if source.get("media_type") == "application/pdf" else 0


def _decoded(source: Mapping[str, Json]) -> bytes:
    data = source.get("data")
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        return b""
