"""Images and documents of a turn, and their captions, as each dialect writes them."""

from __future__ import annotations

from ctxtui.core.block_content import Media
from ctxtui.core.canonical import Json
from ctxtui.wire.translate.turns import Losses, TurnPart

_FORMATS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
"""MIME types of OpenAI's audio formats."""


def media_type(media: Media) -> str:
    """The MIME type of a picture or file; "" if unknown.

    If none is given, it is guessed from the start of the base64, or from OpenAI's name of an audio format.
    """
    if "/" in media.media_type:
        return media.media_type
    signatures = {"iVBOR": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}
    guess = next((kind for head, kind in signatures.items() if media.data.startswith(head)), "")
    return guess or ("application/pdf" if media.data.startswith("JVBER") else _FORMATS.get(media.media_type, ""))


def caption(part: TurnPart, losses: Losses) -> str:
    if not part.reading.text.strip() and not part.reading.media:
        losses.note("empty text")
    return part.reading.text if part.reading.text.strip() else ""


def for_anthropic(media: Media, losses: Losses) -> Json | None:
    """An ``image`` or ``document`` block; None if neither can hold it."""
    kind = media_type(media)
    if media.data and kind.startswith("image/"):
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": media.data}}
    if media.data and kind == "application/pdf":
        return {"type": "document", "source": {"type": "base64", "media_type": kind, "data": media.data}}
    if media.url.startswith(("http://", "https://")) and (not kind or kind.startswith("image/")):
        return {"type": "image", "source": {"type": "url", "url": media.url}}
    losses.note("media that this dialect cannot hold")
    return None


def to_url(media: Media) -> str:
    """A data URL with the media's content, or its address if it has no content."""
    return f"data:{media_type(media) or 'image/png'};base64,{media.data}" if media.data else media.url


def is_image(media: Media) -> bool:
    """Whether this is a picture, judged by its type or URL."""
    kind = media_type(media)
    return bool(media.data or media.url) and (
        kind.startswith("image/") or (not kind and media.url.startswith(("http://", "https://")))
    )


def for_chat(media: Media, losses: Losses) -> Json | None:
    """An ``image_url`` or ``file`` part; None if neither can hold it."""
    if is_image(media):
        return {"type": "image_url", "image_url": {"url": to_url(media)}}
    if media.data and media_type(media) == "application/pdf":
        return {"type": "file", "file": {"filename": "document.pdf", "file_data": to_url(media)}}
    losses.note("media that this dialect cannot hold")
    return None


def for_responses(media: Media, losses: Losses) -> Json | None:
    """An ``input_image`` or ``input_file`` part; None if neither can hold it."""
    if is_image(media):
        return {"type": "input_image", "image_url": to_url(media)}
    if media.data and media_type(media) == "application/pdf":
        return {"type": "input_file", "filename": "document.pdf", "file_data": to_url(media)}
    losses.note("media that this dialect cannot hold")
    return None
