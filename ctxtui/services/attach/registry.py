"""Registry of programs that can run behind a relay, looked up by command.

Each is a file: `data/programs/NAME.toml` in the package, or one of the user's own next to `config.toml`. It has:
- `commands`: the commands of the program; the shortest is the one shown.
- `clients`: the names that recordings have for it, besides the file's name.
- `[providers.NAME]`: for each provider the `usual` base URL, the `variables` that override it, the `paths` to
  correct, and `if_set` (see `ProgramProvider`).
- `certificates`: the variables that name certificates to trust.
- `own`: the name of its routing functions; `also`: base URLs that cannot be overridden (see `Program`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence, Set
from pathlib import Path, PurePath
from typing import Any, Final

from ctxtui.core.errors import BadConfig, NotFound
from ctxtui.services.attach.program import Program, ProgramProvider, RoutingFunctions
from ctxtui.services.attach.programs import claude_code, cline, codex, continue_cli, kimi_code, opencode, pi
from ctxtui.services.config.package_data import DATA
from ctxtui.services.config.paths import config_file

FOLDER: Final = DATA / "programs"
ANY: Final = "any"
"""The name of the program file that is used for every unknown program."""
_ROUTING_FUNCTIONS: Final[Mapping[str, RoutingFunctions]] = {
    "claude-code": claude_code.OWN,
    "cline": cline.OWN,
    "codex": codex.OWN,
    "continue-cli": continue_cli.OWN,
    "kimi-code": kimi_code.OWN,
    "opencode": opencode.OWN,
    "pi": pi.OWN,
}
_PROGRAM_MEMBERS: Final = frozenset({"commands", "clients", "certificates", "own", "providers", "also"})
_PROVIDER_MEMBERS: Final = frozenset({"usual", "variables", "paths", "if_set"})
_WRAPPERS: Final = frozenset(
    {"npx", "bunx", "uvx", "pnpm", "yarn", "dlx", "exec", "run", "env", "nice", "time", "stdbuf"}
)
"""Commands that run another program, and their subcommands; skipped to find that program."""


def own_folder() -> Path:
    """The folder of the user's own program files."""
    return config_file().with_name("programs")


def programs(*folders: Path) -> tuple[Program, ...]:
    """Load the programs of `folders` (default: the package's, then the user's, which override).

    `ANY` is the last. Raises `BadConfig`.
    """
    by_name: dict[str, Program] = {}
    for folder in folders or (FOLDER, own_folder()):
        for path in sorted(folder.glob("*.toml")):
            by_name[path.stem] = _read(path)
    named = [program for name, program in by_name.items() if name != ANY]
    return (*named, *(by_name[name] for name in (ANY,) if name in by_name))


def _read(path: Path) -> Program:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadConfig(f"not a program file: {error}", place=str(path)) from error
    _check_members(table, _PROGRAM_MEMBERS, "a program", path)
    own = table.get("own", "")
    if not isinstance(own, str) or (own and own not in _ROUTING_FUNCTIONS):
        raise BadConfig(
            f"own = {own!r} is unknown",
            place=str(path),
            way_out=f"one of {', '.join(_ROUTING_FUNCTIONS)}, or remove it",
        )
    providers = table.get("providers", {})
    if not isinstance(providers, dict) or not all(isinstance(provider, dict) for provider in providers.values()):
        raise BadConfig("providers must be tables", place=str(path), way_out='[providers.openai] usual = "https://..."')
    return Program(
        name=path.stem,
        commands=frozenset(_text_list(table, "commands", path)),
        clients=frozenset({path.stem, path.stem.replace("-", " "), *_text_list(table, "clients", path)}),
        providers=tuple(_provider(name, provider, path) for name, provider in providers.items()),
        certificates=_text_list(table, "certificates", path),
        own=_ROUTING_FUNCTIONS.get(own, RoutingFunctions()),
        also=_text_list(table, "also", path),
    )


def _check_members(table: Mapping[str, Any], members: Set[str], owner: str, path: Path) -> None:
    if unknown := sorted(table.keys() - members):
        raise BadConfig(
            f"{owner} has no member {unknown[0]!r}", place=str(path), way_out=f"members: {', '.join(sorted(members))}"
        )


def _provider(name: str, table: Mapping[str, Any], path: Path) -> ProgramProvider:
    _check_members(table, _PROVIDER_MEMBERS, f"provider {name}", path)
    usual = table.get("usual")
    if not isinstance(usual, str) or not usual:
        raise BadConfig(f"provider {name} has no usual base URL", place=str(path), way_out='usual = "https://..."')
    paths = table.get("paths", {})
    if not isinstance(paths, dict) or not all(isinstance(own, str) for own in paths.values()):
        raise BadConfig(
            f"the paths of {name} must be strings", place=str(path), way_out='paths = { "/messages" = "/v1/messages" }'
        )
    if not isinstance(table.get("if_set", False), bool):
        raise BadConfig(f"if_set of {name} must be true or false", place=str(path))
    return ProgramProvider(
        name=name,
        default=usual,
        variables=_text_list(table, "variables", path),
        if_set=table.get("if_set", False),
        paths=paths,
    )


def _text_list(table: Mapping[str, Any], name: str, path: Path) -> tuple[str, ...]:
    texts = table.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadConfig(f"{name} must be a list of strings", place=str(path))
    return tuple(texts)


def program_of(command: Sequence[str], name: str = "") -> Program:
    """Find the program that `command` runs, or the one called `name`.

    `ANY` if the command is unknown. Raises `NotFound` for an unknown name, `BadConfig` for an invalid file.
    """
    all_programs = programs()
    if name:
        named = next((program for program in all_programs if program.name == name), None)
        if named is None:
            names = ", ".join(program.name for program in all_programs)
            raise NotFound(f"no program is called {name!r} here", place="--as", way_out=f"programs: {names}")
        return named
    for word in command:
        base = PurePath(word).name.partition("@")[0] or word.rpartition("/")[2]
        match = next((program for program in all_programs if base in program.commands), None)
        if match is not None:
            return match
        if base not in _WRAPPERS and not word.startswith("-") and "=" not in word:
            break
    return all_programs[-1]


def command_of(client: str) -> str:
    """The command of the program that recordings call `client`: "claude code" is ``claude``.

    A name of no program is returned as it is. Raises `BadConfig`.
    """
    match = next((program for program in programs() if client in program.clients and program.commands), None)
    return min(match.commands, key=lambda command: (len(command), command)) if match is not None else client
