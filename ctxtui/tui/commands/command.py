"""Base class of commands and of screens that have commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from msgspec import Struct
from textual.binding import Binding, BindingType
from textual.keys import format_key

if TYPE_CHECKING:
    from ctxtui.core.edit import Edit
    from ctxtui.services.own_command import Target
    from ctxtui.tui.messages import Aim
    from ctxtui.views.glossary.spots import Spot
    from ctxtui.views.text.span import Spans


class CommandContext(Struct, frozen=True):
    """State of the screen that decides which commands are available.

    `pane` is the focused pane, `row` the kind of row under its cursor, `facts` are facts about the screen (``follows``,
    ``threads`` ...).
    """

    pane: str = ""
    row: str = ""
    facts: frozenset[str] = frozenset()


T = TypeVar("T")


class Act(Generic[T]):
    """Call `run` with the screen's controller of type `owner`, or with the screen itself.

    ``lambda: SomeScreen`` names a class that is defined further down.
    """

    __slots__ = ("_of", "run")

    def __init__(self, of: type[T] | Callable[[], type[T]], run: Callable[[T], object]) -> None:
        self._of = of
        self.run = run

    @property
    def owner(self) -> type[T]:
        return self._of if isinstance(self._of, type) else self._of()


class Command:
    """Base of all commands. The docstring of a command is its help line.

    - `name`: the palette entry.
    - `run`: the function; commands of the app name a Textual `action` instead.
    - `keys`: Textual key names; the first is shown.
    - `label`: shown in the key line ("": not there); `short_label`: shown there below 160 columns.
    - `panes`: it is listed before other commands if one of these has the focus.
    - `needs`, `needs_any`, `unless`: facts or kinds of rows. The command is available if all of the first, one of the
      second (unless empty) and none of the third hold.
    """

    name: ClassVar[str] = ""
    run: ClassVar[object] = None
    """An `Act`. Declared as `object`, so that mypy checks each `Act` with the type of its own owner."""
    action: ClassVar[str] = ""
    needs: ClassVar[frozenset[str]] = frozenset()
    needs_any: ClassVar[frozenset[str]] = frozenset()
    unless: ClassVar[frozenset[str]] = frozenset()
    key_needs: ClassVar[frozenset[str]] = frozenset()
    """Facts that must hold, or its key does something else."""
    key_unless: ClassVar[frozenset[str]] = frozenset()
    """Facts under which its key does something else."""
    keys: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[str] = ""
    """Its key in the key line, if that is not the first of `keys`."""
    part_commands: ClassVar[tuple[str, ...]] = ()
    """Class names of the commands for the signs in `shown`, if it has several."""
    help_partners: ClassVar[tuple[str, ...]] = ()
    """Class names of commands that share its line in the help."""
    help_row: ClassVar[tuple[str, str]] = ("", "")
    """Keys and name on that line."""
    label: ClassVar[str] = ""
    short_label: ClassVar[str] = ""
    group: ClassVar[str] = "general"
    panes: ClassVar[tuple[str, ...]] = ()
    synonyms: ClassVar[tuple[str, ...]] = ()
    """Lower-case synonyms by which help and palette find it."""
    has_priority: ClassVar[bool] = False
    """Whether its key acts before the focused pane sees it, also while typing in a line."""
    works_on_end: ClassVar[bool] = False
    """Whether it works before all of a recording is loaded."""
    is_always_shown: ClassVar[bool] = False
    """Whether it is always shown at the right end of the key line."""

    @classmethod
    def available(cls, context: CommandContext) -> bool:
        """Whether key line and palette offer it; if not, the help dims it."""
        present = context.facts | {context.row}
        return (
            cls.needs <= present and not cls.unless & present and (not cls.needs_any or bool(cls.needs_any & present))
        )

    @classmethod
    def binding(cls) -> str:
        return f"app.{cls.action}" if cls.action else f"command('{cls.__name__}')"

    @classmethod
    def key_line(cls) -> tuple[str, str, str, tuple[str, ...]]:
        return cls.key_shown(), cls.label, cls.short_label, cls.actions()

    @classmethod
    def actions(cls) -> tuple[str, ...]:
        """The actions of clicks on its key: one, or one for each sign of the key."""
        return tuple(f"command('{name}')" for name in cls.part_commands) or (cls.binding(),)

    @classmethod
    def help(cls) -> str:
        return " ".join((cls.__doc__ or "").split())

    @classmethod
    def key_shown(cls) -> str:
        return cls.shown or " ".join(key_text(key) for key in cls.keys[:1])


def command_id(command: type[Command]) -> str:
    return command.name.partition(":")[0].lower()


def key_text(key: str) -> str:
    """Write a Textual key name for readers: ``[``, ``^p``, ``esc``."""
    if key.startswith("ctrl+"):
        return "^" + key_text(key.removeprefix("ctrl+"))
    # Not every font has Textual's sign for this key.
    return "bksp" if key == "backspace" else format_key(key)


def bindings(commands: Iterable[type[Command]]) -> list[BindingType]:
    """Textual bindings for the keys of `commands`; `ctrl` keys always have priority."""
    return [
        Binding(
            key,
            command.binding(),
            command.name,
            show=False,
            priority=command.has_priority or key.startswith("ctrl+"),
            id=command_id(command),
        )
        for command in commands
        for key in command.keys
    ]


def available_commands(commands: Iterable[type[Command]], context: CommandContext) -> Iterator[type[Command]]:
    available = [command for command in commands if command.available(context)]
    yield from (command for command in available if context.pane in command.panes)
    yield from (command for command in available if context.pane not in command.panes)


class Commanded:
    """Base of screens that have commands, with hooks that the app calls."""

    has_background_work: ClassVar[bool] = False
    """Whether it has background work that pauses while a key is handled."""
    aim: Aim | None = None
    """Cursor position to take once the session is open."""
    note: str = ""
    """Message to show once the session is open."""

    def pause_background(self) -> None:
        """Pause background work while a key is handled."""

    def resume_background(self) -> None:
        """Resume background work after the frame that shows the key's effect."""

    def may_quit(self, leave: Callable[[], None]) -> bool:
        """Whether the program may end now. If not, asks the user, and calls `leave` on yes."""
        return True

    def may_close(self, close: Callable[[], None]) -> bool:
        """Whether the screen may close now. If not, asks the user, and calls `close` on yes."""
        return True

    def apply_when_ready(self, edits: Sequence[Edit]) -> None:
        """Apply edits to its context as soon as that is loaded."""

    def target(self) -> Target | None:
        """The data that the user's own commands get; None if they do not run on this screen."""
        return None

    def show_message(self, message: Spans) -> None:
        """Show a message in the screen's own line."""

    def sums(self, spot: Spot) -> Mapping[str, str]:
        """The arithmetic of the figures at `spot`: sentences by glossary word.

        `sums.ROW`: of any other figure.
        """
        return {}

    def is_text(self, spot: Spot) -> bool:
        """Whether `spot` is inside text of the session: its words are not the screen's own."""
        return False

    commands: ClassVar[tuple[type[Command], ...]] = ()
    last_command: type[Command] | None = None
    """The command that was run last on this screen."""

    def owners(self) -> Iterable[object]:
        return (self,)

    def owner(self, of: type[T]) -> T:
        for owner in self.owners():
            if isinstance(owner, of):
                return owner
        raise LookupError(of.__name__)

    def command(self, name: str) -> type[Command] | None:
        return next((each for each in self.commands if each.__name__ == name), None)

    async def action_command(self, name: str) -> None:
        command = self.last_command = self.command(name)
        act = command.run if command is not None else None
        if isinstance(act, Act):
            done = act.run(self.owner(act.owner))
            if isawaitable(done):
                await done
