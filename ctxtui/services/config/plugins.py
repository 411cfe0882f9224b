"""What third parties add: readers, policies, label rules, tools, from entry points and from the user's own folder.

A group's parts are the entry points ``ctxtui.GROUP`` of installed packages and the Python files in the folder ``GROUP``
beside the user's configuration. Nothing in a project's folder is ever run. A part that cannot be loaded is left out,
and what is wrong with it is said once (`troubles`) and by ``ctxtui doctor``.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
    """One part that somebody else wrote: its `name` (of the entry point, or the file's stem), its `place` (the file, or
    package and object), and the loaded `value` (a module, or what the entry point names); `trouble` says why there is
    none."""

    group: str
    name: str
    place: str
    value: Any = None
    trouble: str = ""


_said: dict[str, str] = {}


def plugins(group: str, env: Mapping[str, str] | None = None) -> tuple[Plugin, ...]:
    """The parts of `group` in order of name, the user's own files before packages; each is loaded once a run."""
    return _loaded(group, config_file(env).parent / group)


@cache
def _loaded(group: str, folder: Path) -> tuple[Plugin, ...]:
    found = tuple(_attempt(Plugin(group, name, place), load) for name, place, load in _parts(group, folder))
    for one in found:
        if one.trouble:
            blame(one.place, one.trouble)
    return found


def _parts(group: str, folder: Path) -> list[tuple[str, str, Callable[[], Any]]]:
    files = sorted(folder.glob("*.py")) if folder.is_dir() else []
    own = [(path.stem, str(path), lambda path=path: _module(group, path)) for path in files]
    return own + [
        (one.name, f"{one.dist.name if one.dist else 'package'} ({one.value})", one.load)
        for one in _entry_points(group)
    ]


def from_file(group: str, path: Path) -> Plugin:
    """The part of `group` in the file `path`, which the user named; loaded anew each time."""
    place = path.absolute()
    return _attempt(Plugin(group, path.stem, str(place)), lambda: _module(group, place))


def _entry_points(group: str) -> list[EntryPoint]:
    # Imported here: it looks through every installed package.
    from importlib.metadata import entry_points

    return sorted(entry_points(group=f"ctxtui.{group}"), key=lambda one: one.name)


def _module(group: str, path: Path) -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"ctxtui_{group}_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _attempt(part: Plugin, load: Callable[[], Any]) -> Plugin:
    try:
        return Plugin(part.group, part.name, part.place, load())
    except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody else's code: its fault is named, ctxtui goes on
        return Plugin(part.group, part.name, part.place, trouble=reason(error, part.place))


def reason(error: BaseException, place: str = "") -> str:
    """What went wrong in somebody else's code, with the line of the file `place` where that is known."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == place]
    if isinstance(error, SyntaxError) and error.filename == place:
        lines = [error.lineno]
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    where = f"line {lines[-1]}: " if lines else ""
    return f"{where}{type(error).__name__}: {said}".rstrip(": ")


def blame(place: str, trouble: str) -> None:
    """Note that the part at `place` does not work, for `troubles`; only the first trouble of a part is kept."""
    _said.setdefault(place, trouble)


def troubles() -> list[tuple[str, str]]:
    """What did not work so far in this run: places and reasons."""
    return list(_said.items())
