"""The image in the clipboard, kept as a file so that a message can name it. Programs of the desktop tell it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.project.file_block import IMAGE, file_block
from ctxtui.project.named import spelled
from ctxtui.services.config.paths import data_dir
from ctxtui.services.config.settings import Settings

_SECONDS: Final = 5.0
_HEX: Final = "«data PNGf"
_WAYLAND: Final = ("wl-paste", "--no-newline", "--type", "image/png")
_X11: Final = ("xclip", "-selection", "clipboard", "-t", "image/png", "-o")
_MAC: Final = ("osascript", "-e", "get the clipboard as «class PNGf»")


class NoImage(CtxtuiError):
    """There is no image in the clipboard, or nothing here can tell."""


def commands(platform: str, env: Mapping[str, str]) -> list[Sequence[str]]:
    """The programs that may have the clipboard's image, the likeliest first."""
    if platform == "darwin":
        return [_MAC]
    return [*([_WAYLAND] if env.get("WAYLAND_DISPLAY") else []), *([_X11] if env.get("DISPLAY") else [])]


def kept_image(settings: Settings) -> str:
    """How a message names the clipboard's image, which is now a file in the data folder. Raises `NoImage`."""
    tried = commands(sys.platform, os.environ)
    if not tried:
        raise NoImage("no desktop whose clipboard could be read", way_out="save the picture and write @picture.png")
    data = next((found for found in map(_asked, tried) if found), b"")
    found = file_block(data)
    if found.kind != IMAGE or found.size is None:
        raise NoImage(
            "no image in the clipboard", way_out=f"({' or '.join(one[0] for one in tried)} must be installed)"
        )
    folder = data_dir(settings.data_dir) / "pasted"
    place = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.{found.size.format}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.touch(mode=0o600)
        place.write_bytes(data)
    except OSError as error:
        raise NoImage(f"the image cannot be kept: {error.strerror}", place=str(place)) from error
    return spelled(str(place))


def _asked(command: Sequence[str]) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return b""
    return from_hex(done.stdout) if command is _MAC else done.stdout


def from_hex(told: bytes) -> bytes:
    """The bytes that AppleScript prints as ``«data PNGf8950...»``."""
    text = told.decode("utf-8", "replace").strip()
    try:
        return bytes.fromhex(text.removeprefix(_HEX).removesuffix("»"))
    except ValueError:
        return b""
