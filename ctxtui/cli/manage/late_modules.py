"""Modules of Python that others import for what they hardly ever do: they are loaded at their first use.

asyncio imports TLS (OpenSSL, a fortieth of the time to a first frame), and only a chat has a connection. Such a module
is empty until a name is asked of it: that fills it, in the thread that asks, and other threads wait.
`importlib.util.LazyLoader` does not do: to it a second import is a use.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    # Another module that brings a dozen others with it.
    from importlib.abc import Loader

_LATE: Final = {
    "ssl": "_ssl",  # asyncio
    "asyncio.sslproto": "_ssl",
    "asyncio.staggered": "",  # connections to names with several addresses
    "bz2": "_bz2",  # shutil
    "lzma": "_lzma",
    "ipaddress": "",  # urllib.parse, which pathlib imports
    "locale": "",  # subprocess
    "mimetypes": "",  # Textual, to deliver files to browsers
    "textwrap": "",  # msgspec's JSON schemas
}
"""Each with the module in C without which its import fails: that is to be found out by who imports it."""

_LOCK: Final = RLock()
"""Protects who of several threads fills a module."""


class _Late(ModuleType):
    """A module before its first use."""

    def __getattr__(self, name: str) -> Any:
        # Python asks here for what is not there; of a module that is being filled, what it has not come to.
        with _LOCK:
            loader: object = self.__loader__
            if isinstance(loader, _LateLoader):
                loader.fill(self)
        return ModuleType.__getattribute__(self, name)


class _LateLoader:
    """Leaves a module empty, and has what fills it."""

    def __init__(self, real: Loader) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader makes it."""
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing yet."""
        module.__class__ = _Late

    def fill(self, module: ModuleType) -> None:
        """Make it the module that it is. Raises what its import raises; the next use tries again."""
        self._give(module, self._real)
        try:
            self._real.exec_module(module)
        except BaseException:
            self._give(module, cast("Loader", self))
            raise
        module.__class__ = ModuleType

    @staticmethod
    def _give(module: ModuleType, loader: Loader) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = loader


class _Finder:
    """Finds what is to be loaded late, before Python does."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """As Python's own, with a loader that waits; None for every other module."""
        if name not in _LATE:
            return None
        spec, below = PathFinder.find_spec(name, path, target), _LATE[name]
        if spec is not None and spec.loader is not None and (not below or PathFinder.find_spec(below) is not None):
            spec.loader = cast("Loader", _LateLoader(spec.loader))
        return spec


def load_late() -> None:
    """Let these modules, where they are not there yet, be loaded late from now on."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
