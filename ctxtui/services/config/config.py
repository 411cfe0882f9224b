"""Loads the configuration: flag > environment > project file > user file > default."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct

from ctxtui.core.errors import BadConfig
from ctxtui.services.config.paths import config_file
from ctxtui.services.config.settings import FIELDS, THEMES, Settings

PROJECT_FILE: Final = "ctxtui.toml"
PREFIX: Final = "CTXTUI_"
"""Begins the environment variables that set a setting: ``CTXTUI_THEME``."""
EXPORTED: Final = ("raw_api_bodies",)
"""Settings that child processes read from the environment."""


class Origin(Struct, frozen=True):
    """The origin of a setting's value.

    `kind`: ``flag``, ``env``, ``project``, ``user`` or ``default``; `place`: the flag, the variable, ``file:line``, or
    "" for a default.
    """

    kind: str
    place: str = ""


class IgnoredFile(NamedTuple):
    """A project file that is not read, because other users could have written it."""

    path: Path
    reason: str


class Config(Struct, frozen=True):
    """The settings in force, and by name the origins of those that are no default.

    An entry of a table is named like ``windows.m``.
    """

    settings: Settings
    origins: Mapping[str, Origin]
    ignored: tuple[IgnoredFile, ...] = ()
    """Ignored project files."""

    def from_project(self, name: str) -> bool:
        """Whether a setting or a table's entry (``table.entry``) is from a project's file."""
        return self.origins.get(name, Origin("default")).kind == "project"

    def rows(self) -> Iterator[tuple[str, Any, Origin]]:
        """Yield (name, value, origin) of every setting.

        A table that is not empty is yielded entry by entry.
        """
        for name in FIELDS:
            value = getattr(self.settings, name)
            if isinstance(value, dict) and value:
                yield from ((f"{name}.{key}", item, self.origins[f"{name}.{key}"]) for key, item in value.items())
            else:
                yield name, value, self.origins.get(name, Origin("default"))


class _Layers:
    """Collects the values and origins of settings; later values override earlier ones."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}

    def set(self, name: str, value: Any, origin: Origin) -> None:
        """Set `value`, overriding the present one (a table entry by entry). Raises `BadConfig`.

        A project can only tighten a setting with `tighter`.
        """
        setting = FIELDS[name]
        if setting.metadata["user_only"] and origin.kind == "project":
            raise BadConfig(
                f"{name} may not be set by a project", place=origin.place, way_out="set it in your own configuration"
            )
        try:
            checked = setting.metadata["check"](value)
        except ValueError as error:
            raise BadConfig(f"{name} must be {error}, not {value!r}", place=origin.place) from None
        except BadConfig as error:
            raise BadConfig(f"{error.place}: {error.message}", place=origin.place) from None
        tighter = setting.metadata["tighter"]
        if tighter is not None and origin.kind == "project":
            current = self.values.get(name, setting.default)
            checked = tighter(current, checked)
            if checked == current:
                return
        if isinstance(checked, dict):
            self.values[name] = {**self.values.get(name, {}), **checked}
            self.origins.update({f"{name}.{key}": origin for key in checked})
        else:
            self.values[name] = checked
            self.origins[name] = origin


def load(
    flags: Sequence[str] = (),
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: Path | None = None,
) -> Config:
    """Load the configuration in force.

    `flags` are ``KEY=VALUE`` texts. A project's ``ctxtui.toml`` is searched from `cwd` upwards. `user` is the user's
    file (None: the usual one; ``CTXTUI_CONFIG`` overrides it and must exist). Raises `BadConfig` for an unknown key of
    a file or a flag, or an invalid value.
    """
    env = os.environ if env is None else env
    layers = _Layers()
    project, ignored = find_upwards(cwd or Path.cwd())
    for kind, path in (("user", _user_file(env, user)), ("project", project)):
        if path is not None:
            _add_file(layers, kind, path)
    for variable, text in env.items():
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name in FIELDS:
            layers.set(name, _parse_value(name, text, variable), Origin("env", variable))
    for flag in flags:
        name, equals, text = flag.partition("=")
        place = f"--set {flag}"
        if not equals:
            raise BadConfig("a setting is KEY=VALUE", place=place)
        layers.set(
            _check_key(name.strip(), place), _parse_value(name.strip(), text.strip(), place), Origin("flag", place)
        )
    config = Config(Settings(**layers.values), layers.origins, ignored)
    theme = config.settings.theme
    if theme not in THEMES and theme not in config.settings.themes:
        names = ", ".join((*THEMES, *config.settings.themes))
        raise BadConfig(f"theme must be one of {names}, not {theme!r}", place=config.origins["theme"].place)
    if config.settings.windows or config.settings.models:
        # Imported here: most runs set no window.
        from ctxtui.services.config.window_checks import check_windows

        check_windows(config.settings, config.origins)
    return config


