"""Writes the log file of a crash: versions, command line, session, errors with tracebacks.

Of a recording's content it has only what the errors' messages quote. One line of it, for `ctxtui report-bug`, has only
types and places: no message, and no path outside of ctxtui, the standard library and the packages `_NAMED`.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ctxtui import __version__
from ctxtui.services.config.paths import log_dir

PREFIX: Final = "crash-"
_PLACES: Final = "places: "
"""Begins the line with the places; the line comes before everything that may contain a line break."""
_PACKAGES_FOLDER: Final = "site-packages"
_MAX_FRAMES: Final = 60
"""Frames of each error that are kept, the innermost ones."""
_NAMED: Final = frozenset(
    "aiohttp anthropic anyio backports click ctxtui genai_prices httpx mcp msgspec multidict openai platformdirs "
    "pydantic pygments regex rich sqlite_utils textual tiktoken tree_sitter yaml yarl".split()
)
"""Packages that are named; the name of a private package is left out."""


def write_crash(error: BaseException, arguments: Sequence[str] = (), *, session: str = "") -> Path:
    """Write `error` with its traceback to a file of mode 0600 and return its path.

    Raises `OSError`. A second crash of the process in one second is added to the same file.
    """
    folder = log_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    path = folder / f"{PREFIX}{stamp}-{os.getpid()}.log"
    head = [
        f"ctxtui {__version__}, Python {sys.version.split()[0]}, {sys.platform}",
        f"{_PLACES}{json.dumps(describe_places(error))}",
        f"arguments: {list(arguments)!r}",
        f"session: {session or 'none'}",
        "",
    ]
    text = "\n".join(head) + "".join(traceback.format_exception(error))
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path


def describe_places(error: BaseException) -> list[dict[str, Any]]:
    """The error and its causes or contexts, as types and places in known code.

    Messages, and the names of files and functions elsewhere, are left out.
    """
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return [{"type": _name_type(link), "frames": list(_describe_frames(link))[-_MAX_FRAMES:]} for link in chain]


def _name_type(error: BaseException) -> str:
    """The name of the error's type.

    "other" if it is of another package, or not at the top level of its module.
    """
    module, name = type(error).__module__, type(error).__qualname__
    package = module.partition(".")[0]
    is_named = package in _NAMED or package in sys.stdlib_module_names
    # Code run by `exec` without `__name__` makes types whose module is `builtins`; they are not found there.
    return name if is_named and getattr(sys.modules.get(module), name, None) is type(error) else "other"


def _describe_frames(error: BaseException) -> Iterator[dict[str, Any]]:
    for frame in traceback.extract_tb(error.__traceback__):
        file = _installed_name(Path(frame.filename))
        yield {"file": file, "line": frame.lineno, "function": frame.name} if file else {"file": "elsewhere"}


def _installed_name(path: Path) -> str:
    for folder, prefix in ((Path(__file__).parents[2], "ctxtui"), (Path(os.__file__).parent, "python")):
        if path.is_relative_to(folder) and _PACKAGES_FOLDER not in path.relative_to(folder).parts:
            return f"{prefix}/{path.relative_to(folder).as_posix()}"
    _, _, rest = path.as_posix().rpartition(f"/{_PACKAGES_FOLDER}/")
    return rest if rest.partition("/")[0] in _NAMED else ""


def last_crash() -> dict[str, Any] | None:
    """The newest crash log without content; None if there is none or it cannot be read.

    It has ``at`` (local time, ``20261130-170351``), ``version`` and ``errors`` (None: the line of places is missing or
    cut).
    """
    logs = sorted(log_dir().glob(f"{PREFIX}*.log"), key=lambda path: path.name.removeprefix(PREFIX)[:15])
    if not logs:
        return None
    try:
        head, places, *_ = [*logs[-1].read_text(encoding="utf-8", errors="replace").split("\n", 2), "", ""]
    except OSError:
        return None
    at = logs[-1].name.removeprefix(PREFIX)[:15]
    try:
        errors = json.loads(places.removeprefix(_PLACES)) if places.startswith(_PLACES) else None
    except ValueError:  # cut: the disk was full
        errors = None
    return {"at": at, "version": head.partition(",")[0].removeprefix("ctxtui "), "errors": errors}
