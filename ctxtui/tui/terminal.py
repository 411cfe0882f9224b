"""What the terminal sends, read so that a paste costs what its pieces cost and not each of its characters; and what it
is sent: a frame at once, in few bytes."""

from __future__ import annotations

import errno
import os
import selectors
import termios
import threading
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Final

from textual import events
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from ctxtui.tui.messages import TerminalGone

BEGIN: Final = "\x1b[200~"
END: Final = "\x1b[201~"
_READ: Final = 1 << 16
"""Bytes that are read at once."""
_SOON: Final = 0.1
"""Seconds between looks whether a sequence that has begun goes on."""
_TAKEN: Final = 0.002
"""Seconds that who gives a frame waits for at most until the terminal has it."""
_NO_TERMINAL: Final = frozenset({errno.EIO, errno.ENXIO, errno.EBADF, errno.EPIPE})
"""What reading and writing say where the terminal was closed, or went over to others for good."""


class PasteParser(XTermParser):
    """Textual's parser, which looks at every character; what stands between the marks of a paste is taken as it is."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasted: list[str] | None = None
        """The pieces of a paste that goes on; None outside of one."""

    @property
    def waits(self) -> bool:
        """Whether what came last is something by itself when nothing follows: `tick` is to be called until then."""
        return self._timeout_time is not None

    def feed(self, data: str) -> Iterable[Message]:
        """What `data` means; "" is the end. A mark that is cut in two at the beginning of a paste goes the long way."""
        if not data:
            yield from super().feed(data)
            return
        while data:
            if self._pasted is None:
                typed, mark, data = data.partition(BEGIN)
                if typed:
                    yield from super().feed(typed)
                if mark:
                    self._pasted = []
            else:
                data, whole = self._take(data)
                if whole is not None:
                    yield whole

    def _take(self, data: str) -> tuple[str, events.Paste | None]:
        """Take what belongs to the paste: what stands behind its end, and the paste if that is there."""
        assert self._pasted is not None
        # The mark at its end may be cut in two.
        last = self._pasted.pop() if self._pasted else ""
        keep = min(len(last), len(END) - 1)
        head, text = last[: len(last) - keep], last[len(last) - keep :] + data
        self._pasted.append(head)
        inside, mark, rest = text.partition(END)
        self._pasted.append(inside)
        if not mark:
            return rest, None
        # As Textual does.
        whole = events.Paste("".join(self._pasted).replace("\x00", ""))
        self._pasted = None
        return rest, whole


class WakingEvent(threading.Event):
    """An event that a selector can wait for: `reading` has something to be read while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self._writing = os.pipe()

    def set(self) -> None:
        """Wake whoever waits."""
        if not self.is_set():
            super().set()
            os.write(self._writing, b"!")

    def clear(self) -> None:
        """Nobody is woken any more."""
        if self.is_set():
            os.read(self.reading, 1)
            super().clear()

    def close(self) -> None:
        """Nobody waits any more."""
        os.close(self.reading)
        os.close(self._writing)


class TerminalOutput:
    """What frames are written to. A terminal that is gone takes them as one that is there: a thread writes, and who
    gave it a frame would wait for ever for the end of one that broke."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._taken = threading.Event()

    def begin(self) -> None:
        """A frame is about to be given to the thread that writes."""
        self._taken.clear()

    def wait(self) -> None:
        """Leave the interpreter to the thread that writes until the terminal has what it was given, or for a moment: it
        would get its turns one by one, each half a millisecond after it asked, while what comes behind the frame is
        done. A terminal that takes nothing holds nobody."""
        self._taken.wait(_TAKEN)

    def write(self, text: str) -> int:
        """Write `text`."""
        with _unless_gone():
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what waits."""
        with _unless_gone():
            self._file.flush()
        self._taken.set()

    def fileno(self) -> int:
        """The number of the file."""
        return self._file.fileno()


@contextmanager
def _unless_gone() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_TERMINAL:
            raise


class TerminalDriver(LinuxDriver):
    """Textual's driver with another parser, and larger reads. A frame is written at once; where nothing is typed,
    nothing wakes up."""

    _ends: WakingEvent | None = None
    """In place of an event that is looked at ten times a second."""
    _frame: list[str] | None = None
    """The pieces of a frame that was begun; None outside of one."""
    _cursor = ""
    """Where the last frame left the cursor: one that does no more than put it there is none."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._output = TerminalOutput(self._file)
        self._file: Any = self._output

    def write(self, data: str) -> None:
        """Write to the terminal. What stands between the marks of a frame goes with them: a thread writes, and each
        piece would wait for its turn."""
        if data == SYNC_START:
            self._frame = []
        elif self._frame is None:
            super().write(data)
        elif data == SYNC_END:
            frame, self._frame = "".join(self._frame), None
            if frame != self._cursor:
                said = f"{SYNC_START}{frame}{SYNC_END}"
                self._cursor = frame[frame.rfind("\x1b[") :]
                self._output.begin()
                super().write(said)
                self._output.wait()
        else:
            self._frame.append(data)

    def _sigcont_application(self, *signal: object) -> None:
        """The program goes on. A terminal that goes away says that, too, behind its SIGHUP: there is nothing then to
        begin anew on, and what would read and write there would never end."""
        try:
            termios.tcgetattr(self.fileno)
        except termios.error:
            self._told_gone()
            return
        super()._sigcont_application(*signal)

    def start_application_mode(self) -> None:
        """Begin to read, and to draw."""
        if self._ends is None:
            self.exit_event = self._ends = WakingEvent()
        self._cursor = ""
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """The program ends."""
        super().close()
        if self._ends is not None:
            self._ends.close()
            self._ends, self.exit_event = None, threading.Event()

    def run_input_thread(self) -> None:
        """Read until the screen ends, or the terminal is gone, which ends the program."""
        parser = PasteParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        # Not the quickest selector: it takes any terminal, pipe or file.
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            if self._ends is not None:
                selector.register(self._ends.reading, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                data = ""
                # A key may be the beginning of a longer sequence: it is one by itself when nothing follows.
                ready = selector.select(_SOON if parser.waits or self._ends is None else None)
                if any(key.fd == self.fileno for key, _ in ready):
                    got = self._read()
                    if not got:
                        # Reading on would find that out again, as fast as it can.
                        self._told_gone()
                        break
                    data = decode(got)
                for event in (*(parser.feed(data) if data else ()), *parser.tick()):
                    self.process_message(event)
        with suppress(EOFError, ParseError):
            for _ in parser.feed(""):
                pass

    def _read(self) -> bytes:
        """What was typed; nothing where the terminal is gone."""
        try:
            return os.read(self.fileno, _READ)
        except OSError as error:
            if error.errno not in _NO_TERMINAL:
                raise
            return b""

    def _told_gone(self) -> None:
        # A signal says so only to who leads the session: `make`, which waits then for what it started.
        with suppress(RuntimeError):
            self.send_message(TerminalGone())
