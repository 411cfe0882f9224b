"""Reads and counts the files that a message names with ``@``: text, images, PDFs, folders."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from ctxtui.core import block
from ctxtui.core.errors import CtxtuiError
from ctxtui.live_database import WHY, in_use
from ctxtui.project.file_block import BINARY, IMAGE, TEXT, image_fault, make_file_block
from ctxtui.project.named import find_mentions, format_mention
from ctxtui.project.selection import SIGNATURES, WHOLE, format_file
from ctxtui.project.signatures import extract_signatures
from ctxtui.services.project.report import Meter
from ctxtui.wire.speech import Attachment

_MAX_FILE_BYTES: Final = 20_000_000
_MAX_FOLDER_NAMES: Final = 500


class NotAttached(CtxtuiError):
    """A named file cannot be sent."""


class AttachedFile(Struct, frozen=True, kw_only=True):
    """A file sent with a message.

    - `name`: as the user wrote it.
    - `kind`: one of `project.file_block` or ``folder``.
    - `form`: ``whole`` or ``signatures``.
    """

    name: str
    kind: str
    form: str
    tokens: int
    attached: Attachment


def list_named_files(text: str, cwd: Path) -> list[tuple[str, Path]]:
    """List (name, path) of the existing files that `text` names with ``@``."""
    files = {}
    for names in find_mentions(text):
        for name in names:
            place = cwd / os.path.expanduser(name)
            if os.path.lexists(place):
                files[name] = place
                break
    return list(files.items())


def mention_dropped_file(text: str) -> str:
    """Convert the path that a terminal pastes for a dropped file into a mention.

    "" if there is no such file. Terminals paste it quoted, with escaped blanks, or as ``file://``.
    """
    plain = text.strip("'\"")
    name = unquote(plain.removeprefix("file://")) if plain.startswith("file://") else plain
    path = next(
        (candidate for candidate in (name, name.replace("\\", "")) if os.path.isfile(os.path.expanduser(candidate))), ""
    )
    return format_mention(path) if path else ""


def list_missing_files(text: str, cwd: Path) -> list[str]:
    """List the file names after ``@`` in `text` that do not exist; they are sent as plain text.

    A word without a suffix, such as ``@team``, is not taken for a file.
    """
    existing = {name for name, _ in list_named_files(text, cwd)}
    return [names[-1] for names in find_mentions(text) if not existing & set(names) and PurePath(names[-1]).suffix]


def read_attachments(text: str, cwd: Path, meter: Meter, room: int) -> tuple[AttachedFile, ...]:
    """Read the files named in `text`. Raises `NotAttached` for a file that cannot be sent.

    A text of more than `room` tokens (0: no limit is known) becomes signatures.
    """
    return tuple(_read_attachment(name, place, meter, room) for name, place in list_named_files(text, cwd))


def _read_attachment(name: str, place: Path, meter: Meter, room: int) -> AttachedFile:
    try:
        if place.is_dir():
            return _attach_folder(name, place, meter)
        if not place.is_file():
            raise NotAttached("is not a regular file", place=name)
        if place.stat().st_size > _MAX_FILE_BYTES:
            raise NotAttached(f"{place.stat().st_size:,} bytes are too many", place=name)
        if in_use(place):
            raise NotAttached(f"is {WHY}: no model reads it", place=name)
        data = place.read_bytes()
    except OSError as error:
        raise NotAttached(f"cannot be read: {error.strerror}", place=name) from error
    file = make_file_block(data)
    if file.kind == TEXT:
        return _attach_text(name, data.decode("utf-8", "replace"), meter, room)
    if file.block is None or file.kind == BINARY:
        raise NotAttached("is a binary file: no model reads it", place=name)
    if file.kind == IMAGE:
        trouble = image_fault(file)
        if trouble:
            raise NotAttached(trouble, place=name, way_out="send a smaller PNG, JPEG, GIF or WebP")
    tokens = meter.block(file.block)
    return AttachedFile(name=name, kind=file.kind, form=WHOLE, tokens=tokens, attached=Attachment(file.block))


def _attach_text(name: str, text: str, meter: Meter, room: int) -> AttachedFile:
    whole = format_file(name, text)
    tokens, form = meter.text(whole), WHOLE
    if room and tokens > room:
        whole, form = format_file(name, extract_signatures(name, text), SIGNATURES), SIGNATURES
        short = meter.text(whole)
        if short > room:
            raise NotAttached(
                f"{tokens:,} tokens, {short:,} as signatures: there is room for {room:,}",
                place=name,
                way_out="name a part of it, or let the agent read it",
            )
        tokens = short
    return AttachedFile(name=name, kind=TEXT, form=form, tokens=tokens, attached=Attachment(block.text(whole), "file"))


def _attach_folder(name: str, place: Path, meter: Meter) -> AttachedFile:
    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in place.iterdir())
    more = [f"[{len(names) - _MAX_FOLDER_NAMES:,} more]"] if len(names) > _MAX_FOLDER_NAMES else []
    text = f'<folder path="{name}">\n' + "\n".join([*names[:_MAX_FOLDER_NAMES], *more]) + "\n</folder>"
    attached = Attachment(block.text(text), "file")
    return AttachedFile(name=name, kind="folder", form=WHOLE, tokens=meter.text(text), attached=attached)
