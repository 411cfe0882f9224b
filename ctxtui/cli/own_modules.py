"""Finding ctxtui's own modules by one look into each folder: a screen has hundreds, and Python asks the system several
times for each.

What is found is what Python's own finder finds. Whatever the look does not tell for sure is left to that one: modules
in C, packages without a file of their own, an installation in an archive, files that came after the look.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, SourceFileLoader
from importlib.util import cache_from_source
from types import ModuleType
from typing import Final

_OURS: Final = "ctxtui."
_SOURCE: Final = ".py"
_PACKAGE: Final = "__init__"


class _Folder:
    """What one look into the folder `path` tells. Raises `OSError` where it is none, and `NotImplementedError` where
    this Python keeps nothing that it compiled."""

    def __init__(self, path: str) -> None:
        with os.scandir(path) as found:
            entries = list(found)
        # What was compiled from a module "x" lies between these.
        compiled = cache_from_source(f"{path}{os.sep}x{_SOURCE}")
        self.before = f"{os.path.dirname(compiled)}{os.sep}"
        self.after = compiled[len(self.before) + 1 :]
        folders = {one.name for one in entries if "." not in one.name and one.is_dir()}
        sources = [one.name for one in entries if one.name.endswith(_SOURCE) and one.is_file()]
        in_c = any(one.name.endswith(tuple(EXTENSION_SUFFIXES)) for one in entries)
        # A folder goes before a source of the same name, and so does a module in C.
        self.modules = frozenset() if in_c else frozenset(name[: -len(_SOURCE)] for name in sources) - folders
        self.folders = frozenset(folders)


class _OwnFinder:
    """Finds modules of ours whose package is one folder."""

    def __init__(self) -> None:
        self._looks: dict[str, _Folder | None] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """As Python's own; None for what it is to find."""
        if not name.startswith(_OURS) or type(path) is not list or len(path) != 1:
            return None
        folder, last = path[0], name.rpartition(".")[2]
        look = self._look(folder)
        if look is None:
            return None
        if last in look.modules:
            return _spec(name, folder, last, look)
        if last in look.folders:
            folder = f"{folder}{os.sep}{last}"
            look = self._look(folder)
            if look is not None and _PACKAGE in look.modules:
                spec = _spec(name, folder, _PACKAGE, look)
                spec.submodule_search_locations = [folder]
                return spec
        return None

    def invalidate_caches(self) -> None:
        """Look again."""
        self._looks.clear()

    def _look(self, folder: str) -> _Folder | None:
        try:
            return self._looks[folder]
        except KeyError:
            pass
        look = None
        if os.path.isabs(folder) and os.path.normpath(folder) == folder:
            try:
                look = _Folder(folder)
            except (OSError, NotImplementedError):
                look = None
        self._looks[folder] = look
        return look


def _spec(name: str, folder: str, last: str, look: _Folder) -> ModuleSpec:
    file = f"{folder}{os.sep}{last}{_SOURCE}"
    spec = ModuleSpec(name, SourceFileLoader(name, file), origin=file)
    spec.has_location = True
    spec.cached = f"{look.before}{last}{look.after}"
    return spec


_FINDER: Final = _OwnFinder()


def find_own() -> None:
    """Let ctxtui's modules be found so from now on."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
