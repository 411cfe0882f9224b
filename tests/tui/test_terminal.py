"""What the terminal sends: a paste comes whole, however it is cut, and costs its pieces and not its characters."""

from __future__ import annotations

import errno
import io
import os
import pty
import select
import selectors
import time
from collections.abc import Sequence
from itertools import pairwise
from threading import Event, Thread
from typing import IO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._parser import Parser
from textual._xterm_parser import XTermParser
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread
from textual.message import Message

from ctxtui.tui import terminal
from ctxtui.tui.messages import TerminalGone
from ctxtui.tui.terminal import BEGIN, END, PasteParser, TerminalDriver, TerminalOutput, WakingEvent

TYPED = st.text(st.sampled_from("abc é\r\n"), max_size=5)
PASTED = st.text(st.sampled_from("abc é[201~\n\0"), max_size=30)


def said(parser: XTermParser, chunks: Sequence[str]) -> list[object]:
    """What the parser makes of it: text of pastes, keys."""
    found: list[Message] = [event for chunk in chunks if chunk for event in parser.feed(chunk)]
    return [
        ("paste", e.text) if isinstance(e, events.Paste) else (type(e).__name__, getattr(e, "key", "")) for e in found
    ]


@given(st.lists(st.tuples(TYPED, PASTED), max_size=4), TYPED, st.lists(st.integers(0, 200), max_size=6))
def test_any_cut_of_typing_and_pasting_means_what_textual_makes_of_it(
    parts: list[tuple[str, str]], last: str, cuts: list[int]
) -> None:
    text = "".join(f"{typed}{BEGIN}{pasted}{END}" for typed, pasted in parts) + last
    at = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    chunks = [text[a:b] for a, b in pairwise(at)]
    whole = said(XTermParser(), [text])
    found = said(PasteParser(), chunks)
    # Textual says nothing of a paste of nothing.
    assert [one for one in found if one != ("paste", "")] == [one for one in whole if one != ("paste", "")]


