"""What a command is: one class, from which its key, its palette entry, its help line and its key label are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from msgspec import Struct
from textual.binding import Binding, BindingType
from textual.keys import format_key

if TYPE_CHECKING:
    from ctxtui.core.edit import Edit
    from ctxtui.tui.messages import Aim
    from ctxtui.views.glossary.spots import Spot


class Situation(Struct, frozen=True):
    """What a command may ask before it is offered: the focused `pane`, the kind of `row` under its cursor, and `facts`
    about the screen (``follows``, ``several threads`` ...)."""

    pane: str = ""
    row: str = ""
    facts: frozenset[str] = frozenset()


T = TypeVar("T")


class Act(Generic[T]):
    """What a command does: `run`, with the one of type `of` among those whose commands a screen has: its controllers,
    and itself. ``lambda: SomeScreen`` names a class that stands further down."""

    __slots__ = ("_of", "run")

    def __init__(self, of: type[T] | Callable[[], type[T]], run: Callable[[T], object]) -> None:
        self._of = of
        self.run = run

    @property
    def of(self) -> type[T]:
        """The type that `run` takes."""
        return self._of if isinstance(self._of, type) else self._of()


class Command:
    """Base of all commands. The docstring of a command is its help line.

    `name` is the palette entry, `run` what it does; commands that the app does name an `action` of Textual's instead.
    `keys` are Textual's key names: the first one is shown, the others are twins.
    `label` stands in the key line (`short` under 160 columns), "" keeps it out of there. `group` is its heading in the
    help. In the key line commands for the focused pane come first: `panes` names those, empty for any.

    It is greyed out of key line and palette unless all it `needs` is there, at least `one_of` those where it names any,
    and nothing it is not to be used with (`unless`): facts, or the kind of row under the cursor.
    """

    name: ClassVar[str] = ""
    run: ClassVar[object] = None
    """An `Act`; typed so that each one is checked with its own type."""
    action: ClassVar[str] = ""
    needs: ClassVar[frozenset[str]] = frozenset()
    one_of: ClassVar[frozenset[str]] = frozenset()
    unless: ClassVar[frozenset[str]] = frozenset()
    key_needs: ClassVar[frozenset[str]] = frozenset()
    """Facts without which its key does something else."""
    key_unless: ClassVar[frozenset[str]] = frozenset()
    """Facts with which its key does something else."""
    keys: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[str] = ""
    parts: ClassVar[tuple[str, ...]] = ()
    """The classes of the commands that the signs of `shown` stand for, where it has several."""
    beside: ClassVar[tuple[str, ...]] = ()
    """The classes of the commands that share its line in the help."""
    together: ClassVar[tuple[str, str]] = ("", "")
    """The keys and the name on that line."""
    label: ClassVar[str] = ""
    short: ClassVar[str] = ""
    group: ClassVar[str] = "general"
    panes: ClassVar[tuple[str, ...]] = ()
    sought: ClassVar[tuple[str, ...]] = ()
    """Other words, in small letters, by which help and palette find it."""
    first: ClassVar[bool] = False
    """Whether its key acts before the focused pane sees it: what is typed right after it must not go to that pane."""
    on_end: ClassVar[bool] = False
    """Whether it can be done while only the end of a recording is read."""
    always: ClassVar[bool] = False
    """Whether it stands at the right end of the key line, whatever the width."""

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Whether it can be done now: it is greyed out of key line and palette otherwise."""
        there = at.facts | {at.row}
        return cls.needs <= there and not cls.unless & there and (not cls.one_of or bool(cls.one_of & there))

    @classmethod
    def binding(cls) -> str:
        """The action, in Textual's words, that does it."""
        return f"app.{cls.action}" if cls.action else f"command('{cls.__name__}')"

    @classmethod
    def key_line(cls) -> tuple[str, str, str, tuple[str, ...]]:
        """What the key line says of it (`widgets.keyline.Key`): key, label, that in a word, what a click does."""
        return cls.key_shown(), cls.label, cls.short, cls.actions()

    @classmethod
    def actions(cls) -> tuple[str, ...]:
        """What a click on its key in the key line does: one action, or one for each sign of the key."""
        return tuple(f"command('{name}')" for name in cls.parts) or (cls.binding(),)

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
    # Not every font has Textual's sign for it.
    return "bksp" if key == "backspace" else format_key(key)


def bindings(commands: Iterable[type[Command]]) -> list[BindingType]:
    """Textual bindings for the keys of `commands`; `ctrl` keys work inside a line that is typed in, too."""
    return [
        Binding(key, command.binding(), command.name, show=False, priority=command.first or key.startswith("ctrl+"))
        for command in commands
        for key in command.keys
    ]


def offered(commands: Iterable[type[Command]], at: Situation) -> Iterator[type[Command]]:
    """The commands that can be done in this situation, those of the focused pane first."""
    can = [command for command in commands if command.available(at)]
    yield from (command for command in can if at.pane in command.panes)
    yield from (command for command in can if at.pane not in command.panes)


class Commanded:
    """A screen whose commands are done by itself or by its controllers, and what the app asks of such a screen: as it
    stands here, nothing holds it up."""

    gives_way: ClassVar[bool] = False
    """Whether it works in the background, which halts while a key is answered."""
    aim: Aim | None = None
    """Where to stand once its session is there."""
    note: str = ""
    """What is said of its session when it is there."""

    def give_way(self) -> None:
        """A key came: halt, for a moment at most."""

    def answered(self) -> None:
        """What the key does is done: the halt ends with its frame."""

    def may_quit(self, leave: Callable[[], None]) -> bool:
        """Whether the program may end now; asks the user otherwise, and calls `leave` where that is the answer."""
        return True

    def may_close(self, close: Callable[[], None]) -> bool:
        """Whether it may be closed now, or something would be lost: then it asks, and calls `close` if that is the
        answer."""
        return True

    def bring(self, edits: Sequence[Edit]) -> None:
        """Apply edits of its context, as soon as that is there."""

    def sums(self, spot: Spot) -> Mapping[str, str]:
        """The arithmetic behind its figures: sentences by the glossary's words for what stands at a spot; `ROW` is for
        any other figure there."""
        return {}

    def is_text(self, spot: Spot) -> bool:
        """Whether a spot stands in a text of the session, in which no word is a label."""
        return False

    commands: ClassVar[tuple[type[Command], ...]] = ()
    done_last: type[Command] | None = None
    """The command that was done last: the one that opened what stands above this screen."""

    def owners(self) -> Iterable[object]:
        """Those that do the commands."""
        return (self,)

    def owner(self, of: type[T]) -> T:
        """The one of a type. Raises `LookupError` if there is none."""
        for one in self.owners():
            if isinstance(one, of):
                return one
        raise LookupError(of.__name__)

    def command(self, name: str) -> type[Command] | None:
        """The command of the class `name`; None where this screen has none."""
        return next((each for each in self.commands if each.__name__ == name), None)

    async def action_command(self, name: str) -> None:
        """Do the command of the class `name`."""
        command = self.done_last = self.command(name)
        act = command.run if command is not None else None
        if isinstance(act, Act):
            done = act.run(self.owner(act.of))
            if isawaitable(done):
                await done
