"""The files that a message names with ``@``, read and counted before they are sent: text, images, PDFs, folders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from ctxtui.core import block
from ctxtui.core.errors import CtxtuiError
from ctxtui.live_database import WHY, in_use
from ctxtui.project.file_block import BINARY, IMAGE, TEXT, file_block, image_trouble
from ctxtui.project.named import mentions, spelled
from ctxtui.project.selection import SIGNATURES, WHOLE, rendered
from ctxtui.project.signatures import signatures
from ctxtui.services.project.report import Meter
from ctxtui.wire.speech import Attachment

_LARGEST: Final = 20_000_000
_NAMES: Final = 500


class NotAttached(CtxtuiError):
    """A file that was named cannot be sent."""


class AttachedFile(Struct, frozen=True, kw_only=True):
    """A file that goes with a message: its name as it was written, its `kind` (``folder`` besides those of
    `project.file_block`), its `form` (``whole``, ``signatures``), its tokens, and what is sent of it."""

    name: str
    kind: str
    form: str
    tokens: int
    attached: Attachment


def named_files(text: str, cwd: Path) -> list[tuple[str, Path]]:
    """(name, place) of what `text` names with ``@`` and is there."""
    found = {}
    for names in mentions(text):
        for name in names:
            place = Path(os.path.expanduser(name))
            place = place if place.is_absolute() else cwd / place
            if os.path.lexists(place):
                found[name] = place
                break
    return list(found.items())


def dropped(text: str) -> str:
    """How a message names the file whose path a terminal pastes for a file that is dropped on it: quoted, with blanks
    escaped, or as ``file://``; "" where there is no such file."""
    plain = text.strip("'\"")
    name = unquote(plain.removeprefix("file://")) if plain.startswith("file://") else plain
    found = next((one for one in (name, name.replace("\\", "")) if os.path.isfile(os.path.expanduser(one))), "")
    return spelled(found) if found else ""


def missing(text: str, cwd: Path) -> list[str]:
    """What `text` names with ``@`` as a file's path and is not there: it goes as words."""
    there = {name for name, _ in named_files(text, cwd)}
    return [names[-1] for names in mentions(text) if not there & set(names) and PurePath(names[-1]).suffix]


def attachments(text: str, cwd: Path, meter: Meter, room: int) -> tuple[AttachedFile, ...]:
    """What goes with the message `text`: a text of more than `room` tokens (0: not known) as signatures. Raises
    `NotAttached` for what cannot be sent."""
    return tuple(_attached(name, place, meter, room) for name, place in named_files(text, cwd))


def _attached(name: str, place: Path, meter: Meter, room: int) -> AttachedFile:
    try:
        if place.is_dir():
            return _folder(name, place, meter)
        if not place.is_file():
            raise NotAttached("is no regular file", place=name)
        if place.stat().st_size > _LARGEST:
            raise NotAttached(f"{place.stat().st_size:,} bytes are too many", place=name)
        if in_use(place):
            raise NotAttached(f"is {WHY}: no model reads it", place=name)
        data = place.read_bytes()
    except OSError as error:
        raise NotAttached(f"cannot be read: {error.strerror}", place=name) from error
    found = file_block(data)
    if found.kind == TEXT:
        return _text(name, data.decode("utf-8", "replace"), meter, room)
    if found.block is None or found.kind == BINARY:
        raise NotAttached("is a binary file: no model reads it", place=name)
    if found.kind == IMAGE:
        trouble = image_trouble(found)
        if trouble:
            raise NotAttached(trouble, place=name, way_out="make it smaller")
    tokens = meter.block(found.block)
    return AttachedFile(name=name, kind=found.kind, form=WHOLE, tokens=tokens, attached=Attachment(found.block))


def _text(name: str, text: str, meter: Meter, room: int) -> AttachedFile:
    whole = rendered(name, text)
    tokens, form = meter.text(whole), WHOLE
    if room and tokens > room:
        whole, form = rendered(name, signatures(name, text), SIGNATURES), SIGNATURES
        short = meter.text(whole)
        if short > room:
            raise NotAttached(
                f"{tokens:,} tokens, {short:,} as signatures: there is room for {room:,}",
                place=name,
                way_out="name a part of it, or let the agent read it",
            )
        tokens = short
    return AttachedFile(name=name, kind=TEXT, form=form, tokens=tokens, attached=Attachment(block.text(whole), "file"))


def _folder(name: str, place: Path, meter: Meter) -> AttachedFile:
    names = sorted(f"{one.name}/" if one.is_dir() else one.name for one in place.iterdir())
    more = [f"[{len(names) - _NAMES:,} more]"] if len(names) > _NAMES else []
    text = f'<folder path="{name}">\n' + "\n".join([*names[:_NAMES], *more]) + "\n</folder>"
    made = Attachment(block.text(text), "file")
    return AttachedFile(name=name, kind="folder", form=WHOLE, tokens=meter.text(text), attached=made)


def told(files: Iterable[AttachedFile]) -> str:
    """What goes with a message, in words: names and tokens."""
    parts = [f"{one.name} {one.tokens:,}{' as signatures' if one.form == SIGNATURES else ''}" for one in files]
    return ", ".join(parts)
