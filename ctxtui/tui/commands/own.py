"""The user's own keys for commands, and the user's own commands as `Command` classes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from ctxtui.core.errors import BadConfig
from ctxtui.services.config.own_commands import OwnCommand
from ctxtui.tui.commands.command import Command, command_id, key_text
from ctxtui.tui.commands.moved import describe_moved_key

Screens = Mapping[str, Sequence[type[Command]]]

_NAMES: Final = frozenset(each.value for each in Keys)
"""Textual's names of keys that are no single character."""
_PANE_KEYS: Final = frozenset({"up", "down", "j", "k", "pageup", "pagedown", "G"})
"""Keys that the focused list takes before any command."""


def assign_keys(own: Mapping[str, Sequence[str]], screens: Screens) -> dict[str, str]:
    """Give commands the keys of `own`, by command id, and return Textual's keymap for it.

    `screens` are all commands by screen. Their classes are changed: to be called once, before the first screen. A key
    that another command of the same screen had is taken from it. Raises `BadConfig` for an unknown command or key.
    """
    by_id: dict[str, list[type[Command]]] = {}
    for command in dict.fromkeys(each for members in screens.values() for each in members):
        by_id.setdefault(command_id(command), []).append(command)
    changed: dict[str, type[Command]] = {}
    for name, keys in own.items():
        lower_name = name.lower()
        if lower_name not in by_id:
            near = get_close_matches(lower_name, by_id, n=1)
            raise BadConfig(
                f"there is no command {name!r}",
                place=f"keys.{name}",
                way_out=f"did you mean {near[0]!r}?" if near else "docs/keys.md lists them",
            )
        names = tuple(_key_name(key, f"keys.{name}") for key in keys)
        for command in by_id[lower_name]:
            for neighbour in _neighbours(command, screens):
                if set(neighbour.keys) & {*names, *command.keys}:
                    # Textual forgets all bindings of a key that one command leaves.
                    changed[command_id(neighbour)] = neighbour
                neighbour.keys = tuple(key for key in neighbour.keys if key not in names)
            changed[lower_name] = command
            _set_keys(command, names, by_id)
    return {name: ",".join(command.keys) for name, command in changed.items() if command.keys}


def _neighbours(command: type[Command], screens: Screens) -> Iterator[type[Command]]:
    """Yield the other commands of the screens that have `command`."""
    yield from (
        member
        for members in screens.values()
        if command in members
        for member in members
        if command_id(member) != command_id(command)
    )


def _set_keys(command: type[Command], keys: tuple[str, ...], by_id: Mapping[str, Sequence[type[Command]]]) -> None:
    command.keys = keys
    command.shown, command.part_commands = "", ()
    for each_command in (each for members in by_id.values() for each in members):
        # A line of the help that names the keys of several commands would show the old ones.
        if each_command is command or command.__name__ in each_command.help_partners:
            each_command.help_partners, each_command.help_row = (), ("", "")


def _key_name(key: str, place: str) -> str:
    """Return Textual's name of a key written as one character, as ``^x``, or by its name.

    Raises `BadConfig`.
    """
    key = key.strip()
    if len(key) == 2 and key.startswith("^"):
        key = f"ctrl+{key[1].lower()}"
    if len(key) == 1 and not key.isalnum():
        # Textual names a sign by its name in Unicode.
        key = unicodedata.name(key, key).lower().replace("-", "_").replace(" ", "_")
        return KEY_NAME_REPLACEMENTS.get(key, key)
    if len(key) != 1 and key not in _NAMES:
        raise BadConfig(f"there is no key {key!r}", place=place, way_out='write "D", "^d", "f5" or "space"')
    if key in _PANE_KEYS:
        raise BadConfig(
            f"the key {key!r} moves in lists", place=place, way_out="`ctxtui help keys --free` lists free keys"
        )
    return key


def make_commands(own: Iterable[OwnCommand], screens: Screens) -> Iterator[type[Command]]:
    """Yield a command for every command of the user, for palette, help and its key.

    Raises `BadConfig` for an unknown key, or one that is used already or tells where an older command has moved.
    """
    owners = {key: command_id(each) for members in screens.values() for each in members for key in each.keys}
    for entry in own:
        place = f"commands.{entry.name}"
        keys = (_key_name(entry.key, place),) if entry.key else ()
        if any(describe_moved_key(key_text(key)) for key in keys):
            raise BadConfig(
                f"the key {entry.key!r} shows where an older command has moved",
                place=place,
                way_out="`ctxtui help keys --free` lists free keys",
            )
        if owner := next((owners[key] for key in keys if key in owners), ""):
            raise BadConfig(
                f"the key {entry.key!r} is used by {owner!r}",
                place=place,
                way_out="`ctxtui help keys --free` lists free keys; [keys] gives that command another one",
            )
        owners |= dict.fromkeys(keys, entry.name)
        yield type(
            "Own",
            (Command,),
            {
                "__doc__": entry.help or f"Run `{entry.run}`.",
                "name": entry.name,
                "action": f"own_command({entry.name!r})",
                "keys": keys,
                "group": "your own commands",
            },
        )
