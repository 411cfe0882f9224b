"""What a command is: one class, from which its key, its palette entry, its help line and its key label are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

_SHOWN: Final = {
    "enter": "⏎",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "comma": ",",
    "full_stop": ".",
    "question_mark": "?",
    "slash": "/",
    "minus": "-",
    "plus": "+",
    "equals_sign": "=",
    "colon": ":",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "dollar_sign": "$",
    "space": "space",
    "escape": "esc",
    "backspace": "bksp",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "pgup",
    "pagedown": "pgdn",
}


@dataclass(frozen=True, slots=True)
class Situation:
    """What a command may ask before it is offered: the focused `pane`, the kind of `row` under its cursor, and `facts`
    about the screen (``follows``, ``several threads`` ...)."""

    pane: str = ""
    row: str = ""
    facts: frozenset[str] = frozenset()


class Command:
    """Base of all commands. The docstring of a command is its help line.

    `name` is the palette entry, `action` the method ``action_<action>`` of the screen or the app that does it (with
    arguments where it takes any). `keys` are Textual's key names: the first one is shown, the others are twins.
    `label` stands in the key line (`short` under 160 columns), "" keeps it out of there. `group` is its heading in the
    help. In the key line commands for the focused pane come first: `panes` names those, empty for any.
    """

    name: ClassVar[str] = ""
    action: ClassVar[str] = ""
    keys: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[str] = ""
    label: ClassVar[str] = ""
    short: ClassVar[str] = ""
    group: ClassVar[str] = "general"
    panes: ClassVar[tuple[str, ...]] = ()
    first: ClassVar[bool] = False
    """Whether its key acts before the focused pane sees it: what is typed right after it must not go to that pane."""
    always: ClassVar[bool] = False
    """Whether it stands at the right end of the key line, whatever the width."""

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Whether it can be done now: it is greyed out of key line and palette otherwise."""
        return True

    @classmethod
    def help(cls) -> str:
        """The help line."""
        return " ".join((cls.__doc__ or "").split())

    @classmethod
    def key_shown(cls) -> str:
        """The key as the key line writes it."""
        return cls.shown or " ".join(key_text(key) for key in cls.keys[:1])


def key_text(key: str) -> str:
    """A Textual key name as a reader writes it: ``[``, ``^p``, ``esc``."""
    if key.startswith("ctrl+"):
        return "^" + key_text(key.removeprefix("ctrl+"))
    return _SHOWN.get(key, key)


def bindings(commands: Iterable[type[Command]]) -> list[BindingType]:
    """Textual bindings for the keys of `commands`; `ctrl` keys work inside a line that is typed in, too."""
    return [
        Binding(key, command.action, command.name, show=False, priority=command.first or key.startswith("ctrl+"))
        for command in commands
        for key in command.keys
    ]


def offered(commands: Iterable[type[Command]], at: Situation) -> Iterator[type[Command]]:
    """The commands that can be done in this situation, those of the focused pane first."""
    can = [command for command in commands if command.available(at)]
    yield from (command for command in can if at.pane in command.panes)
    yield from (command for command in can if at.pane not in command.panes)
