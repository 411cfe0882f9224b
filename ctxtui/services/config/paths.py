"""Paths of ctxtui's own files: database, configuration, logs. Nothing is created here.

``CTXTUI_HOME`` names one folder for all of them, ``CTXTUI_DB`` the database file alone; otherwise the platform's
folders are used. Empty variables count as absent, ``~`` is expanded, relative paths are made absolute. The two are
looked up in `env` (None: this process's environment).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ctxtui.core.errors import BadConfig

APP: Final = "ctxtui"
HOME: Final = "CTXTUI_HOME"
DATABASE: Final = "CTXTUI_DB"


def data_dir(setting: str = "", env: Mapping[str, str] | None = None) -> Path:
    """The folder of the database.

    It is the user's ``data_dir`` (`setting`; "": not set), else chosen by `env`. Raises `BadConfig` for a ``~`` that
    cannot be expanded.
    """
    if setting:
        return _make_absolute(setting, "data_dir")
    home = _ctxtui_home(env)
    if home is not None:
        return home
    # Imported here: most of a run's first milliseconds need no folder.
    import platformdirs

    return Path(platformdirs.user_data_dir(APP, appauthor=False))


def database(setting: str = "", env: Mapping[str, str] | None = None) -> Path:
    """The database file: ``CTXTUI_DB``, or ``ctxtui.db`` in `data_dir`."""
    named = (os.environ if env is None else env).get(DATABASE)
    return _make_absolute(named, DATABASE) if named else data_dir(setting, env) / "ctxtui.db"


def attached_dir(env: Mapping[str, str] | None = None) -> Path:
    """The folder of recordings made by relays; ``data_dir`` and ``CTXTUI_DB`` do not move it."""
    if env is None or _ctxtui_home(env) is not None:
        return data_dir("", env) / "attached"
    # The same as platformdirs, which reads only the present environment.
    home = Path(env.get("HOME") or os.path.expanduser("~"))
    default = home / "Library" / "Application Support" if sys.platform == "darwin" else home / ".local" / "share"
    return Path(env.get("XDG_DATA_HOME") or default) / APP / "attached"


def config_file(env: Mapping[str, str] | None = None) -> Path:
    """The path of the user's configuration file, which may not exist."""
    home = _ctxtui_home(env)
    if home is not None:
        return home / "config.toml"
    import platformdirs

    return Path(platformdirs.user_config_dir(APP, appauthor=False)) / "config.toml"


def log_dir() -> Path:
    """The folder of crash logs and MCP servers' logs."""
    home = _ctxtui_home(None)
    if home is not None:
        return home / "log"
    import platformdirs

    return Path(platformdirs.user_log_dir(APP, appauthor=False))


def _ctxtui_home(env: Mapping[str, str] | None) -> Path | None:
    named = (os.environ if env is None else env).get(HOME)
    return _make_absolute(named, HOME) if named else None


def _make_absolute(name: str, place: str) -> Path:
    try:
        return Path(name).expanduser().absolute()
    except RuntimeError as error:
        raise BadConfig(f"no home folder for {name!r}", place=place, way_out="give an absolute path") from error
