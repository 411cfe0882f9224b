"""A copy of a program's settings file with other base URLs, for the time of its run."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.file_writing import mode_of, replace_file

Replacer = Callable[[str, Mapping[str, str]], str]
"""Replaces URLs in a settings file's text by the URLs that a mapping gives for them."""


def replace_urls(key: str) -> Replacer:
    """A replacer of the values of `key`, quoted or plain, in TOML or YAML."""
    value = re.compile(rf"(\b{key}[\"']?\s*[:=]\s*)([\"']?)([^\s\"',}}\]#]+)(?=\2)")

    def replace(text: str, urls: Mapping[str, str]) -> str:
        return value.sub(lambda match: f"{match[1]}{match[2]}{urls.get(match[3], match[3])}", text)

    return replace


_PREFIX: Final = "ctxtui-settings-"
_LOCK: Final = "lock"
"""The file that a run keeps locked as long as it lives; its text is the name of the copied file."""


def copy_file(name: str, text: str) -> tuple[Path, Callable[[], None]]:
    """Write `text` to a file `name` that only this user can read.

    Returns its path and the function that removes it. Copies of runs that were killed are removed first.
    """
    _remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    lock = (folder / _LOCK).open("w", encoding="utf-8")
    fcntl.flock(lock, fcntl.LOCK_EX)
    lock.write(name)
    lock.flush()
    path = folder / "settings" / name
    path.parent.mkdir()
    path.touch(0o600)
    path.write_text(text, encoding="utf-8")

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()

    return path, remove


def _remove_leftovers() -> None:
    """Remove the copies of this user's killed runs.

    A folder in which a program created files remains.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / _LOCK).open("r+", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                copy = folder / "settings" / lock.read()
                copy.unlink(missing_ok=True)
                if all(entry.is_symlink() for entry in copy.parent.iterdir()):
                    shutil.rmtree(folder)


def link_folder(
    folder: Path, name: str, text: str, restore: Callable[[str], str | None]
) -> tuple[Path, Callable[[], None]]:
    """Make a folder of links to everything in `folder`, except that its file `name` has `text`.

    Returns it, and a function to call at the end: it moves to `folder` what a program created or replaced, and removes
    the links. If the program changed `name`, it writes to `folder` what `restore` makes of the changed text (None:
    nothing). It raises `CtxtuiError` if something cannot be written; the copies then stay.
    """
    copy, remove = copy_file(name, text)
    for entry in folder.iterdir():
        if entry.name != name:
            (copy.parent / entry.name).symlink_to(entry.absolute())

    def end() -> None:
        faults = []
        try:
            changed = copy.read_text(encoding="utf-8", errors="surrogateescape") if copy.exists() else text
            if changed != text and (restored := restore(changed)) is not None:
                own = Path(os.path.realpath(folder / name))
                replace_file(own, restored.encode("utf-8", "surrogateescape"), mode_of(own))
            copy.unlink(missing_ok=True)
        except OSError as error:
            faults.append(error)
            # Under its own name the next run would remove it.
            copy.rename(copy.with_name(f"{name}.unsaved"))
        for entry in copy.parent.iterdir():
            if not entry.is_symlink() and entry.name != f"{name}.unsaved":
                try:
                    _move(entry, folder / entry.name)
                except OSError as error:
                    faults.append(error)
        if faults:
            raise CtxtuiError(
                f"what the program changed could not be written to {folder}: {faults[0].strerror or faults[0]}",
                place=str(copy.parent),
                way_out="copy it from there",
            )
        remove()

    return copy.parent, end


def _move(entry: Path, to: Path) -> None:
    """Move a file or a folder, into the folder that is there."""
    if entry.is_dir():
        shutil.copytree(entry, to, dirs_exist_ok=True)
    else:
        shutil.move(entry, to)
