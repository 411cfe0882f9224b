"""One run of the program: from arguments to an exit code, whatever happens on the way."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxtui.cli import exit_codes
from ctxtui.cli.agent.statusline import print_line
from ctxtui.cli.commands import ENTRIES, OLDER
from ctxtui.cli.exit_codes import ScreenCrash
from ctxtui.cli.output import note, report_error
from ctxtui.core.errors import CtxtuiError

if TYPE_CHECKING:
    from typing_extensions import Buffer


def run(arguments: Sequence[str]) -> int:
    """Run the command line `arguments` (without the program's name); returns the exit code.

    The outermost boundary: every error ends as one line on standard error, and with ``--json`` as JSON on standard
    output too; a fault of ours is written to a log file whose name is printed.
    """
    output = _open_streams()
    _tolerant_streams()
    number = exit_codes.OK.number
    try:
        number = _run(arguments, "--json" in _own(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        return closed_pipe()
    except OSError:
        if output is None or output.failed is None:
            raise
    if output is not None and output.failed is not None:
        _to_nowhere()
        words = f"the output cannot be written: {output.failed.strerror or output.failed}"
        # What was wrong before that counts more.
        return number or report_error(exit_codes.REFUSED, words, way_out="what was written is not whole")
    return number


def _run(arguments: Sequence[str], as_json: bool) -> int:
    try:
        return _invoke(arguments, as_json)
    except (BrokenPipeError, OutputLost):
        raise
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED.number
    except Exception as error:  # noqa: BLE001 - the program's outermost boundary: logged, named, exit 1
        return _unexpected(error, arguments, as_json)


def _invoke(arguments: Sequence[str], as_json: bool) -> int:
    try:
        if _opens(arguments):
            # The way to the first frame, without click.
            from ctxtui.cli.manage.start_screen import open_screen

            return open_screen(next(iter(arguments), None))
        if list(arguments) == ["statusline"]:
            # A client runs it after every message: without click, too.
            return print_line()
        from ctxtui.cli.group import run_command

        result = run_command(arguments)
        sys.stdout.flush()
        return result
    except CtxtuiError as error:
        code = exit_codes.ATTACHING if _command(arguments) == exit_codes.AROUND else exit_codes.code_for(error)
        return report_error(code, error.message, place=error.place, way_out=error.way_out, as_json=as_json)
    finally:
        _name_troubles()


def _command(arguments: Sequence[str]) -> str:
    return next((word for word in arguments if word in ENTRIES), "")


def _own(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments that are ctxtui's, not those of a program that it runs."""
    if _command(arguments) != exit_codes.AROUND or "--" not in arguments:
        return arguments
    return arguments[: list(arguments).index("--")]


def _name_troubles() -> None:
    """Say which third parties' parts did not work in this run."""
    loaded = sys.modules.get("ctxtui.services.config.plugins")
    for place, trouble in loaded.troubles() if loaded else ():
        note(f"{place}: {trouble}; it is left out")


def _opens(arguments: Sequence[str]) -> bool:
    """Whether the whole command line is nothing or one thing to open."""
    if len(arguments) > 1 or "_CTXTUI_COMPLETE" in os.environ:
        return False
    return all(
        word == "-" or (not word.startswith("-") and word not in ENTRIES and word not in OLDER) for word in arguments
    )


def _unexpected(error: BaseException, arguments: Sequence[str], as_json: bool) -> int:
    from ctxtui.services.config.crash_log import write_crash

    session, cause = "", error
    if isinstance(error, ScreenCrash):
        session, cause = error.session, error.cause
    try:
        place = str(write_crash(cause, arguments, session=session))
    except OSError as trouble:
        place = f"no log file could be written: {trouble}"
    where = f" in {session}" if session else ""
    message = f"unexpected {type(cause).__name__}{where}: {cause}"
    command = _command(arguments)
    code = exit_codes.FAULT if command in exit_codes.ANSWERING else exit_codes.UNEXPECTED
    code = exit_codes.ATTACHING if command == exit_codes.AROUND else code
    return report_error(code, message, place=place, way_out="please report it", as_json=as_json)


class OutputLost(OSError):
    """Standard output could not be written."""


class _Output(io.FileIO):
    """Standard output that remembers why it could not be written: what is above it may lose the error."""

    failed: OSError | None = None

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.failed = self.failed or error
            raise OutputLost(error.errno, error.strerror) from error


def _open_streams() -> _Output | None:
    """Make the standard streams ones that can be used: of those that were closed nothing else may get the number.
    The output, where it is a file of its own."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - it stays open
    if sys.stdout is not None and sys.stdout is not sys.__stdout__:
        return None
    given = sys.stdout
    # Opened for reading, in place of one that is closed: whatever is written fails, as it should.
    number = given.fileno() if given is not None else os.open(os.devnull, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    output = _Output(number, "w", closefd=False)
    lines = given is not None and given.line_buffering
    encoding = given.encoding if given is not None else "utf-8"
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(output), encoding=encoding, line_buffering=lines)
    return output


def _tolerant_streams() -> None:
    # A terminal that is not UTF-8, or a lone surrogate in a recording, must not end in a traceback.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def closed_pipe() -> int:
    """Be quiet: what is still buffered goes nowhere."""
    _to_nowhere()
    return exit_codes.CLOSED_PIPE.number


def _to_nowhere() -> None:
    """What is still buffered for standard output goes nowhere, also when the interpreter flushes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # standard output is no file: then nothing will be flushed to a pipe
    finally:
        os.close(nowhere)
