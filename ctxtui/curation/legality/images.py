"""Images: how many, how large, and whether their bytes are what they say (facts §1, §4)."""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.curation.legality.violation import IMAGES, Violation, listed
from ctxtui.tokens.image import image_size

MOST: Final = 600
"""Images in one request."""

MANY: Final = 20
"""Images of which each may still have `MOST_PIXELS` on its longer side; of more, `MANY_PIXELS`."""

MOST_PIXELS: Final = 8000
MANY_PIXELS: Final = 2000
MOST_CHARACTERS: Final = 10 * 1024 * 1024
"""Base64 characters of one image."""

_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def anthropic(body: dict[str, Json]) -> Iterator[Violation]:
    """Images of an Anthropic `body`, those inside results and documents too."""
    found = [one for n, message in enumerate(listed(body.get("messages"))) for one in _of(message, f"$.messages[{n}]")]
    if len(found) > MOST:
        yield Violation("$.messages", f"{len(found)} images, the most is {MOST}", IMAGES)
    for path, image in found:
        source = image.get("source")
        if isinstance(source, dict) and source.get("type") == "base64" and (wrong := _wrong(source, len(found))):
            yield Violation(path, wrong, IMAGES)


def _of(value: Json, path: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """The images of a message or block and what it holds, with their paths."""
    if not isinstance(value, dict):
        return
    if value.get("type") == "image":
        yield path, value
    for key, content in (("content", value.get("content")), ("source", value.get("source"))):
        if isinstance(content, dict):
            yield from _of(content, f"{path}.{key}")
        for n, part in enumerate(listed(content)):
            yield from _of(part, f"{path}.{key}[{n}]")


def _wrong(source: dict[str, Json], count: int) -> str:
    """Name the fault of one of `count` images; "" for none."""
    kind, data = source.get("media_type"), source.get("data")
    if kind not in _TYPES:
        return f"no image of a known type: {kind!r}"
    if not isinstance(data, str) or not data:
        return "the image is empty"
    if len(data) > MOST_CHARACTERS:
        return f"the image has {len(data):,} characters of base64, the most is {MOST_CHARACTERS:,}"
    image = _decoded(data)
    size = image_size(image) if image is not None else None
    if image is None or size is None:
        return "the image cannot be read" if image is not None else "the image is no base64"
    if f"image/{size.format}" != kind:
        return f"the image is image/{size.format}, not {kind} as it says"
    longer, many = max(size.width, size.height), count > MANY
    if longer <= (MANY_PIXELS if many else MOST_PIXELS):
        return ""
    most = f"{MANY_PIXELS:,} from {MANY + 1} images on" if many else f"{MOST_PIXELS:,}"
    return f"the image's longer side is {longer:,} pixels, the most is {most}"


def _decoded(data: str) -> bytes | None:
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return None


def openai(body: dict[str, Json]) -> Iterator[Violation]:
    """Images of an OpenAI `body` that are data URLs without data."""
    for key in ("messages", "input"):
        for n, message in enumerate(listed(body.get(key))):
            if not isinstance(message, dict):
                continue
            for inner in ("content", "output"):
                for m, part in enumerate(listed(message.get(inner))):
                    if _is_hollow(part):
                        yield Violation(f"$.{key}[{n}].{inner}[{m}]", "the image is empty or no base64", IMAGES)


def _is_hollow(part: Json) -> bool:
    url = part.get("image_url") if isinstance(part, dict) else None
    url = url.get("url") if isinstance(url, dict) else url
    if not isinstance(url, str) or not url.startswith("data:"):
        return False
    return not _decoded(url.partition(";base64,")[2])
