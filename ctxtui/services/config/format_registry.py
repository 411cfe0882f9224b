"""Every format that can be read: ours, and those of third parties' readers, which are loaded where none of ours is
sure."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, TypeVar, get_args

from ctxtui.core.errors import CtxtuiError, Unreadable
from ctxtui.core.session import Event, Skipped
from ctxtui.services.config import plugins
from ctxtui.services.config.plugins import READERS, Plugin
from ctxtui.transcripts import registry
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format

T = TypeVar("T")


def detect(head: bytes, name: str = "") -> Format | None:
    """The format of a file called `name` that begins with `head`; None if none fits."""
    return registry.detect(head, name, third_party)


def format_called(name: str) -> Format | None:
    """The format of that name; None if there is none."""
    return next((form for form in chain(registry.FORMATS, third_party()) if form.name == name), None)


def what_is(head: bytes, name: str = "") -> str:
    """What a file that gave no context is."""
    return registry.describe_file(head, name, third_party)


def third_party() -> tuple[Format, ...]:
    """The formats of third parties' readers that could be loaded."""
    made = (format_of(part) for part in plugins.plugins(READERS) if not part.trouble)
    return tuple(form for form in made if form is not None)


def format_of(part: Plugin) -> Format | None:
    """The format that a loaded reader describes; None, and the trouble noted, where something is missing.

    A reader is a module or an object with ``sniff(head, name) -> float`` and ``reader(tree) -> Reader``, and, where it
    wants them, ``NAME``, ``COMPANIONS`` and ``BARE`` (see `Format`).
    """
    value = part.value
    missing = [wanted for wanted in ("sniff", "reader") if not callable(getattr(value, wanted, None))]
    if missing:
        plugins.blame(part.place, f"a reader needs the functions sniff and reader; there is no {missing[0]}")
        return None
    return Format(
        str(getattr(value, "NAME", part.name)),
        lambda head, name: _score(part, head, name),
        lambda tree: _Guarded(part, lambda: value.reader(tree)),
        tuple(map(str, getattr(value, "COMPANIONS", ()))),
        str(getattr(value, "BARE", "")),
    )


def _score(part: Plugin, head: bytes, name: str) -> float:
    try:
        return min(1.0, float(part.value.sniff(head, name)))
    except Exception as error:  # noqa: BLE001 - somebody else's code: it is left out and named
        plugins.blame(part.place, plugins.reason(error, part.place))
        return 0.0


class _Guarded:
    """Somebody else's reader: what it raises ends in `Unreadable`, which names it."""

    def __init__(self, part: Plugin, make: Callable[[], Any]) -> None:
        self._part = part
        self._reader = self._run(make)

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end."""
        found: Skipped | None = self._run(lambda: self._reader.tail)
        return found

    def feed(self, data: bytes) -> list[Event]:
        """The events of the records that `data` completes."""
        return self._events(lambda: self._reader.feed(data))

    def settle(self) -> list[Event]:
        """The events of what is there when no more comes for now."""
        return self._events(lambda: self._reader.settle())

    def part(self, name: str) -> Reader:
        """The reader for companion file `name`."""
        return _Guarded(self._part, lambda: self._reader.part(name))

    def _events(self, ask: Callable[[], Any]) -> list[Event]:
        events = self._run(lambda: list(ask()))
        odd = next((one for one in events if not isinstance(one, get_args(Event))), None)
        if odd is not None:
            raise self._failed(f"it gave a {type(odd).__name__}, which is no event")
        return events

    def _run(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except CtxtuiError:
            raise
        except Exception as error:
            raise self._failed(plugins.reason(error, self._part.place)) from error

    def _failed(self, why: str) -> Unreadable:
        return Unreadable(f"the reader {self._part.name} failed: {why}", place=self._part.place)