@pytest.mark.parametrize("size", [1_000_000, 5_000_000])
def test_a_paste_is_not_looked_at_character_by_character(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, feed = 0, Parser.feed

    def counted(self: Parser[Message], data: str):  # type: ignore[no-untyped-def]
        nonlocal looked
        looked += len(data)
        return feed(self, data)

    monkeypatch.setattr(Parser, "feed", counted)
    text = BEGIN + "x" * (size - 1) + "\n" + END + "y"
    found = said(PasteParser(), [text[n : n + 65_536] for n in range(0, len(text), 65_536)])
    assert [kind for kind, _ in found] == ["paste", "Key"] and len(found[0][1]) == size  # type: ignore[index,misc,has-type]
    assert looked == 1, "the key behind it"


def test_a_terminal_that_is_gone_is_read_no_more() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a")
    os.close(writing)
    driver = object.__new__(TerminalDriver)
    driver._debug, driver.fileno, driver.exit_event = False, reading, Event()
    seen: list[Message] = []
    driver.process_message = seen.append  # type: ignore[method-assign,assignment]
    told: list[Message] = []
    driver.send_message = told.append  # type: ignore[method-assign,assignment]
    thread = Thread(target=driver.run_input_thread, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "it read on"
    assert [event.key for event in seen if isinstance(event, events.Key)] == ["a"]
    assert [type(message) for message in told] == [TerminalGone], "nobody may look at it any more"
    os.close(reading)


def test_nothing_wakes_up_where_nothing_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    driver = object.__new__(TerminalDriver)
    driver._waking_event = WakingEvent()
    driver._debug, driver.fileno, driver.exit_event = False, reading, driver._waking_event
    seen: list[Message] = []
    driver.process_message = seen.append  # type: ignore[method-assign,assignment]
    asked: list[float | None] = []
    wait = selectors.SelectSelector.select

    def counted(self: selectors.SelectSelector, timeout: float | None = None) -> object:
        asked.append(timeout)
        return wait(self, timeout)

    monkeypatch.setattr(selectors.SelectSelector, "select", counted)
    thread = Thread(target=driver.run_input_thread, daemon=True)
    thread.start()
    # An escape may begin a sequence: it is a key by itself once nothing follows, and then there is nothing to wait for.
    os.write(writing, b"\x1b")
    until = time.monotonic() + 30
    while not (seen and asked[-1] is None) and time.monotonic() < until:
        time.sleep(0.01)
    assert [event.key for event in seen if isinstance(event, events.Key)] == ["escape"]
    assert asked[0] is None and asked[-1] is None, "it waits for as long as nothing comes"
    assert any(timeout is not None for timeout in asked)
    driver.exit_event.set()
    thread.join(30)
    assert not thread.is_alive(), "it is woken by the end"
    driver.exit_event.clear()
    assert not driver.exit_event.is_set()
    for one in (reading, writing):
        os.close(one)
    driver._waking_event.close()


def test_a_terminal_that_goes_away_begins_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    outer, inner = pty.openpty()
    driver = object.__new__(TerminalDriver)
    driver.fileno, driver._auto_restart = inner, True
    begun: list[bool] = []
    told: list[Message] = []
    driver.send_message = told.append  # type: ignore[method-assign,assignment]
    monkeypatch.setattr(TerminalDriver, "resume_application_mode", lambda self: begun.append(True))
    driver._sigcont_application()
    assert begun == [True] and not told, "it was stopped, and its terminal is there"
    os.close(outer)
    driver._sigcont_application()
    assert begun == [True] and [type(message) for message in told] == [TerminalGone]
    os.close(inner)


def test_what_is_written_to_a_terminal_that_is_gone_goes_nowhere_and_nothing_waits() -> None:
    outer, inner = pty.openpty()
    written = WriterThread(cast(IO[str], TerminalOutput(os.fdopen(inner, "w"))))
    written.start()
    os.close(outer)
    # More than it lets wait in line.

    def draw() -> None:
        for _ in range(3 * MAX_QUEUED_WRITES):
            written.write("frame\n")

    frames = Thread(target=draw, daemon=True)
    frames.start()
    frames.join(30)
    assert not frames.is_alive(), "who draws waits for ever"
    written.stop()


def _drawing(output: TerminalOutput) -> tuple[TerminalDriver, WriterThread]:
    driver, writer = TerminalDriver.__new__(TerminalDriver), WriterThread(cast(IO[str], output))
    driver._writer_thread, driver._output = writer, output
    writer.start()
    return driver, writer


def _draw(driver: TerminalDriver, frame: str) -> None:
    for piece in (SYNC_START, frame, SYNC_END):
        driver.write(piece)


def test_the_terminal_has_a_frame_before_anything_is_done_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_MAX_FLUSH_SECONDS", 60.0)
    outer, inner = pty.openpty()
    driver, writer = _drawing(TerminalOutput(os.fdopen(inner, "w")))
    for frame in ("one", "two", "three"):
        _draw(driver, frame)
        assert select.select([outer], [], [], 0)[0], "nothing is there yet"
        assert frame in os.read(outer, 4096).decode()
    writer.stop()
    os.close(outer)


def test_a_terminal_that_takes_nothing_holds_nobody() -> None:
    taken = Event()

    class Stopped(io.StringIO):
        def write(self, text: str) -> int:
            return int(taken.wait())

    driver, writer = _drawing(TerminalOutput(Stopped()))
    frames = Thread(target=_draw, args=(driver, "frame"), daemon=True)
    frames.start()
    frames.join(30)
    assert not frames.is_alive(), "who draws waits for a terminal that does not take it"
    taken.set()
    writer.stop()


def test_another_trouble_of_the_terminal_is_not_passed_over() -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        TerminalOutput(Full()).write("frame")
