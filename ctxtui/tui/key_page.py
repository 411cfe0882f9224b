"""All keys of all screens as text: docs/keys.md and `ctxtui help keys`."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.tui.commands import EVERYWHERE, Command, key_text
from ctxtui.tui.commands.moved import MOVED
from ctxtui.tui.dialogs.help import MOVING
from ctxtui.tui.inspector.screen import RECORDED
from ctxtui.tui.start import screen_commands

Screens = Mapping[str, Sequence[type[Command]]]

_TYPED: Final = [*string.ascii_lowercase, *string.ascii_uppercase, *string.digits, *string.punctuation]
_CONTROL: Final = [f"^{letter}" for letter in string.ascii_lowercase if letter not in "chijmz"]
"""Control keys, without those that a terminal sends as another key or uses itself."""


def page(older: Mapping[str, Sequence[str]]) -> str:
    """Return docs/keys.md; `older` maps the words of commands before 1.0 to the present ones."""
    screens = _screens()
    lines = [
        "# Keys",
        "",
        "Written by `make keys` from the command classes; a test keeps it up to date.",
        "[settings.md](settings.md#your-own-keys) says how a command gets another key.",
    ]
    groups: dict[str, list[type[Command]]] = {}
    for command in RECORDED:
        if command.keys:
            groups.setdefault(command.group, []).append(command)
    lines += ["", "## In a session", *(line for group, members in groups.items() for line in _table(group, members))]
    lines += ["", "## On other screens"]
    for name, commands in screens.items():
        keyed = [each for each in commands if each.keys and each not in RECORDED]
        if keyed:
            lines += _table(name, keyed)
    lines += ["", "### every pane and list", "", "| key | what it does |", "|---|---|"]
    lines += [f"| {' '.join(f'`{key}`' for key in keys.split())} | {says} |" for keys, _, says in MOVING]
    lines += ["", "## What each key means", "", "| key | command (screen) |", "|---|---|"]
    lines += [
        f"| {_code(key)} | {'; '.join(descriptions)} |"
        for key, descriptions in sorted(commands_by_key(screens).items())
    ]
    lines += ["", "## Free keys", "", " ".join(_code(key) for key in free_keys(screens))]
    lines += ["", "## Keys that moved in 1.0", "", "| old key | what it did | now |", "|---|---|---|"]
    lines += [f"| {_code(key)} | {name} | {now} |" for key, name, now in MOVED]
    lines += ["", "## Commands that moved in 1.0", "", "The old words work until 2.0.", ""]
    lines += ["| old | now |", "|---|---|"]
    lines += [f"| `ctxtui {old}` | `ctxtui {' '.join(words)}` |" for old, words in older.items()]
    return "\n".join(lines) + "\n"


def text() -> str:
    screens = _screens()
    return "\n".join(
        f"{key:<6} {'; '.join(descriptions)}" for key, descriptions in sorted(commands_by_key(screens).items())
    )


def free_text() -> str:
    """Return the output of `ctxtui help keys --free`: the keys that no screen uses."""
    return " ".join(free_keys(_screens()))


def commands_by_key(screens: Screens) -> dict[str, list[str]]:
    """Map each key to its commands, each with its screens in brackets."""
    screens_by_key: dict[str, dict[str, list[str]]] = {}
    for screen, commands in screens.items():
        for command in commands:
            for key in command.keys:
                screens_by_key.setdefault(key_text(key), {}).setdefault(command.name, []).append(screen)
    return {key: [f"{name} ({', '.join(on)})" for name, on in names.items()] for key, names in screens_by_key.items()}


def free_keys(screens: Screens) -> list[str]:
    """Return a terminal's single keys that no screen uses, nor a hint about a moved key."""
    moved = (key for key, _, _ in MOVED)
    used = {*commands_by_key(screens), *(key for keys, _, _ in MOVING for key in keys.split()), *moved}
    return [key for key in (*_TYPED, *_CONTROL) if key not in used]


def _screens() -> dict[str, Sequence[type[Command]]]:
    return {**dict(sorted(screen_commands().items())), "every screen": EVERYWHERE}


def _table(title: str, commands: Sequence[type[Command]]) -> Iterator[str]:
    yield from ("", f"### {title}", "", "| key | command | what it does |", "|---|---|---|")
    for each in commands:
        yield f"| {' '.join(_code(key_text(key)) for key in each.keys)} | {each.name} | {each.help()} |"


def _code(key: str) -> str:
    return "`` ` ``" if key == "`" else f"`{key}`".replace("|", "\\|")
