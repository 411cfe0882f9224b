"""Modules of Python that others import for what they hardly ever do: they are loaded at their first use.

asyncio imports TLS (OpenSSL, a fortieth of the time to a first frame), and only a chat has a connection. Such a module
is empty until a name is asked of it: that fills it, in the thread that asks, and other threads that ask it wait.
`importlib.util.LazyLoader` does not do: to it a second import is a use.

A module is filled by an import of a name of its own, so that Python's import system holds a lock for each. It knows who
waits for whom, whatever they import: a thread that would wait in a ring goes on with what is there of the module.

``from module import name`` asks for a name, too. Where others take names so and hardly use them (Textual's own palette
is a fourteenth of the time to a first frame, and we have another one), a stand-in is given: whoever calls it, looks for
something in it or makes one of a class that inherits from it fills the module, and deals with what it stands for.
"""

from __future__ import annotations

import sys
from abc import ABC, ABCMeta
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import Lock
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
    "msgspec.inspect": "",  # msgspec's JSON schemas
}
"""Each with the module in C without which its import fails: that is to be found out by who imports it."""

_TAKEN: Final = {
    "textual.command": (  # the app and its themes; it brings Textual's input, lists, trees and buttons with it
        "CommandListItem",
        "CommandPalette",
        "DiscoveryHit",
        "Hit",
        "Hits",
        "Provider",
        "SimpleProvider",
    ),
    "difflib": ("get_close_matches",),  # Textual, for what to say of a mistake in CSS
    "platformdirs": ("user_downloads_path",),  # Textual, to deliver files to browsers
    "rich.markup": ("render",),  # Rich's console, for texts with markup of its own
    "rich.panel": ("Panel",),  # Textual, to print what is wrong
    "rich.table": ("Table",),  # Textual, to show the colours of a theme
    "rich.tree": ("Tree",),  # Textual, to print its widgets
    "textual.pilot": ("Pilot",),  # Textual, for apps that tests run
}
"""Modules of which these names are taken by others as they are imported: each gets a stand-in."""

_FILL: Final = "late "
"""Begins the names whose imports fill modules."""

_asked: Final[dict[str, ModuleType]] = {}
"""Modules that were asked for a name, by what is imported to fill them."""

_LOCK: Final = Lock()
"""Protects which stand-ins a module has, and that it is given none once it is being filled; never held while one is."""


def _fill(module: ModuleType) -> None:
    """Make `module` what it is, or wait for the thread that does. Raises what its import raises."""
    name = _FILL + module.__name__.replace(".", " ")
    _asked[name] = module
    # Not by `import_module`, which raises in a ring.
    __import__(name)


class _Late(ModuleType):
    """A module before its first use."""

    def __getattr__(self, name: str) -> Any:
        # Python asks here for what is not there; of a module that is being filled, what it has not come to. A package
        # has its path before: whatever takes a name of a module looks for one.
        if name == "__path__":
            raise AttributeError(name)
        if name in _TAKEN.get(self.__name__, ()):
            with _LOCK:
                loader: object = self.__loader__
                if isinstance(loader, _LateLoader):
                    return self.__dict__.get(name) or self._stand_in(name)
        _fill(self)
        return ModuleType.__getattribute__(self, name)

    def _stand_in(self, name: str) -> _StandIn:
        self.__dict__[name] = taken = _StandIn(name, (ABC,), {"__module__": self.__name__})
        taken.late = self
        return taken


class _StandIn(ABCMeta):
    """The type of a stand-in, and of classes that inherit from one: from the real class, once that is there."""

    late: ModuleType
    """Of a stand-in: the module that has what it stands for."""

    def _loaded(cls) -> Any:
        """What is meant: the real thing for a stand-in, itself for a class that inherits from one."""
        late: ModuleType | None = cls.__dict__.get("late")
        if late is None:
            for base in cls.__bases__:
                if isinstance(base, _StandIn):
                    base._loaded()
            return cls
        if isinstance(late, _Late):
            _fill(late)
        return getattr(late, cls.__name__)

    def __call__(cls, *args: Any, **named: Any) -> Any:
        real = cls._loaded()
        return real(*args, **named) if real is not cls else super().__call__(*args, **named)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            # Python asks every class that it makes for such names.
            raise AttributeError(name)
        return getattr(cls._loaded(), name)

    def __instancecheck__(cls, instance: Any) -> bool:
        real = cls._loaded()
        return isinstance(instance, real) if real is not cls else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        real = cls._loaded()
        return issubclass(subclass, real) if real is not cls else super().__subclasscheck__(subclass)


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
        with _LOCK:
            taken = {name: one for name, one in vars(module).items() if isinstance(one, _StandIn)}
            for name in taken:
                delattr(module, name)
            self._give(module, self._real)
        try:
            self._real.exec_module(module)
        except BaseException:
            self._give(module, cast("Loader", self))
            vars(module).update(taken)
            raise
        module.__class__ = ModuleType
        for name, one in taken.items():
            # Python lets the bases change where both have the same layout, as abstract classes have.
            heirs: list[type] = one.__subclasses__()
            for heir in heirs:
                heir.__bases__ = tuple(getattr(module, name) if base is one else base for base in heir.__bases__)

    @staticmethod
    def _give(module: ModuleType, loader: Loader) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = loader


class _FillLoader:
    """Fills a module by being imported."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        """As Python makes it: it stays empty."""
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Fill the module that it is for. Raises what that module's import raises; another import tries again."""
        late = _asked[module.__name__]
        loader: object = late.__loader__
        if isinstance(loader, _LateLoader):
            loader.fill(late)


class _Finder:
    """Finds what is to be loaded late, and what fills it, before Python does."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """As Python's own, with a loader that waits; None for every other module."""
        if name in _asked:
            return ModuleSpec(name, cast("Loader", _FillLoader))
        if name not in _LATE and name not in _TAKEN:
            return None
        spec, below = PathFinder.find_spec(name, path, target), _LATE.get(name)
        if spec is not None and spec.loader is not None and (not below or PathFinder.find_spec(below) is not None):
            spec.loader = cast("Loader", _LateLoader(spec.loader))
        return spec


def load_late() -> None:
    """Let these modules, where they are not there yet, be loaded late from now on."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
