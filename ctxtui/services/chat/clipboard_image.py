"""Saves the clipboard's image, by desktop programs, to a file that a message can name."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.project.file_block import IMAGE, make_file_block
from ctxtui.project.named import format_mention
from ctxtui.services.config.paths import data_dir
from ctxtui.services.config.settings import Settings

TIMEOUT_S: Final = 5.0
HEX_PREFIX: Final = "«data PNGf"
_WAYLAND: Final = ("wl-paste", "--no-newline", "--type", "image/png")
_X11: Final = ("xclip", "-selection", "clipboard", "-t", "image/png", "-o")
_MAC: Final = ("osascript", "-e", "get the clipboard as «class PNGf»")


class NoImage(CtxtuiError):
    """The clipboard has no image, or no program here can read it."""


def commands(platform: str, env: Mapping[str, str]) -> list[Sequence[str]]:
    """Commands that may print the clipboard's image, the likeliest first."""
    if platform == "darwin":
        return [_MAC]
    return [*([_WAYLAND] if env.get("WAYLAND_DISPLAY") else []), *([_X11] if env.get("DISPLAY") else [])]


def save_image(settings: Settings) -> str:
    """Save the clipboard's image in the data folder and return its mention in a message.

    Raises `NoImage`.
    """
    candidates = commands(sys.platform, os.environ)
    if not candidates:
        raise NoImage("no desktop clipboard was found", way_out="save the picture and write @picture.png")
    data = next(filter(None, map(_run, candidates)), b"")
    image = make_file_block(data)
    if image.kind != IMAGE or image.size is None:
        raise NoImage(
            "no image in the clipboard",
            way_out=f"copy a picture; {' or '.join(command[0] for command in candidates)} must be installed",
        )
    folder = data_dir(settings.data_dir) / "pasted"
    path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.{image.size.format}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_bytes(data)
    except OSError as error:
        raise NoImage(f"the image cannot be stored: {error.strerror}", place=str(path)) from error
    return format_mention(str(path))


def _run(command: Sequence[str]) -> bytes:
    try:
        result = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return b""
    return from_hex(result.stdout) if command is _MAC else result.stdout


def from_hex(output: bytes) -> bytes:
    """Decode AppleScript's form of an image, ``«data PNGf8950...»``."""
    text = output.decode("utf-8", "replace").strip()
    try:
        return bytes.fromhex(text.removeprefix(HEX_PREFIX).removesuffix("»"))
    except ValueError:
        return b""
