"""The keys of all screens as text: docs/keys.md, and what `ctxtui help keys` prints."""

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
"""Without those that a terminal takes for another key, or for itself."""


def page(older: Mapping[str, Sequence[str]]) -> str:
    """docs/keys.md; `older` are the words that a command had before 1.0, each with its words now."""
    screens = _screens()
    lines = ["# Keys", "", "Made from the commands themselves by `make keys`; a test holds it true."]
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
    lines += [f"| {_code(key)} | {'; '.join(told)} |" for key, told in sorted(meanings(screens).items())]
    lines += ["", "## Free keys", "", " ".join(_code(key) for key in free(screens))]
    lines += ["", "## Keys that moved in 1.0", "", "| old key | what it did | now |", "|---|---|---|"]
    lines += [f"| {_code(key)} | {name} | {now} |" for key, name, now in MOVED]
    lines += ["", "## Commands that moved in 1.0", "", "The old words go on until 2.0.", ""]
    lines += ["| old | now |", "|---|---|"]
    lines += [f"| `ctxtui {old}` | `ctxtui {' '.join(words)}` |" for old, words in older.items()]
    return "\n".join(lines) + "\n"


def text() -> str:
    """What `ctxtui help keys` prints."""
    screens = _screens()
    return "\n".join(f"{key:<6} {'; '.join(told)}" for key, told in sorted(meanings(screens).items()))


def free_text() -> str:
    """What `ctxtui help keys --free` prints: the keys that no screen uses."""
    return " ".join(free(_screens()))


def meanings(screens: Screens) -> dict[str, list[str]]:
    """What each key does: the names of its commands, each with its screens."""
    found: dict[str, dict[str, list[str]]] = {}
    for screen, commands in screens.items():
        for command in commands:
            for key in command.keys:
                found.setdefault(key_text(key), {}).setdefault(command.name, []).append(screen)
    return {key: [f"{name} ({', '.join(on)})" for name, on in names.items()] for key, names in found.items()}


def free(screens: Screens) -> list[str]:
    """The keys that a terminal can send as one and that no screen uses, not even to say where a command went."""
    moved = (key for key, _, _ in MOVED)
    used = {*meanings(screens), *(key for keys, _, _ in MOVING for key in keys.split()), *moved}
    return [key for key in (*_TYPED, *_CONTROL) if key not in used]


def _screens() -> dict[str, Sequence[type[Command]]]:
    return {**dict(sorted(screen_commands().items())), "every screen": EVERYWHERE}


def _table(title: str, commands: Sequence[type[Command]]) -> Iterator[str]:
    yield from ("", f"### {title}", "", "| key | command | what it does |", "|---|---|---|")
    for each in commands:
        yield f"| {' '.join(_code(key_text(key)) for key in each.keys)} | {each.name} | {each.help()} |"


def _code(key: str) -> str:
    return "`` ` ``" if key == "`" else f"`{key}`".replace("|", "\\|")
