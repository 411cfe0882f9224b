"""The process of `tests/warm`: has everything imported and forks programs, each a process of its own.

Its argument is the socket. It ends, with what it forked, when no test run holds it any more.
"""

from __future__ import annotations

import atexit
import gc
import marshal
import os
import runpy
import selectors
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

MOST = 1 << 20
"""Bytes that are read at once."""


@dataclass(frozen=True)
class Asked:
    """What a launcher asks for; without words it only holds the server."""

    folder: str
    words: list[str]
    environ: dict[bytes, bytes]
    streams: dict[int, int]
    """Descriptors here, by the number that they have in the program."""


def read(link: socket.socket) -> Asked:
    """What is asked over `link`."""
    data, descriptors, _, _ = socket.recv_fds(link, MOST, 3)
    while len(data) < 8 or len(data) < 8 + int.from_bytes(data[:8], "big"):
        more = link.recv(MOST)
        if not more:
            raise EOFError("a launcher ended as it asked")
        data += more
    folder, words, environ, streams = marshal.loads(data[8:])
    return Asked(folder, words, environ, dict(zip(streams, descriptors, strict=True)))


class Forks:
    """Who holds the server, and what was forked for whom."""

    def __init__(self, path: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(64)
        self._holders = 0
        self._programs: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._ended, wake = os.pipe()
        for end in (self._ended, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._selector.register(self._ended, selectors.EVENT_READ, self._reap)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def serve(self) -> Asked | None:
        """In a program that was forked: what it is; in the server None, when it has come to its end."""
        while True:
            for key, _ in self._selector.select():
                program = key.data()
                if isinstance(program, Asked):
                    return program
                if program == "over":
                    for pid in self._programs:
                        os.kill(pid, signal.SIGKILL)
                    return None

    def _accept(self) -> Asked | None:
        link, _ = self._listener.accept()
        try:
            asked = read(link)
        except (EOFError, OSError):
            link.close()
            return None
        if not asked.words:
            self._holders += 1
            self._selector.register(link, selectors.EVENT_READ, lambda: self._let_go(link))
            return None
        pid = os.fork()
        if not pid:
            self._forget()
            link.close()
            return asked
        for descriptor in asked.streams.values():
            os.close(descriptor)
        self._programs[pid] = link
        self._selector.register(link, selectors.EVENT_READ, lambda: self._kill(pid))
        with suppress(OSError):
            link.send(pid.to_bytes(8, "big"))
        return None

    def _let_go(self, link: socket.socket) -> str:
        self._selector.unregister(link)
        link.close()
        self._holders -= 1
        return "" if self._holders else "over"

    def _kill(self, pid: int) -> None:
        """Its launcher is gone: so is the program."""
        link = self._programs.get(pid)
        if link is not None:
            self._selector.unregister(link)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._ended, 512)
        with suppress(ChildProcessError):
            while (gone := os.waitpid(-1, os.WNOHANG))[0]:
                link = self._programs.pop(gone[0])
                with suppress(KeyError):
                    self._selector.unregister(link)
                with suppress(OSError):
                    link.send(gone[1].to_bytes(8, "big"))
                link.close()

    def _forget(self) -> None:
        """In the program: nothing of the server is open."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        keys = list(self._selector.get_map().values())
        self._selector.close()
        for key in keys:
            os.close(key.fd) if isinstance(key.fileobj, int) else key.fileobj.close()  # type: ignore[union-attr]
        os.setsid()


PATH = list(sys.path)


def settle(asked: Asked) -> None:
    """The process is as an interpreter is that was started where and with what was asked."""
    for number in (0, 1, 2):
        if number in asked.streams:
            os.dup2(asked.streams[number], number)
            os.close(asked.streams[number])
        else:
            os.close(number)
    os.environ.clear()
    os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in asked.environ.items()})
    time.tzset()
    os.chdir(asked.folder)
    if asked.words[0] == "-P":
        del asked.words[0]
    there = asked.words[0] in ("-m", "-c")
    first = asked.folder if there else str(Path(asked.words[0]).resolve().parent)
    sys.path[:] = [first, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *PATH]
    sys.argv = asked.words[1:] if there else asked.words
    through = bool(os.environ.get("PYTHONUNBUFFERED"))
    kept: dict[str, Any] = {"closefd": False, "encoding": "utf-8"}
    sys.stdin = sys.__stdin__ = os.fdopen(0, **kept) if 0 in asked.streams else None  # type: ignore[assignment]
    for number, name, errors in ((1, "stdout", "strict"), (2, "stderr", "backslashreplace")):
        stream = None
        if number in asked.streams:
            stream = os.fdopen(number, "w", errors=errors, **kept)
            stream.reconfigure(line_buffering=number == 2 or stream.isatty(), write_through=through)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def run(words: list[str]) -> None:
    """What the interpreter would do with `words`."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    if words[0] == "-m":
        runpy._run_module_as_main(words[1])  # type: ignore[attr-defined]
    elif words[0] == "-c":
        sys.argv[0] = "-c"
        exec(compile(words[1], "<string>", "exec"), main.__dict__)
    else:
        main.__file__ = os.path.abspath(words[0])
        exec(compile(Path(words[0]).read_bytes(), words[0], "exec"), main.__dict__)


def code_of(words: list[str]) -> int:
    """The exit code of the program, once it has said what stopped it."""
    try:
        run(words)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return (stop.code or 0) & 0xFF
        print(stop.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001  # as the interpreter does
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def live(asked: Asked) -> NoReturn:
    """The life of the program, from where an interpreter would begin. Its objects are not taken apart at the end: a
    heap of all that was imported takes long."""
    # A test run in the background of a shell ignores both, and so would its programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    settle(asked)
    code = code_of(asked.words)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            code = code or 120
    os._exit(code)


def main() -> None:
    """Serve at the socket that is the first argument, and be what was asked for in each process that is forked."""
    from tests import warm_preload

    warm_preload.load()
    gc.collect()
    gc.freeze()
    path = sys.argv[1]
    forks = Forks(path)
    os.write(1, b"ready\n")
    asked = forks.serve()
    if asked is None:
        shutil.rmtree(Path(path).parent, ignore_errors=True)
    else:
        live(asked)
