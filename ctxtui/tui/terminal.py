"""Terminal driver: fast paste parsing, and frames written at once in few bytes."""

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
"""Markers that a terminal sends around a paste."""
_READ_BYTES: Final = 1 << 16
"""Bytes for one read."""
_SEQUENCE_POLL_SECONDS: Final = 0.1
"""Seconds between checks whether an incomplete sequence continues."""
_MAX_FLUSH_SECONDS: Final = 0.002
"""Longest wait in seconds until the terminal has a frame."""
_TERMINAL_GONE_ERRNOS: Final = frozenset({errno.EIO, errno.ENXIO, errno.EBADF, errno.EPIPE})
"""Error numbers of reads and writes when the terminal was closed or now belongs to another program."""


class PasteParser(XTermParser):
    """Textual's parser, but with pastes taken whole: Textual examines every character of them."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._paste_pieces: list[str] | None = None
        """Pieces of an unfinished paste; None outside of one."""

    @property
    def is_waiting(self) -> bool:
        """Whether the last input may still continue: call `XTermParser.tick` until that is decided."""
        return self._timeout_time is not None

    def feed(self, data: str) -> Iterable[Message]:
        """Parse `data` ("" is the end) into messages.

        A paste whose begin marker is split between two reads is handled by Textual's parser.
        """
        if not data:
            yield from super().feed(data)
            return
        while data:
            if self._paste_pieces is None:
                typed, mark, data = data.partition(BEGIN)
                if typed:
                    yield from super().feed(typed)
                if mark:
                    self._paste_pieces = []
            else:
                data, whole = self._consume_paste(data)
                if whole is not None:
                    yield whole

    def _consume_paste(self, data: str) -> tuple[str, events.Paste | None]:
        """Consume pasted text; return what follows it, and the paste (None: it continues)."""
        assert self._paste_pieces is not None
        # The end marker may be split between two reads.
        last = self._paste_pieces.pop() if self._paste_pieces else ""
        tail_length = min(len(last), len(END) - 1)
        head, text = last[: len(last) - tail_length], last[len(last) - tail_length :] + data
        self._paste_pieces.append(head)
        pasted_text, mark, rest = text.partition(END)
        self._paste_pieces.append(pasted_text)
        if not mark:
            return rest, None
        # Textual removes NUL, too.
        paste = events.Paste("".join(self._paste_pieces).replace("\x00", ""))
        self._paste_pieces = None
        return rest, paste


class WakingEvent(threading.Event):
    """A threading event that a selector can wait for: `reading` is readable while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self._writing = os.pipe()

    def set(self) -> None:
        if not self.is_set():
            super().set()
            os.write(self._writing, b"!")

    def clear(self) -> None:
        if self.is_set():
            os.read(self.reading, 1)
            super().clear()

    def close(self) -> None:
        os.close(self.reading)
        os.close(self._writing)


class TerminalOutput:
    """The file that frames are written to; write errors of a closed terminal are ignored.

    A thread writes: after an error in it, the caller of a frame would wait for ever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._is_flushed = threading.Event()

    def begin_frame(self) -> None:
        """Note that a frame is about to be passed to the writer thread."""
        self._is_flushed.clear()

    def wait_for_flush(self) -> None:
        """Wait until the terminal has the frame, at most 2 ms.

        Work meanwhile would keep the writer thread waiting.
        """
        self._is_flushed.wait(_MAX_FLUSH_SECONDS)

    def write(self, text: str) -> int:
        with _unless_gone():
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, and note that the frame was written."""
        with _unless_gone():
            self._file.flush()
        self._is_flushed.set()

    def fileno(self) -> int:
        return self._file.fileno()


@contextmanager
def _unless_gone() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _TERMINAL_GONE_ERRNOS:
            raise


class TerminalDriver(LinuxDriver):
    """Textual's driver with whole frames and larger reads, without polling while idle."""

    _waking_event: WakingEvent | None = None
    """Replaces Textual's event, which is polled ten times a second."""
    _frame: list[str] | None = None
    """Pieces of an unfinished frame; None outside of one."""
    _cursor = ""
    """Cursor position sequence of the last frame; a frame that contains nothing else is dropped."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._output = TerminalOutput(self._file)
        self._file: Any = self._output

    def write(self, data: str) -> None:
        """Write to the terminal, each frame as one piece.

        The writer thread would wait for a turn per piece.
        """
        if data == SYNC_START:
            self._frame = []
        elif self._frame is None:
            super().write(data)
        elif data == SYNC_END:
            frame, self._frame = "".join(self._frame), None
            if frame != self._cursor:
                output = f"{SYNC_START}{frame}{SYNC_END}"
                self._cursor = frame[frame.rfind("\x1b[") :]
                self._output.begin_frame()
                super().write(output)
                self._output.wait_for_flush()
        else:
            self._frame.append(data)

    def _sigcont_application(self, *signal: object) -> None:
        """Resume after SIGCONT, unless the terminal is gone.

        A terminal that closes sends SIGCONT after SIGHUP; threads started then would never end.
        """
        try:
            termios.tcgetattr(self.fileno)
        except termios.error:
            self._post_terminal_gone()
            return
        super()._sigcont_application(*signal)

    def start_application_mode(self) -> None:
        if self._waking_event is None:
            self.exit_event = self._waking_event = WakingEvent()
        self._cursor = ""
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        super().close()
        if self._waking_event is not None:
            self._waking_event.close()
            self._waking_event, self.exit_event = None, threading.Event()

    def run_input_thread(self) -> None:
        """Read until the screen ends or the terminal is gone, which ends the program."""
        parser = PasteParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        # select() is not the fastest, but takes any terminal, pipe or file.
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            if self._waking_event is not None:
                selector.register(self._waking_event.reading, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                data = ""
                # A key may begin a longer sequence; if nothing follows it is complete.
                ready = selector.select(
                    _SEQUENCE_POLL_SECONDS if parser.is_waiting or self._waking_event is None else None
                )
                if any(key.fd == self.fileno for key, _ in ready):
                    raw = self._read()
                    if not raw:
                        # Reading on would spin.
                        self._post_terminal_gone()
                        break
                    data = decode(raw)
                for event in (*(parser.feed(data) if data else ()), *parser.tick()):
                    self.process_message(event)
        with suppress(EOFError, ParseError):
            for _ in parser.feed(""):
                pass

    def _read(self) -> bytes:
        """Read typed bytes; empty if the terminal is gone."""
        try:
            return os.read(self.fileno, _READ_BYTES)
        except OSError as error:
            if error.errno not in _TERMINAL_GONE_ERRNOS:
                raise
            return b""

    def _post_terminal_gone(self) -> None:
        # SIGHUP reaches only the session leader, `make` for example, which then waits for its children.
        with suppress(RuntimeError):
            self.send_message(TerminalGone())
