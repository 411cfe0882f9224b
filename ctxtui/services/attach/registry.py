"""The programs that ctxtui can be put around, by the name of their command: each is a file, `data/programs/NAME.toml`
in the package, or one of the user's own beside `config.toml`.

A file says by which `commands` the program is known, for each of its `[providers.NAME]` the `usual` base URL and the
`variables` that move it, by which variables it is told `certificates` to trust, whether it has `own` means, and whom it
may ask as well (`also`, base URLs).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Final

from ctxtui.core.errors import BadConfig, NotFound
from ctxtui.services.attach.program import Door, OwnMeans, Program
from ctxtui.services.attach.programs import claude_code, codex, opencode, pi
from ctxtui.services.config.package_data import DATA
from ctxtui.services.config.paths import config_file

FOLDER: Final = DATA / "programs"
ANY: Final = "any"
"""What is taken for a program that is not known."""
_OWN: Final[Mapping[str, OwnMeans]] = {
    "claude-code": claude_code.OWN,
    "codex": codex.OWN,
    "opencode": opencode.OWN,
    "pi": pi.OWN,
}
_MEMBERS: Final = frozenset({"commands", "certificates", "own", "providers", "also"})
_RUNNERS: Final = frozenset(
    {"npx", "bunx", "uvx", "pnpm", "yarn", "dlx", "exec", "run", "env", "nice", "time", "stdbuf"}
)
"""Words in front of the program that is meant."""


def own_folder() -> Path:
    """Where the user's own files are."""
    return config_file().with_name("programs")


def programs(*folders: Path) -> tuple[Program, ...]:
    """Those of `folders`, by default the package's and the user's own: a later one of a name counts. The one for all
    others is the last. Raises `BadConfig`."""
    found: dict[str, Program] = {}
    for folder in folders or (FOLDER, own_folder()):
        for path in sorted(folder.glob("*.toml")):
            found[path.stem] = _read(path)
    others = [one for name, one in found.items() if name != ANY]
    return (*others, *(found[name] for name in (ANY,) if name in found))


def _read(path: Path) -> Program:
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadConfig(f"this is no file of a program: {error}", place=str(path)) from error
    stray = sorted(set(said) - _MEMBERS)
    if stray:
        way_out = f"there are {', '.join(sorted(_MEMBERS))}"
        raise BadConfig(f"no member of a program is called {stray[0]!r}", place=str(path), way_out=way_out)
    own = said.get("own", "")
    if own and own not in _OWN:
        raise BadConfig(f"own = {own!r} is unknown", place=str(path), way_out=f"there are {', '.join(_OWN)}")
    providers = said.get("providers", {})
    if not isinstance(providers, dict) or not all(isinstance(one, dict) for one in providers.values()):
        raise BadConfig("providers are tables", place=str(path), way_out='[providers.openai] usual = "https://..."')
    return Program(
        name=path.stem,
        commands=frozenset(_words(said, "commands", path)),
        doors=tuple(_door(name, one, path) for name, one in providers.items()),
        certificates=_words(said, "certificates", path),
        own=_OWN.get(own, OwnMeans()),
        also=_words(said, "also", path),
    )


def _door(name: str, said: Mapping[str, Any], path: Path) -> Door:
    usual = said.get("usual")
    if not isinstance(usual, str) or not usual:
        raise BadConfig(f"provider {name} has no usual base URL", place=str(path), way_out='usual = "https://..."')
    return Door(name=name, usual=usual, variables=_words(said, "variables", path), if_set=said.get("if_set") is True)


def _words(said: Mapping[str, Any], name: str, path: Path) -> tuple[str, ...]:
    found = said.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise BadConfig(f"{name} is a list of texts", place=str(path))
    return tuple(found)


def program_of(command: Sequence[str], name: str = "") -> Program:
    """The program that `command` runs, or the one called `name`. Raises `NotFound` for a name that none has,
    `BadConfig` for a file that is none of a program."""
    known = programs()
    if name:
        named = next((one for one in known if one.name == name), None)
        if named is None:
            names = ", ".join(one.name for one in known)
            raise NotFound(f"no program is called {name!r} here", place="--as", way_out=f"there are {names}")
        return named
    for word in command:
        base = PurePath(word).name.partition("@")[0] or word.rpartition("/")[2]
        found = next((one for one in known if base in one.commands), None)
        if found is not None:
            return found
        if base not in _RUNNERS and not word.startswith("-") and "=" not in word:
            break
    return known[-1]


def command_of(client: str) -> str:
    """How the program is started that recordings call `client`: "claude code" is ``claude``. Raises `BadConfig`."""
    name = client.replace(" ", "-")
    found = next((one for one in programs() if one.name == name and one.commands), None)
    return min(found.commands) if found is not None else client
