"""Write turns of any dialect (`turns`) as the body of Google's generateContent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.wire.google_parts import join_part
from ctxtui.wire.translate.anthropic import OPENING
from ctxtui.wire.translate.media import caption, media_type
from ctxtui.wire.translate.turns import (
    ASSISTANT,
    CALL,
    MEDIA,
    NO_THINKING,
    RESULT,
    SYSTEM,
    TEXT,
    THINKING,
    USER,
    Losses,
    Turn,
    TurnPart,
    arguments_object,
    readable_text,
)

UNSIGNED: Final = "skip_thought_signature_validator"
"""The signature that Google takes for a call of another model. Without one, Gemini 3 refuses the request."""
_SIGNATURE: Final = "thoughtSignature"
MODEL: Final = "model"


def write(system: Sequence[TurnPart], turns: Sequence[Turn], same: bool, losses: Losses) -> dict[str, Json]:
    """Write ``systemInstruction`` and ``contents``.

    With `same`, the parts were recorded in this dialect and stay verbatim, except empty text, which is left out. If one
    of them is signed, each turn of the model whose first call lacks a signature gets `UNSIGNED` there; without `same`,
    each such turn gets it anyway.
    """
    contents: list[dict[str, Json]] = []
    names: dict[str, str] = {}
    is_signed = any(isinstance(part.value, dict) and _SIGNATURE in part.value for turn in turns for part in turn.parts)
    for turn in turns:
        if turn.role in SYSTEM:
            losses.note("later system messages became user messages")
        role = MODEL if turn.side == ASSISTANT else USER
        names |= {part.id: part.reading.name for part in turn.parts if part.category == CALL}
        parts = [written for part in turn.parts for written in _write_parts(part, role, names, same, losses)]
        if parts and role == MODEL and (not same or is_signed):
            parts = _with_signature(parts)
        if parts and contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": role, "parts": parts})
    if contents and any("functionCall" in part or "function_call" in part for part in _model_parts(contents[0])):
        losses.note("the first message calls a function: a user message was put in front")
        contents.insert(0, {"role": USER, "parts": [{"text": OPENING}]})
    texts = [written for part in system for written in _write_parts(part, "system", names, same, losses)]
    return {**({"systemInstruction": {"parts": texts}} if texts else {}), "contents": contents}


def _model_parts(content: dict[str, Json]) -> list[dict[str, Json]]:
    return [part for part in content["parts"] if isinstance(part, dict)] if content["role"] == MODEL else []


def _write_parts(part: TurnPart, role: str, names: dict[str, str], same: bool, losses: Losses) -> Iterator[Json]:
    verbatim = same and isinstance(part.value, dict)
    if part.category == TEXT:
        if not part.reading.text:
            losses.note("empty text")
        else:
            yield join_part((part.kind, part.value)) if verbatim else {"text": part.reading.text}
    elif part.category == THINKING:
        if verbatim:
            yield part.value
        else:
            losses.note(NO_THINKING)
    elif part.category == CALL:
        yield part.value if verbatim and part.kind == "function_call" else _write_call(part, losses)
    elif part.category == RESULT:
        yield part.value if verbatim and part.kind == "function_response" else _write_response(part, names, losses)
    elif part.category == MEDIA and not verbatim:
        yield from _write_media(part, losses)
    elif verbatim:
        yield part.value
    elif text := readable_text(part, losses):
        yield {"text": text}
    else:
        losses.note(f"{part.kind}, which only its own provider knows")


def _write_call(part: TurnPart, losses: Losses) -> Json:
    arguments = arguments_object(part, losses)
    return {"functionCall": {"id": part.id, "name": part.reading.name or "tool", "args": arguments}}


def _with_signature(parts: list[Json]) -> list[Json]:
    """Add `UNSIGNED` to the first call of a turn if it is unsigned.

    Google requires no signature of later calls.
    """
    first = next((n for n, part in enumerate(parts) if isinstance(part, dict) and "functionCall" in part), -1)
    call = parts[first] if first >= 0 else None
    if not isinstance(call, dict) or _SIGNATURE in call:
        return parts
    return [*parts[:first], {**call, _SIGNATURE: UNSIGNED}, *parts[first + 1 :]]


def _write_response(part: TurnPart, names: dict[str, str], losses: Losses) -> Json:
    name = names.get(part.id) or part.reading.name or "tool"
    response = {"error" if part.reading.is_error else "output": part.reading.text}
    media_parts = [
        written
        for media in part.reading.media
        for written in _write_medium(media_type(media), media.data, media.url, losses)
    ]
    nested = {"parts": media_parts} if media_parts else {}
    return {"functionResponse": {"id": part.id, "name": name, "response": response, **nested}}


def _write_media(part: TurnPart, losses: Losses) -> Iterator[Json]:
    if text := caption(part, losses):
        yield {"text": text}
    for media in part.reading.media:
        yield from _write_medium(media_type(media), media.data, media.url, losses)


def _write_medium(kind: str, data: str, url: str, losses: Losses) -> Iterator[Json]:
    if data:
        yield {"inlineData": {"mimeType": kind or "image/png", "data": data}}
    elif url.startswith(("http://", "https://", "gs://")):
        yield {"fileData": {**({"mimeType": kind} if kind else {}), "fileUri": url}}
    else:
        losses.note("media that this dialect cannot hold")