def export_flags(config: Config) -> None:
    """Set the variables of the `EXPORTED` settings that a flag set, for child processes."""
    for name in EXPORTED:
        if config.origins.get(name, Origin("default")).kind == "flag":
            os.environ[PREFIX + name.upper()] = str(getattr(config.settings, name))


def _user_file(env: Mapping[str, str], user: Path | None) -> Path | None:
    named = env.get(PREFIX + "CONFIG")
    if named:
        if not Path(named).is_file():
            raise BadConfig(f"no file {named}", place=PREFIX + "CONFIG")
        return Path(named)
    if user is None:
        user = config_file(env)
    return user if user.is_file() else None


def find_upwards(cwd: Path, name: str = PROJECT_FILE) -> tuple[Path | None, tuple[IgnoredFile, ...]]:
    """Find the nearest file of this name in `cwd` or above.

    The search ends at the repository's top or the user's home folder. Files that other users could have written are
    ignored; they are the second result.
    """
    ignored: list[IgnoredFile] = []
    for folder in (cwd, *cwd.parents):
        path = folder / name
        if path.is_file():
            reason = _why_foreign(path)
            if not reason:
                return path, tuple(ignored)
            ignored.append(IgnoredFile(path, reason))
        if (folder / ".git").exists() or folder == _home_folder():
            break
    return None, tuple(ignored)


def _home_folder() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _why_foreign(path: Path) -> str:
    if not hasattr(os, "getuid"):
        return ""
    about = path.stat()
    if about.st_uid != os.getuid():
        return "another user owns it"
    return "anyone may write it" if about.st_mode & stat.S_IWOTH else ""


def _add_file(layers: _Layers, kind: str, path: Path) -> None:
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise BadConfig(f"cannot be read: {error.strerror}", place=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"not valid TOML: {error}", place=str(path)) from error
    for key, value in data.items():
        place = f"{path}:{_find_key_line(key, text)}"
        layers.set(_check_key(key, place), value, Origin(kind, place))


def _find_key_line(key: str, text: str) -> int:
    """The line (from 1) of the top-level `key`, as ``key =`` or ``[key]``; 1 if it is not found."""
    pattern = re.compile(rf"""\s*(?:\[+\s*)?["']?{re.escape(key)}["']?\s*[=.\]]""")
    return next((n for n, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)


def _check_key(key: str, place: str) -> str:
    if key in FIELDS:
        return key
    from difflib import get_close_matches

    matches = get_close_matches(key, FIELDS, n=1)
    way_out = f"did you mean {matches[0]}?" if matches else "see `ctxtui help settings`"
    raise BadConfig(f"unknown setting {key!r}", place=place, way_out=way_out)


def _parse_value(name: str, text: str, place: str) -> Any:
    if name not in FIELDS or not FIELDS[name].metadata["table"]:
        return text
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"{name} must be an inline table of TOML: {error}", place=place) from error


def settings_schema() -> dict[str, Any]:
    """The JSON schema of ``config.toml`` and ``ctxtui.toml``, for editors that check TOML."""
    blank = Settings()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ctxtui's configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {
                **setting.metadata["schema"],
                "description": setting.metadata["meaning"]
                + (" (only in your own config.toml)" if setting.metadata["user_only"] else ""),
                "default": getattr(blank, name),
            }
            for name, setting in FIELDS.items()
        },
    }


def describe_settings() -> str:
    blank = Settings()
    rows = [(name, describe_default(getattr(blank, name)), f.metadata["meaning"]) for name, f in FIELDS.items()]
    wide = max(len(name) for name, _, _ in rows)
    lines = [f"{name:<{wide}}  {default:<8} {meaning}" for name, default, meaning in rows]
    order = f"Order: --set KEY=VALUE; {PREFIX}KEY in the environment; {PROJECT_FILE} (walks up); your file; default."
    return "\n".join([*lines, "", order])


def describe_default(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value) if value != {} else "-"
