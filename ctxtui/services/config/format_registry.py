"""All formats that can be read: ctxtui's, and those of third-party readers.

To detect a file's format, third-party readers are loaded only if none of ctxtui's formats is certain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, get_args

from ctxtui.core.errors import CtxtuiError, Unreadable
from ctxtui.core.session import Event, Skipped
from ctxtui.services.config import plugins
from ctxtui.services.config.plugins import READERS, Plugin
from ctxtui.transcripts import registry
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format

T = TypeVar("T")


def detect(head: bytes, name: str = "") -> Format | None:
    """The format of a file called `name` that begins with `head`; None if none matches."""
    return registry.detect(head, name, third_party)


def find_format(name: str) -> Format | None:
    own = next((form for form in registry.FORMATS if form.name == name), None)
    return own or next((form for form in third_party() if form.name == name), None)


def describe_file(head: bytes, name: str = "") -> str:
    """Describe a file from which no context could be read."""
    return registry.describe_file(head, name, third_party)


def third_party() -> tuple[Format, ...]:
    """The formats of third-party readers; the first call loads these."""
    return tuple(filter(None, (make_format(plugin) for plugin in plugins.plugins(READERS) if not plugin.trouble)))


def make_format(plugin: Plugin) -> Format | None:
    """The format of a reader's plug-in.

    None, with the trouble reported, if a function is missing. A reader is a module or an object with ``sniff(head,
    name) -> float`` and ``reader(tree) -> Reader``, and optionally ``NAME``, ``COMPANIONS`` and ``BARE`` (see
    `Format`).
    """
    value = plugin.value
    missing = [function for function in ("sniff", "reader") if not callable(getattr(value, function, None))]
    if missing:
        plugins.report_trouble(plugin.place, f"a reader needs the functions sniff and reader; there is no {missing[0]}")
        return None
    return Format(
        str(getattr(value, "NAME", plugin.name)),
        lambda head, name: _plugin_score(plugin, head, name),
        registry.with_pass_calls(lambda tree: _GuardedReader(plugin, lambda: value.reader(tree))),
        tuple(map(str, getattr(value, "COMPANIONS", ()))),
        str(getattr(value, "BARE", "")),
    )


def _plugin_score(plugin: Plugin, head: bytes, name: str) -> float:
    try:
        return min(1.0, float(plugin.value.sniff(head, name)))
    except Exception as error:  # noqa: BLE001 - third-party code: it is skipped and reported
        plugins.report_trouble(plugin.place, plugins.error_text(error, plugin.place))
        return 0.0


class _GuardedReader:
    """A third-party reader whose failures are raised as `Unreadable`, naming it."""

    def __init__(self, plugin: Plugin, make: Callable[[], Any]) -> None:
        self._plugin = plugin
        self._reader = self._run(make)

    @property
    def tail(self) -> Skipped | None:
        return self._run(lambda: cast("Skipped | None", self._reader.tail))

    @property
    def rereads(self) -> bool:
        return self._run(lambda: getattr(self._reader, "rereads", False) is True)

    def feed(self, data: bytes) -> list[Event]:
        return self._events(lambda: self._reader.feed(data))

    def settle(self) -> list[Event]:
        return self._events(lambda: self._reader.settle())

    def part(self, name: str) -> Reader:
        return _GuardedReader(self._plugin, lambda: self._reader.part(name))

    def _events(self, ask: Callable[[], Any]) -> list[Event]:
        events = self._run(lambda: list(ask()))
        invalid = next((event for event in events if not isinstance(event, get_args(Event))), None)
        if invalid is not None:
            raise self._make_failure(f"it gave a {type(invalid).__name__}, which is not an event")
        return events

    def _run(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except CtxtuiError:
            raise
        except Exception as error:
            raise self._make_failure(plugins.error_text(error, self._plugin.place)) from error

    def _make_failure(self, why: str) -> Unreadable:
        return Unreadable(f"the reader {self._plugin.name} failed: {why}", place=self._plugin.place)
