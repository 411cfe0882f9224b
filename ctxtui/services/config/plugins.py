"""Loads third-party readers, policies, label rules and tools.

The plug-ins of a group are the entry points ``ctxtui.GROUP`` of installed packages and the Python files in the folder
``GROUP`` next to the user's configuration. Nothing in a project's folder is run unless the user names the file
(`from_file`).

`plugins` returns one that cannot be loaded with its `trouble`, for the caller to skip. Each command prints the
`troubles` at its end, and ``ctxtui doctor`` lists them. `from_file` reports nothing; the caller must.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from msgspec import Struct

from ctxtui.services.config.paths import config_file

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

READERS: Final = "readers"
POLICIES: Final = "policies"
LABELS: Final = "labels"
TOOLS: Final = "tools"
GROUPS: Final = (READERS, POLICIES, LABELS, TOOLS)


class Plugin(Struct, frozen=True):
    """A third-party plug-in.

    - `group`: one of `GROUPS`.
    - `name`: that of the entry point, or the file's stem.
    - `place`: the file, or package and object.
    - `value`: the loaded module or object; None if it could not be loaded.
    - `trouble`: why it could not be loaded; "" if it was.
    """

    group: str
    name: str
    place: str
    value: Any = None
    trouble: str = ""


_reported: dict[str, str] = {}
"""Troubles by place."""


def plugins(group: str) -> tuple[Plugin, ...]:
    """The plug-ins of `group` in order of name, the user's own files before packages.

    Each is loaded once in a run.
    """
    return _load_group(group, config_file().parent / group)


@cache
def _load_group(group: str, folder: Path) -> tuple[Plugin, ...]:
    plugins_ = tuple(_try_load(Plugin(group, name, place), load) for name, place, load in _list_loaders(group, folder))
    for plugin in plugins_:
        if plugin.trouble:
            report_trouble(plugin.place, plugin.trouble)
    return plugins_


def _list_loaders(group: str, folder: Path) -> list[tuple[str, str, Callable[[], Any]]]:
    """List (name, place, function that loads it) for each plug-in of `group`."""
    files = sorted(folder.glob("*.py")) if folder.is_dir() else []
    own_files = [(path.stem, str(path), lambda path=path: _load_module(group, path)) for path in files]
    return own_files + [
        (entry.name, f"{entry.dist.name if entry.dist else 'package'} ({entry.value})", entry.load)
        for entry in _find_entry_points(group)
    ]


def from_file(group: str, path: Path) -> Plugin:
    """Load the plug-in of `group` from the file `path`, anew each time."""
    place = path.absolute()
    return _try_load(Plugin(group, path.stem, str(place)), lambda: _load_module(group, place))


def _find_entry_points(group: str) -> list[EntryPoint]:
    # Imported here: few runs look for plug-ins.
    from importlib.metadata import entry_points

    return sorted(entry_points(group=f"ctxtui.{group}"), key=lambda entry_point: entry_point.name)


def _load_module(group: str, path: Path) -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    # Files in different folders may have one stem.
    name = f"ctxtui_{group}_{path.stem}_{crc32(str(path).encode(errors='replace')):08x}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _try_load(plugin: Plugin, load: Callable[[], Any]) -> Plugin:
    try:
        return Plugin(plugin.group, plugin.name, plugin.place, load())
    except (Exception, SystemExit) as error:  # noqa: BLE001 - third-party code: its error is reported, ctxtui goes on
        return Plugin(plugin.group, plugin.name, plugin.place, trouble=error_text(error, plugin.place))


def error_text(error: BaseException, place: str = "") -> str:
    """Describe an error of third-party code, with the line in the file `place` if known."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == place]
    if isinstance(error, SyntaxError) and error.filename == place:
        lines = [error.lineno] if error.lineno else []
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    position = f"line {lines[-1]}: " if lines else ""
    return f"{position}{type(error).__name__}: {message}".rstrip(": ")


def report_trouble(place: str, trouble: str) -> None:
    """Report that the plug-in or label rule at `place` does not work.

    Only its first trouble is kept.
    """
    _reported.setdefault(place, trouble)


def troubles() -> list[tuple[str, str]]:
    """Places and reasons of the plug-ins and label rules that failed or were refused so far."""
    return list(_reported.items())
